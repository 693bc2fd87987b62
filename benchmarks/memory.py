"""Resident memory: while a model is loaded, and while many streams are served.

    python benchmarks/memory.py [--model smollm2-135m] [--streams 32] [--context 1024]

Every format of weights is loaded in a process of its own, int8 with keys and values in int8 then serves so many streams
that fill their context. The peak (VmHWM) counts the pages of the mapped file that have been read, which the system may
take back; `anonymous` is what it may not. Goes to results/memory.csv with the machine. Linux only.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path

from machine import describe_machine

RESULTS = Path(__file__).parent / "results" / "memory.csv"
FORMATS = ("fp32", "bf16", "int8", "int4")
ANSWER = 64
"""Tokens of each stream's answer, of its context."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--streams", type=int, default=32)
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--measure", help="the format that this process measures; set by the script itself")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.model, options.measure, options.streams, options.context)))
        return
    rows = [row for form in FORMATS for row in measured_apart(options, form)]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def measured_apart(options: argparse.Namespace, form: str) -> list[dict[str, object]]:
    """Measure in another process."""
    given = {"model": options.model, "streams": options.streams, "context": options.context, "measure": form}
    command = [sys.executable, __file__, *(part for name, value in given.items() for part in (f"--{name}", str(value)))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = [{"model": options.model, "weights": form, **row, **describe_machine()} for row in json.loads(done.stdout)]
    for row in found:
        print("{weights:5} {case:32} peak {peak_mib} MiB, anonymous {anonymous_mib} MiB".format(**row), flush=True)
    return found


def measure(model: str, form: str, streams: int, context: int) -> list[dict[str, object]]:
    """Load, and serve with int8."""
    from structgen import LLM

    with LLM(model, quantization=form, kv_cache_dtype="int8", max_num_seqs=streams, max_model_len=context) as llm:
        rows = [{"case": "loaded", **resident()}]
        if form == "int8":
            serve(llm, streams, context)
            rows.append({"case": f"{streams} streams of {context} tokens", **resident()})
    return rows


def serve(llm, streams: int, context: int) -> None:
    """Answer prompts that share nothing, until their context is full."""
    from engine import prompt_of

    from structgen import SamplingParams
    from structgen.engine.request import Request

    params = SamplingParams(max_tokens=ANSWER, ignore_eos=True)
    prompts = [prompt_of(llm, context - ANSWER, number) for number in range(streams)]
    for stream in [llm.client.submit(Request(prompt, params)) for prompt in prompts]:
        for _ in stream.checked():
            pass


def resident() -> dict[str, object]:
    """MiB of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kib = {line.partition(":")[0]: int(line.split()[1]) for line in lines if line.endswith(" kB")}
    return {"peak_mib": kib["VmHWM"] >> 10, "anonymous_mib": kib["RssAnon"] >> 10}


if __name__ == "__main__":
    main()
