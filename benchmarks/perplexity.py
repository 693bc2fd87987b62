"""Perplexity of the compiled CPU runner in every format of weights and of keys and values, against fp32.

    python benchmarks/perplexity.py [--model smollm2-135m,gemma3-270m] [--pieces 20]

Over the first tokens of Python's own reference (`pydoc_data.topics`), in pieces of 512, each a sequence of its own. All
formats have the same file; where it is quantized, fp32 is what its blocks stand for. Rows of a model replace those that
results/perplexity.csv has of it.
"""

from __future__ import annotations

import argparse
import csv
import math
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import torch
from cpu_step import CASES, step_of
from machine import describe_machine

from structgen.engine.cpu.runner import CpuRunner
from structgen.engine.models import LoadedModel, load_model
from structgen.engine.sources import resolve_model

RESULTS = Path(__file__).parent / "results" / "perplexity.csv"
PIECE, PAGES = 512, 40
KINDS = (
    ("fp32", "fp32"), ("bf16", "bf16"), ("int8", "bf16"), ("int8", "int8"), ("w8a8", "bf16"), ("int4", "fp32"),
    ("int4", "bf16"), ("int4", "int8"),
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m,gemma3-270m", help="aliases or paths")
    parser.add_argument("--pieces", type=int, default=20)
    arguments = parser.parse_args()
    models = arguments.model.split(",")
    rows = [row for row in known_rows() if row["model"] not in models]
    for model in models:
        rows += [{**row, **describe_machine()} for row in measure(model, arguments.pieces)]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def known_rows() -> list[dict[str, object]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return [dict(row) for row in csv.DictReader(file)]


def measure(model: str, count: int) -> list[dict[str, object]]:
    loaded = load_model(resolve_model(model).path)
    pieces, exact, rows = pieces_of(loaded, count), None, []
    for weights, kv in KINDS:
        found = perplexity(loaded, weights, kv, pieces)
        exact = exact or found
        percent = round(100 * (found / exact - 1), 3)
        print(f"{model}, {weights} weights, {kv} KV: {found:.4f} ({percent:+.3f} %)", flush=True)
        row = {"model": model, "weights": weights, "kv": kv, "tokens": count * PIECE, "perplexity": round(found, 4)}
        rows.append({**row, "percent_over_fp32": percent})
    return rows


def pieces_of(loaded: LoadedModel, count: int) -> list[np.ndarray]:
    text = "\n\n".join(topics[name] for name in sorted(topics))
    begin = np.array(loaded.tokenizer.encode("").ids, np.int32)  # what the model expects before a text
    tokens = np.array(loaded.tokenizer.encode(text[: 8 * count * PIECE], add_special_tokens=False).ids, np.int32)
    size = PIECE - len(begin)
    return [np.concatenate((begin, piece)) for piece in tokens[: count * size].reshape(count, size)]


def perplexity(loaded: LoadedModel, weights: str, kv: str, pieces: list[np.ndarray]) -> float:
    runner = CpuRunner(loaded, quantization=weights, kv=kv)
    runner.allocate((PAGES,) * len(runner.cache_groups))
    losses = []
    for piece in pieces:
        step = step_of(CASES[0])
        tables = step.page_tables * len(runner.cache_groups)
        step = step._replace(token_ids=piece, wanted=np.arange(len(piece), dtype=np.int32), page_tables=tables)
        expected = torch.from_numpy(piece[1:].astype(np.int64))
        losses.append(torch.nn.functional.cross_entropy(torch.from_numpy(runner.run(step)[:-1]), expected))
    return math.exp(float(torch.stack(losses).mean()))


if __name__ == "__main__":
    main()
