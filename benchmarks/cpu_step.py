"""Speed of the compiled CPU runner on SmolLM2-135M, against the floor of bytes over bandwidth.

    python benchmarks/cpu_step.py [--rounds 15] [--threads 2] [--model smollm2-135m]

Prefill is one step over 512 tokens; decode is a step of one token in each of some rows behind 160 or 1,024 tokens of
context, or in sixteen rows that share most of theirs. The floor of a step is what it reads (weights once, keys and
values of every row, what rows share once) over the bandwidth that all threads reach together on memory as large as the
weights, measured first and last. Configurations take turns; medians and the best of the rounds go to
results/cpu_step.csv. A profile of one decode step says where its time goes.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from machine import describe_machine

from structgen._compiled.entries import add_entry
from structgen._compiled.kernel import Address, U32x16, prefetch, read, write
from structgen.engine.cpu.runner import CpuRunner
from structgen.engine.cpu.team import Team, available_cores
from structgen.engine.models import LoadedModel, load_model
from structgen.engine.models.weights import EMBEDDING, parameter_shapes
from structgen.engine.sources import resolve_model
from structgen.engine.step import StepBatch

PREFILL_TOKENS = 512
RESULTS = Path(__file__).parent / "results" / "cpu_step.csv"
CONFIGURATIONS = (("int8", "int8"), ("int8", "bf16"), ("int4", "int8"), ("int4", "bf16"))


class Case(NamedTuple):
    """One measure."""

    name: str
    rows: int
    tokens: int
    context: int
    shared: int = 0
    """Tokens of the context that all rows have in the same pages."""


CASES = (
    Case("prefill 512", 1, PREFILL_TOKENS, 0),
    *(Case(f"decode {rows} at 160", rows, 1, 160) for rows in (1, 8, 16, 32)),
    Case("decode 1 at 1024", 1, 1, 1024),
    Case("decode 16 at 432, 304 of them shared", 16, 1, 432, 304),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m", help="alias or path of a GGUF file")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, available_cores()}))
    arguments = parser.parse_args()
    machine = describe_machine()
    print(*(f"{name}: {value}" for name, value in machine.items()), sep="\n")
    loaded = load_model(resolve_model(arguments.model).path)
    rows: list[dict[str, object]] = []
    for threads in arguments.threads:
        rows += measure_threads(loaded, threads, arguments.rounds)
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], *machine])
        writer.writeheader()
        writer.writerows({**row, **machine} for row in rows)


def measure_threads(loaded: LoadedModel, threads: int, rounds: int) -> list[dict[str, object]]:
    """All configurations with so many threads, printed and returned."""
    before = bandwidth(threads)
    runners = {kind: runner_of(loaded, *kind, threads) for kind in CONFIGURATIONS}
    seconds = measure(runners, rounds)
    most = max(before, bandwidth(threads))
    print(f"{threads} threads read {most:.1f} GB/s")
    rows: list[dict[str, object]] = []
    for (kind, case), times in seconds.items():
        rows.append({"threads": threads, **row_of(loaded, runners[kind], kind, case, times, most)})
        print(line(rows[-1]))
    for kind in (("int8", "int8"), ("int4", "int8")):
        print_profile(runners[kind], kind, most)
    return rows


def fold(address: Address, lines: int, out: Address) -> None:
    """Read cache lines one after the other."""
    found = read(U32x16, address)
    for place in range(lines):
        prefetch(address + 64 * place + 2048)
        found = found ^ read(U32x16, address + 64 * place)
    write(U32x16, out, found)


fold_lines = add_entry(fold, "structgen.engine.cpu")


def bandwidth(threads: int) -> float:
    """GB/s over 134 MB, the best of ten."""
    data, team = np.ones(134_000_000, np.uint8), Team(threads)
    outs, lines = np.zeros((threads, 16), np.uint32), len(data) // 64 // threads
    best = math.inf
    for _ in range(10):
        start = time.perf_counter()
        team.run(lambda one: fold_lines(data.ctypes.data + 64 * lines * one, lines, outs[one].ctypes.data), threads)
        best = min(best, time.perf_counter() - start)
    return len(data) / best / 1e9


def runner_of(loaded: LoadedModel, quantization: str, kv: str, threads: int) -> CpuRunner:
    runner = CpuRunner(loaded, quantization=quantization, kv=kv, threads=threads)
    runner.allocate((500,))
    return runner


def step_of(case: Case) -> StepBatch:
    pages = -(-(case.context + case.tokens) // 16)
    tokens = np.random.default_rng(0).integers(0, 40_000, case.rows * case.tokens).astype(np.int32)
    last = np.arange(1, case.rows + 1, dtype=np.int32) * case.tokens - 1
    table = np.arange(case.rows * pages, dtype=np.int32).reshape(case.rows, pages)
    table[:, : case.shared // 16] = table[0, : case.shared // 16]
    return StepBatch(
        token_ids=tokens,
        positions=np.tile(case.context + np.arange(case.tokens, dtype=np.int32), case.rows),
        row_starts=np.arange(case.rows + 1, dtype=np.int32) * case.tokens,
        page_tables=(table,),
        wanted=last,
    )


def measure(runners: dict[tuple[str, str], CpuRunner], rounds: int) -> dict[tuple[tuple[str, str], Case], list[float]]:
    """Seconds of every configuration and case, in turns; prefill, which is long, in a third of the rounds."""
    found: dict[tuple[tuple[str, str], Case], list[float]] = {}
    for turn in range(rounds):
        for case in CASES:
            step = step_of(case)
            for kind, runner in runners.items():
                if case.tokens > 1 and turn % 3:
                    continue
                start = time.perf_counter()
                runner.run(step)
                found.setdefault((kind, case), []).append(time.perf_counter() - start)
    return found


def row_of(
    loaded: LoadedModel, runner: CpuRunner, kind: tuple[str, str], case: Case, times: list[float], most: float
) -> dict[str, object]:
    pages = (case.rows * case.context - (case.rows - 1) * case.shared) / runner.page_size
    read_bytes = sum(one.weight_bytes for one in runner.profile(step_of(case))) + pages * runner.page_bytes(0)
    tokens, best = case.rows * case.tokens, min(times)
    return {
        "weights": kind[0],
        "kv": kind[1],
        "measure": case.name,
        "tokens_per_s": round(tokens / statistics.median(times), 1),
        "best_tokens_per_s": round(tokens / best, 1),
        "best_ms": round(1e3 * best, 2),
        "floor_ms": round(read_bytes / most / 1e6, 2),
        "gb_per_s": round(read_bytes / best / 1e9, 1),
        "bandwidth_gb_per_s": round(most, 1),
        "gmac_per_s": round(macs_of(loaded, case) / best / 1e9, 1),
    }


def macs_of(loaded: LoadedModel, case: Case) -> int:
    """Products of the linear layers; the head counts for the last token of a row only."""
    shapes = parameter_shapes(loaded.description)
    layers = sum(math.prod(shape) for name, shape in shapes.items() if ".layers." in name and len(shape) == 2)
    return case.rows * (case.tokens * layers + math.prod(shapes[EMBEDDING]))


def line(row: dict[str, object]) -> str:
    return (
        f"{row['threads']} threads, {row['weights']} weights, {row['kv']} KV, {row['measure']}: "
        f"{row['tokens_per_s']} tok/s (best {row['best_tokens_per_s']}: {row['best_ms']} ms, "
        f"floor {row['floor_ms']} ms, {row['gb_per_s']} GB/s, {row['gmac_per_s']} GMAC/s)"
    )


def print_profile(runner: CpuRunner, kind: tuple[str, str], most: float) -> None:
    """Where a decode step's time goes: the least of ten for each operation, summed by what it is."""
    for case in CASES[1:]:
        profiles = [runner.profile(step_of(case)) for _ in range(10)]
        start = time.perf_counter()
        whole = sum(one.ticks for one in runner.profile(step_of(case)))
        ticks_a_ms = whole / (1e3 * (time.perf_counter() - start))
        parts: dict[str, list[float]] = {}
        for same in zip(*profiles, strict=True):
            part = parts.setdefault(same[0].name, [0.0, 0.0])
            part[0] += min(one.ticks for one in same) / ticks_a_ms
            part[1] += same[0].weight_bytes / most / 1e6
        shares = [f"{name} {ms:.2f} ms" + f" (floor {floor:.2f})" * (floor > 0) for name, (ms, floor) in parts.items()]
        print(f"{'/'.join(kind)}, {case.name}: {', '.join(shares)}")


if __name__ == "__main__":
    main()
