"""Prefill and decode speed of the torch runner on SmolLM2-135M, against transformers in the same run.

    python benchmarks/runner_speed.py [--rounds 3] [--threads 1 2] [--model smollm2-135m]

Prefill is one call over 512 tokens of an empty sequence; decode is one token at a time behind 160 tokens of context.
Decode is bound by memory, so it is given in GB/s too: a token reads each layer and the output head once, and of an
embedding that is not the head a row only. The two take turns, so that a busy neighbour hurts both; medians over the
rounds go to results/runner_speed.csv.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import transformers
from machine import describe_machine

from structgen.engine.models import LoadedModel, load_model
from structgen.engine.models.torch_weights import DTYPES
from structgen.engine.models.weights import EMBEDDING, parameter_shapes
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
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    machine = {
        **describe_machine(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "transformers_version": transformers.__version__,
        "torch_version": torch.__version__,
    }
    print(*(f"{name}: {value}" for name, value in machine.items()), sep="\n")
    path, rows = resolve_model(arguments.model).path, []
    for dtype in ("float32", "bfloat16"):
        loaded = load_model(path, dtype=dtype)
        sequences = {"structgen": ours(loaded), "transformers": theirs(path, dtype)}
        for threads in arguments.threads:
            torch.set_num_threads(threads)
            for row in measure(sequences, arguments.rounds, bytes_per_token(loaded)):
                rows.append({"dtype": dtype, "threads": threads, **row, **machine})
                print(line(rows[-1]))
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def line(row: dict[str, object]) -> str:
    """Return a row as it is printed."""
    text = (
        "{dtype:9} {threads} threads {measure:8} {structgen:8.1f} tok/s, transformers {transformers:8.1f}, "
        "ratio {ratio:.2f}".format(**row)
    )
    if row["measure"] == "decode":
        text += ", {structgen_gb_per_s:.1f} GB/s, transformers {transformers_gb_per_s:.1f}".format(**row)
    return text


def bytes_per_token(loaded: LoadedModel) -> int:
    """Bytes of weights that one token of decode reads."""
    shapes = parameter_shapes(loaded.description)
    if not loaded.description.tie_word_embeddings:
        del shapes[EMBEDDING]  # of which one row is read
    return DTYPES[loaded.dtype].itemsize * sum(map(math.prod, shapes.values()))


def measure(sequences: dict[str, Callable[[], Step]], rounds: int, weight_bytes: int) -> Iterator[dict[str, object]]:
    """Yield a row for prefill and one for decode; GB/s stands at decode only, for prefill is bound by arithmetic."""
    seconds: dict[tuple[str, str], list[float]] = {}
    for _ in range(rounds + 1):  # the first warms up
        for name, new_sequence in sequences.items():
            seconds.setdefault(("prefill", name), []).append(time_prefill(new_sequence()))
            seconds.setdefault(("decode", name), []).append(time_decode(new_sequence()))
    for kind, tokens in (("prefill", PREFILL_TOKENS), ("decode", 1)):
        speeds = {name: tokens / statistics.median(seconds[kind, name][1:]) for name in sequences}
        yield {
            "measure": kind,
            **{name: round(speed, 1) for name, speed in speeds.items()},
            "ratio": round(speeds["structgen"] / speeds["transformers"], 2),
            **{
                f"{name}_gb_per_s": round(speed * weight_bytes / 1e9, 1) if kind == "decode" else ""
                for name, speed in speeds.items()
            },
            "rounds": rounds,
        }


def ours(loaded: LoadedModel) -> Callable[[], Step]:
    """Sequences of the torch runner."""
    runner = TorchRunner(loaded)

    def new_sequence() -> Step:
        cache = runner.new_cache()
        return lambda tokens: runner.forward(cache, tokens)

    return new_sequence


def theirs(path: Path, dtype: str) -> Callable[[], Step]:
    """Sequences of transformers."""
    model = transformers.AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=getattr(torch, dtype)
    ).eval()

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


if __name__ == "__main__":
    main()
