"""The compiled CPU runner beside the one in torch, on a model that is no Llama.

    python benchmarks/families.py [--model gemma3-270m] [--rounds 7] [--threads 1]

Prefill is one step over 512 tokens; decode is a step of one token in each of some rows behind 160 tokens of context.
Runners take turns; medians and the best of the rounds go to results/families.csv, with the ratio of medians to torch in
the dtype that has the same arithmetic: bfloat16 for bf16 weights, float32 for all others. One thread by default: beside
a busy process torch's threads wait for each other for most of a step, and more of them would measure that.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
from pathlib import Path

import torch
from cpu_step import CASES, Case, step_of
from machine import describe_machine

from structgen.engine.cpu.runner import CpuRunner
from structgen.engine.models import load_model
from structgen.engine.paged_torch import TorchPagedRunner
from structgen.engine.sources import resolve_model
from structgen.engine.step import PagedRunner

RESULTS = Path(__file__).parent / "results" / "families.csv"
MEASURED = ("prefill 512", "decode 1 at 160", "decode 8 at 160", "decode 32 at 160")
KINDS = (("fp32", "fp32"), ("bf16", "bf16"), ("int8", "int8"), ("int4", "int8"))
PAGES = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="gemma3-270m", help="alias or path")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    machine = {"threads": arguments.threads, **describe_machine()}
    runners = runners_of(arguments.model, arguments.threads)
    seconds = measure(runners, arguments.rounds)
    rows = [row_of(arguments.model, name, case, seconds) for name, case in seconds]
    print(*rows, sep="\n")
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], *machine])
        writer.writeheader()
        writer.writerows({**row, **machine} for row in rows)


def runners_of(model: str, threads: int) -> dict[str, PagedRunner]:
    path = resolve_model(model).path
    runners: dict[str, PagedRunner] = {}
    for dtype in ("float32", "bfloat16"):
        loaded = load_model(path, dtype=dtype)
        runners[f"torch {dtype}"] = TorchPagedRunner(loaded)
        for quantization, kv in KINDS if dtype == "float32" else ():
            name = f"{quantization} weights, {kv} KV"
            runners[name] = CpuRunner(loaded, quantization=quantization, kv=kv, threads=threads)
    for runner in runners.values():
        runner.allocate((PAGES,) * len(runner.cache_groups))
    return runners


def measure(runners: dict[str, PagedRunner], rounds: int) -> dict[tuple[str, Case], list[float]]:
    """Seconds of every runner and case, in turns; the first warms up, and prefill is in every other one only."""
    found: dict[tuple[str, Case], list[float]] = {}
    for turn in range(rounds + 1):
        for case in (one for one in CASES if one.name in MEASURED):
            if case.tokens > 1 and turn % 2:
                continue
            step = step_of(case)
            for name, runner in runners.items():
                tables = step.page_tables * len(runner.cache_groups)
                start = time.perf_counter()
                runner.run(step._replace(page_tables=tables))
                found.setdefault((name, case), []).append(time.perf_counter() - start)
    return {key: times[1:] for key, times in found.items()}


def row_of(model: str, name: str, case: Case, seconds: dict[tuple[str, Case], list[float]]) -> dict[str, object]:
    peer, tokens = "torch bfloat16" if name.startswith("bf16") else "torch float32", case.rows * case.tokens
    median = statistics.median(seconds[name, case])
    return {
        "model": model,
        "runner": name,
        "measure": case.name,
        "tokens_per_s": round(tokens / median, 1),
        "best_tokens_per_s": round(tokens / min(seconds[name, case]), 1),
        "ratio_to_torch": round(statistics.median(seconds[peer, case]) / median, 2),
    }


if __name__ == "__main__":
    main()
