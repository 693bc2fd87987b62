"""JSON Schema coverage against the time of the first mask and of a mask: structgen and other engines.

    python benchmarks/masks.py TOKENIZER_JSON [--suite ../shared] [--every 20] [--engines structgen llguidance ...]

Runs the suite's maskbench.py once for each engine, one after the other on one thread, over every so many of its
schemas, and writes results/masks.csv and results/masks.svg. Times are compared on the schemas that an engine and
structgen both compile; the columns of structgen's own times on those schemas stand beside them.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from machine import describe_machine

RESULTS = Path(__file__).parent / "results"
ENGINES = {
    "structgen": "structgen",
    "structgen-any-order": "structgen",
    "llguidance": "llguidance",
    "xgrammar": "xgrammar",
    "xgrammar-jit": "xgrammar",
}
"""What maskbench.py calls an engine, and its package."""
OURS = "structgen"
FAILURES = ("compile_error", "timeout", "crash", "under", "over", "untested")
"""Keys of a schema's row where it does not pass: `under` accepts something invalid, `over` refuses something valid."""
LATENCIES = {"first_mask_ms": (50, 99), "mask_us": (50, 99, 99.9)}

Row = dict[str, Any]


def main() -> None:
    """Measure and write the table and the plot."""
    options = parse_arguments()
    cases = (options.suite / "data" / "maskbench_dev.jsonl").read_text(encoding="utf-8").splitlines()
    with tempfile.TemporaryDirectory() as folder:
        sample = Path(folder) / "sample.jsonl"
        sample.write_text("\n".join(cases[:: options.every]) + "\n", encoding="utf-8")
        runs = {engine: run(engine, options, sample, Path(folder)) for engine in options.engines}
    machine, rows = describe_machine(), [describe(engine, run, runs[OURS]) for engine, run in runs.items()]
    write_table([row | machine for row in rows], RESULTS / "masks.csv")
    draw(rows, RESULTS / "masks.svg")
    for row in rows:
        print(", ".join(f"{name} {value}" for name, value in row.items()))


def parse_arguments() -> argparse.Namespace:
    """Return the command line's options; structgen is always measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", type=Path, help="a tokenizer.json, such as Llama-3.1's")
    parser.add_argument("--suite", type=Path, default=Path("../shared"), help="the folder of bench/ and data/")
    parser.add_argument("--every", type=int, default=20, help="take every so many of the schemas")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=[*ENGINES])
    options = parser.parse_args()
    options.engines = list(dict.fromkeys([OURS, *options.engines]))
    missing = [package for package in {ENGINES[engine] for engine in options.engines} if not is_installed(package)]
    if missing:
        parser.error(f"not installed: {', '.join(missing)}; pip install 'structgen[bench]' brings the other engines")
    return options


def is_installed(package: str) -> bool:
    """Whether ``package`` is."""
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def run(engine: str, options: argparse.Namespace, sample: Path, folder: Path) -> list[Row]:
    """Return maskbench.py's row of each schema."""
    out = folder / f"{engine}.json"
    command = [sys.executable, options.suite / "bench" / "maskbench.py", engine, options.tokenizer, out, sample]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    print(f"measuring {engine}", flush=True)
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return json.loads(out.read_text())["rows"]


def describe(engine: str, rows: list[Row], ours: list[Row]) -> Row:
    """Return what the table says of an engine."""
    failed = {kind: sum(kind in row for row in rows) for kind in FAILURES}
    passing = sum(not any(kind in row for kind in FAILURES) for row in rows)
    compiled = [{row["id"]: row for row in some if "masks" in row} for some in (rows, ours)]
    both = compiled[0].keys() & compiled[1].keys()
    found: Row = {
        "engine": engine,
        "version": importlib.metadata.version(ENGINES[engine]),
        "schemas": len(rows),
        "passing_percent": round(100 * passing / len(rows), 1),
        "accept_something_invalid": failed["under"],
        "refuse_something_valid": failed["over"],
        "not_compiled": failed["compile_error"] + failed["timeout"] + failed["crash"],
        "compiled_by_both": len(both),
    }
    for prefix, its in zip(("", "structgen_"), compiled, strict=True):
        found |= latencies(prefix, [its[one] for one in both])
    return found


def latencies(prefix: str, rows: Iterable[Row]) -> Row:
    """Return averages and percentiles of the times of ``rows``."""
    rows = list(rows)
    times = {
        "first_mask_ms": [row["ttfm_us"] / 1000 for row in rows],
        "mask_us": [mask for row in rows for mask in row["masks"]],
    }
    found: Row = {}
    for name, percents in LATENCIES.items():
        found[f"{prefix}{name}_average"] = round(statistics.fmean(times[name]), 2)
        found |= {f"{prefix}{name}_p{one}": round(percentile(times[name], one), 2) for one in percents}
    return found


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value that ``percent`` of all do not exceed."""
    return sorted(values)[min(len(values) - 1, int(percent / 100 * len(values)))]


def write_table(rows: list[Row], path: Path) -> None:
    """Write one line for each engine."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def draw(rows: list[Row], path: Path) -> None:
    """Draw coverage against both times, each from its median to its 99th percentile."""
    import matplotlib as mpl  # here, since nothing else needs it
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "structgen"  # the same picture for the same numbers
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
    titles = ("compile and first mask, ms", "a mask and its commit, µs")
    for axis, name, title in zip(axes, LATENCIES, titles, strict=True):
        for row in rows:
            wrong = row["accept_something_invalid"]
            label = row["engine"] + (f" ({wrong} schemas accept something invalid)" if wrong else "")
            axis.plot([row[f"{name}_p50"], row[f"{name}_p99"]], [row["passing_percent"]] * 2, marker="o", label=label)
        axis.set_xscale("log")
        axis.set_xlabel(f"{title}: median to 99th percentile")
    axes[0].set_ylabel("schemas that pass whole, %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
