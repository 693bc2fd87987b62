"""Large grammars and grammars of large counts: how long each takes to compile, to its first mask, and its worst mask.

    python benchmarks/stress.py [--tokenizer smollm2-135m] [--rounds 3] [--tokens 200]

The tokenizer is a ``tokenizer.json``, or an alias or path of a model. Times are of this process on a core, the best of
the rounds, so that a busy neighbour does not count; every round compiles anew, with whatever a process keeps from one
grammar for the next. The masks are those on the way of random tokens that they allow. The rows go to
results/stress.csv.
"""

from __future__ import annotations

import argparse
import csv
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from machine import describe_machine

from structgen.grammars import (
    FINISHED,
    TokenAutomaton,
    TokenVocabulary,
    compile_choice,
    compile_json_schema,
    compile_regex,
)

RESULTS = Path(__file__).parent / "results" / "stress.csv"

Compile = Callable[[TokenVocabulary], TokenAutomaton]

RECURSION = "recursion 1,000 deep"
BEGINNINGS = {RECURSION: b"[" * 1000}
"""What the text of a case begins with, a mask before every byte."""


class Measured(NamedTuple):
    """What a case took."""

    compile_ms: float
    first_mask_ms: float
    worst_mask_us: float
    """Of those after the first."""
    states: int


def cases() -> dict[str, Compile]:
    """Return the cases by name."""
    words = [f"{word} {number}" for number in range(5000) for word in (random.Random(number).randbytes(6).hex(),)]
    strings: dict[str, Any] = {"type": "string"}
    tools = [tool(number, 10) for number in range(64)]
    return {
        "enum of 5,000 strings": schema({"enum": words}),
        "choice of 5,000 texts of 100 characters": lambda v: compile_choice([one * 6 for one in words], v),
        "pattern ^[a-z]{1,5000}$": schema({**strings, "pattern": "^[a-z]{1,5000}$"}),
        "regex [a-z]{1,5000}": lambda v: compile_regex("[a-z]{1,5000}", v),
        "100 optional properties": schema(properties(100)),
        "30 required properties in any order": schema(
            {**properties(30), "required": [f"name_{n}" for n in range(30)]}, property_order="any"
        ),
        "minItems 500": schema({"type": "array", "items": strings, "minItems": 500}),
        "maxLength 100,000": schema({**strings, "maxLength": 100_000}),
        "oneOf nested 12 deep": schema(nested_one_of(12)),
        RECURSION: schema({"type": "array", "items": {"$ref": "#"}}),
        "$ref chain of 1,000": schema(ref_chain(1000)),
        "properties nested 1,000 deep": schema(nested(1000)),
        "anyOf of 64 tools with 10 arguments": schema({"anyOf": tools}),
        "schema of 1 MB": schema(megabyte()),
    }


def schema(its: Any, **options: Any) -> Compile:
    """Return what compiles a JSON Schema."""
    return lambda vocabulary: compile_json_schema(its, vocabulary, **options)


def properties(count: int) -> dict[str, Any]:
    """Return an object of ``count`` numbers and strings."""
    kinds = ("string", "integer", "boolean")
    members = {f"name_{number}": {"type": kinds[number % 3]} for number in range(count)}
    return {"type": "object", "properties": members, "additionalProperties": False}


def nested_one_of(depth: int) -> dict[str, Any]:
    """Return alternatives within alternatives, of which exactly one holds, objects told apart by their kind."""
    inner: dict[str, Any] = {"type": "string"}
    for level in range(depth):
        members = {"kind": {"const": f"kind_{level}"}, f"value_{level}": {"type": "integer"}}
        inner = {"oneOf": [inner, {"type": "object", "properties": members, "required": ["kind"]}]}
    return inner


def ref_chain(length: int) -> dict[str, Any]:
    """Return objects in objects, each a definition of its own."""
    definitions: dict[str, Any] = {
        f"d{number}": {"type": "object", "properties": {"next": {"$ref": f"#/$defs/d{number + 1}"}}}
        for number in range(length)
    }
    definitions[f"d{length}"] = {"type": "integer"}
    return {"$ref": "#/$defs/d0", "$defs": definitions}


def nested(depth: int) -> dict[str, Any]:
    """Return objects in objects, written in each other."""
    inner: dict[str, Any] = {"type": "integer"}
    for _ in range(depth):
        inner = {"type": "object", "properties": {"next": inner}}
    return inner


def tool(number: int, arguments: int) -> dict[str, Any]:
    """Return the call of a tool, as a model is to write it."""
    kinds: list[dict[str, Any]] = [
        {"type": "string"},
        {"type": "integer", "minimum": 0},
        {"type": "boolean"},
        {"enum": [f"choice_{number}_{place}" for place in range(5)]},
        {"type": "array", "items": {"type": "string"}},
    ]
    members = {f"argument_{number}_{place}": kinds[place % len(kinds)] for place in range(arguments)}
    inside = {"type": "object", "properties": members, "required": list(members)[:5], "additionalProperties": False}
    return {
        "type": "object",
        "properties": {"name": {"const": f"tool_{number}"}, "arguments": inside},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def megabyte() -> dict[str, Any]:
    """Return a schema whose text has about a million characters: many tools with 10 arguments each."""
    return {"type": "object", "properties": {f"call_{number}": tool(number, 10) for number in range(1150)}}


def measure(
    compile_case: Compile, vocabulary: TokenVocabulary, rounds: int, tokens: int, beginning: bytes = b""
) -> Measured:
    """Measure a case: each time the least of the rounds."""
    found = [_once(compile_case, vocabulary, beginning, tokens) for _ in range(rounds)]
    return Measured(*(min(values) for values in zip(*found, strict=True)))


def _once(compile_case: Compile, vocabulary: TokenVocabulary, beginning: bytes, tokens: int) -> Measured:
    row, generator = np.zeros((len(vocabulary) + 31) // 32, np.int32), random.Random(0)
    compiled, automaton = _timed(lambda: compile_case(vocabulary))
    with automaton.matcher() as matcher:
        state, worst = matcher.start, 0.0
        first, _ = _timed(lambda: matcher.fill_mask(state, row))
        for step in range(len(beginning) + tokens):
            if step < len(beginning):
                state = matcher.advance_bytes(state, beginning[step : step + 1])
            else:
                bits = np.unpackbits(row.view(np.uint8), bitorder="little")
                state = matcher.advance(state, int(generator.choice(np.flatnonzero(bits))))
            if state == FINISHED:
                break
            seconds, _ = _timed(lambda state=state: matcher.fill_mask(state, row))
            worst = max(worst, seconds)
    return Measured(1e3 * compiled, 1e3 * first, 1e6 * worst, automaton.stats().states)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.thread_time()
    result = work()
    return time.thread_time() - started, result


def read_vocabulary(name: str) -> TokenVocabulary:
    """Return the vocabulary of a ``tokenizer.json`` or of a model."""
    if name.endswith(".json"):
        from tokenizers import Tokenizer

        return TokenVocabulary.from_tokenizer(Tokenizer.from_file(name))
    from structgen.engine.sources import resolve_model
    from structgen.engine.weights import open_checkpoint

    with open_checkpoint(resolve_model(name).path) as checkpoint:
        return TokenVocabulary.from_tokenizer(checkpoint.tokenizer(), eos_token_ids=checkpoint.eos_token_ids)


def main() -> None:
    """Measure every case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", default="smollm2-135m", help="tokenizer.json, or alias or path of a model")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=200, help="masks of each case, the first not counted")
    arguments = parser.parse_args()
    machine, vocabulary, rows = describe_machine(), read_vocabulary(arguments.tokenizer), []
    print(*(f"{name}: {value}" for name, value in machine.items()), vocabulary, sep="\n")
    measure(schema({"type": "object"}), vocabulary, 1, 1)  # what is set up once is not counted
    for name, compile_case in cases().items():
        found = measure(compile_case, vocabulary, arguments.rounds, arguments.tokens, BEGINNINGS.get(name, b""))
        print(
            f"{name:40} compile {found.compile_ms:8.1f} ms, first mask {found.first_mask_ms:6.2f} ms, "
            f"worst {found.worst_mask_us:7.0f} us, {found.states:,} states"
        )
        numbers = {field: round(value, 2) for field, value in found._asdict().items()}
        rows.append({"case": name, **numbers, "vocabulary": len(vocabulary), "rounds": arguments.rounds, **machine})
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
