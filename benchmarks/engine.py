"""The engine as a program uses it: streams of answers, prompts, shared prefixes, grammars.

    python benchmarks/engine.py [--model smollm2-135m] [--quantization int8,int4] [--rounds 3]

Each number is the median of the rounds, and goes to benchmarks/results/engine.csv with the machine. Tokens a second
while decoding are counted from when the last stream has begun to when the first one ends.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import threading
import time
from pathlib import Path

from machine import describe_machine

from structgen import LLM, SamplingParams
from structgen.engine.request import GrammarSpec, Request

RESULTS = Path(__file__).parent / "results" / "engine.csv"
TOKENS = 64
"""Of each answer so many count, the first ones: what is compared has the same context."""
FAR, NEAR = 1000, 256
"""Budgets of tokens: one that no answer comes near, and one that is near at every token."""
SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string", "minLength": 3, "maxLength": 24}, "age": {"type": "integer"}},
        "required": ["name", "age"],
    },
    "minItems": 12,
}
TEXT = "The harbour lights went out one after another, and the pilot counted them from the bridge. "


def prompt_of(llm: LLM, tokens: int, number: int) -> tuple[int, ...]:
    """So many tokens, with no page in common with those of another number."""
    ids = llm.tokenizer.encode(f"{number * 7919} is the number. " + TEXT * (tokens // 8 + 1)).ids
    return tuple(ids[:tokens])


def ask(llm: LLM, requests: list[Request]) -> list[list[tuple[float, int]]]:
    """Send all at once; returns for each the times at which tokens came, and how many, up to `TOKENS`."""
    found: list[list[tuple[float, int]]] = [[] for _ in requests]

    def listen(place: int, request: Request) -> None:
        for delta in llm.client.submit(request).checked():
            if delta.token_ids:
                found[place].append((time.perf_counter(), len(delta.token_ids)))
            if sum(count for _, count in found[place]) >= TOKENS:
                break

    threads = [threading.Thread(target=listen, args=pair) for pair in enumerate(requests)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def decode_speed(
    llm: LLM, streams: int, context: int, number: int, grammar: GrammarSpec | None = None, budget: int = FAR
) -> float:
    """Tokens a second of so many streams together."""
    params = SamplingParams(max_tokens=budget, ignore_eos=True)
    prompts = [prompt_of(llm, context, 1000 * number + stream) for stream in range(streams)]
    found = ask(llm, [Request(prompt, params, grammar) for prompt in prompts])
    # Not from the first delta: a grammar may begin with tokens that it forces, before the prompt is computed.
    begin, end = max(times[1][0] for times in found), min(times[-1][0] for times in found)
    tokens = sum(count for times in found for at, count in times if begin < at <= end)
    return tokens / (end - begin)


def prefill_speed(llm: LLM, tokens: int, number: int) -> float:
    """Tokens of a prompt a second, its first answer token included."""
    begin = time.perf_counter()
    found = ask(llm, [Request(prompt_of(llm, tokens, 500_000 + number), SamplingParams(max_tokens=1))])
    return tokens / (found[0][0][0] - begin)


def reused_share(llm: LLM, turns: int = 10) -> float:
    """Of the tokens of a conversation that were seen before, the share that the cache had."""
    messages: list[dict[str, str]] = []
    seen = cached = before = 0
    for turn in range(turns):
        messages.append({"role": "user", "content": f"Turn {turn}: {TEXT * 2}"})
        answer = llm.chat(messages, sampling_params=SamplingParams(max_tokens=40), return_details=True)
        seen, cached = seen + before, cached + answer.usage.cached_tokens
        before = answer.usage.prompt_tokens + answer.usage.completion_tokens
        messages.append({"role": "assistant", "content": answer.text})
    return cached / seen


def measure(llm: LLM, rounds: int) -> dict[str, float]:
    """Every number, the median of so many rounds."""
    grammar = GrammarSpec("json_schema", SCHEMA)
    decode_speed(llm, 1, 16, 900, grammar)  # what is compiled once
    cases = {
        "prefill 512, tok/s": lambda number: prefill_speed(llm, 512, number),
        "decode 1 stream at 160, tok/s": lambda number: decode_speed(llm, 1, 160, number),
        "decode 1 stream at 1024, tok/s": lambda number: decode_speed(llm, 1, 1024, 100 + number),
        "decode 8 streams at 160, tok/s": lambda number: decode_speed(llm, 8, 160, 200 + number),
        "decode 32 streams at 160, tok/s": lambda number: decode_speed(llm, 32, 160, 300 + number),
        "constrained, 8 streams at 160, tok/s": lambda number: decode_speed(llm, 8, 160, 400 + number, grammar),
        "the same, budget near, tok/s": lambda number: decode_speed(llm, 8, 160, 600 + number, grammar, NEAR),
    }
    found = {name: statistics.median(run(number) for number in range(rounds)) for name, run in cases.items()}
    found["reused share of ten turns"] = reused_share(llm)
    return found


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--quantization", default="int8,int4")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    machine, rows = describe_machine(), []
    for quantization in options.quantization.split(","):
        with LLM(options.model, quantization=quantization, kv_cache_dtype="bfloat16", max_num_seqs=32) as llm:
            for name, value in measure(llm, options.rounds).items():
                print(f"{quantization:5} {name:40} {value:10.3f}", flush=True)
                rows.append({"quantization": quantization, "case": name, "value": round(value, 3), **machine})
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
