"""Prefill and decode speed of the torch runner on SmolLM2-135M, against transformers in the same run.

    python benchmarks/runner_speed.py [--rounds 3] [--model smollm2-135m]

Prefill is one call over 512 tokens of an empty sequence; decode is one token at a time behind 160 tokens of context.
The two take turns, so that a busy neighbour hurts both; medians over all rounds go to results/runner_speed.csv.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import transformers

from structgen.engine.models import LoadedModel, load_model
from structgen.engine.runner import TorchRunner
from structgen.engine.sources import resolve_model

PREFILL_TOKENS, CONTEXT_TOKENS, DECODE_TOKENS = 512, 160, 32
RESULTS = Path(__file__).parent / "results" / "runner_speed.csv"

Step = Callable[[list[int]], object]
"""Appends tokens to the sequence it belongs to."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m", help="alias or path of a GGUF file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    transformers.utils.logging.disable_progress_bar()
    machine = describe_machine()
    print(*(f"{name}: {value}" for name, value in machine.items()), sep="\n")
    rows = [
        {**row, **machine}
        for dtype in ("float32", "bfloat16")
        for row in measure(resolve_model(arguments.model).path, dtype, arguments.rounds)
    ]
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def measure(path: Path, dtype: str, rounds: int) -> Iterator[dict[str, object]]:
    """Yield a row for prefill and one for decode, printing each."""
    started = time.perf_counter()
    loaded = load_model(path, dtype=dtype)
    load_seconds = time.perf_counter() - started
    peer = transformers.AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=getattr(torch, dtype)
    ).eval()
    sequences = {"structgen": ours(loaded), "transformers": theirs(peer)}
    seconds: dict[tuple[str, str], list[float]] = {}
    for _ in range(rounds + 1):  # the first warms up
        for name, new_sequence in sequences.items():
            seconds.setdefault(("prefill", name), []).append(time_prefill(new_sequence()))
            seconds.setdefault(("decode", name), []).append(time_decode(new_sequence()))
    for kind, tokens in (("prefill", PREFILL_TOKENS), ("decode", 1)):
        speed, reference = (tokens / statistics.median(seconds[kind, name][1:]) for name in sequences)
        print(f"{dtype:9} {kind:8} {speed:8.1f} tok/s, transformers {reference:8.1f}, ratio {speed / reference:.2f}")
        yield {
            "dtype": dtype,
            "measure": kind,
            "tokens_per_second": round(speed, 1),
            "transformers_tokens_per_second": round(reference, 1),
            "ratio": round(speed / reference, 2),
            "rounds": rounds,
            "load_seconds": round(load_seconds, 2),
        }


def ours(loaded: LoadedModel) -> Callable[[], Step]:
    """Sequences of the torch runner."""
    runner = TorchRunner(loaded)

    def new_sequence() -> Step:
        cache = runner.new_cache()
        return lambda tokens: runner.forward(cache, tokens)

    return new_sequence


def theirs(model: torch.nn.Module) -> Callable[[], Step]:
    """Sequences of transformers."""

    def new_sequence() -> Step:
        cache = transformers.DynamicCache()

        def step(tokens: list[int]) -> object:
            with torch.inference_mode():
                return model(torch.tensor([tokens]), past_key_values=cache, use_cache=True, logits_to_keep=1)

        return step

    return new_sequence


def time_prefill(step: Step) -> float:
    """Seconds of the whole prompt."""
    tokens = random_tokens(PREFILL_TOKENS)
    started = time.perf_counter()
    step(tokens)
    return time.perf_counter() - started


def time_decode(step: Step) -> float:
    """Median seconds of a token."""
    step(random_tokens(CONTEXT_TOKENS))
    seconds = []
    for token in random_tokens(DECODE_TOKENS):
        started = time.perf_counter()
        step([token])
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def random_tokens(count: int) -> list[int]:
    """Return the same tokens every time."""
    return torch.randint(0, 49_152, (count,), generator=torch.Generator().manual_seed(0)).tolist()


def describe_machine() -> dict[str, object]:
    """Hardware, versions and how busy the machine was: what a number is worth nothing without."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "load_average": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


if __name__ == "__main__":
    main()
