"""Grammars in Lark's syntax: compile time, first mask, and masks along texts, beside llguidance's Lark dialect.

    python benchmarks/lark_grammars.py --tokenizer tokenizer.json [--rounds 3]

The grammars are those of benchmarks/grammars, which both engines take. Compile time and first mask are those of the
first round, after a grammar of one letter; masks are those before every token of some texts. The two engines take
turns, round by round. A grammar that is kept on disk is read from there: remove the *.grammar files of the cache for
cold times. Of each mask the best round counts, so that a busy neighbour does not, and what a first round computes for
the next does; the mean of the first round is beside it. The rows go to results/lark_grammars.csv.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from machine import describe_machine
from tokenizers import Tokenizer

from structgen.grammars import DEAD, TokenVocabulary, compile_lark

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results" / "lark_grammars.csv"
TEXTS = 40
"""Of each grammar."""


class Measured(NamedTuple):
    """What a round took."""

    compile_ms: float
    first_mask_ms: float
    masks_us: list[float]
    """Before every token, in order; empty where the engine refuses a text."""


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, required=True, help="a tokenizer.json")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    engines = {"structgen": structgen_engine(tokenizer), "llguidance": llguidance_engine(options.tokenizer)}
    rows: list[dict[str, object]] = []
    for name, texts in {"json": json_texts(), "arithmetic": sums(), "sql": queries()}.items():
        grammar = (FOLDER / "grammars" / f"{name}.lark").read_text()
        tokens = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        rounds: dict[str, list[Measured]] = {engine: [] for engine in engines}
        for _ in range(options.rounds):
            for engine, measure in engines.items():
                rounds[engine].append(measure(grammar, tokens))
        rows += [describe(name, engine, found) for engine, found in rounds.items()]
        for row in rows[-2:]:
            print("  ".join(f"{key} {value}" for key, value in row.items()))
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], *describe_machine()])
        writer.writeheader()
        writer.writerows(row | describe_machine() for row in rows)


def describe(name: str, engine: str, rounds: list[Measured]) -> dict[str, object]:
    """The row of a grammar."""
    first = rounds[0]
    row: dict[str, object] = {"grammar": name, "engine": engine, "tokens": len(first.masks_us)}
    row |= {"compile_ms": round(first.compile_ms, 1), "first_mask_ms": round(first.first_mask_ms, 1)}
    if first.masks_us:
        masks = np.min([one.masks_us for one in rounds], axis=0)
        quarter = len(masks) // 4
        row |= {"first_round_avg_us": round(np.mean(first.masks_us), 1), "mask_avg_us": round(masks.mean(), 1)}
        row |= {"mask_p99_us": round(np.percentile(masks, 99), 1), "mask_max_us": round(masks.max(), 1)}
        row |= {"last_quarter_to_first": round(np.median(masks[-quarter:]) / np.median(masks[:quarter]), 2)}
    return row


def structgen_engine(tokenizer: Tokenizer) -> Callable[[str, list[list[int]]], Measured]:
    """Return what measures a round of ours."""
    vocabulary = TokenVocabulary.from_tokenizer(tokenizer)
    row = np.empty(vocabulary.masks.rows.shape[1], np.int32)
    compile_lark('start: "a"', vocabulary)

    def measure(grammar: str, texts: list[list[int]]) -> Measured:
        before = time.perf_counter()
        automaton = compile_lark(grammar, vocabulary)
        compiled = time.perf_counter()
        masks: list[float] = []
        with automaton.matcher() as matcher:
            matcher.fill_mask(matcher.start, row)
            first = time.perf_counter()
            for text in texts:
                state = matcher.start
                for token in text:
                    begin = time.perf_counter()
                    matcher.fill_mask(state, row)
                    masks.append(1e6 * (time.perf_counter() - begin))
                    state = matcher.advance(state, token)
                if state == DEAD or not matcher.is_accepting(state):
                    raise SystemExit("a text is not in its grammar")
        return Measured(1e3 * (compiled - before), 1e3 * (first - compiled), masks)

    return measure


def llguidance_engine(tokenizer: Path) -> Callable[[str, list[list[int]]], Measured]:
    """Return what measures a round of llguidance."""
    from llguidance import LLMatcher, LLTokenizer
    from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask

    its_tokenizer = LLTokenizer(tokenizer.read_text())
    row = allocate_token_bitmask(1, its_tokenizer.vocab_size)

    def measure(grammar: str, texts: list[list[int]]) -> Measured:
        before = time.perf_counter()
        compiled_grammar = LLMatcher.grammar_from_lark(grammar)
        matcher: Any = LLMatcher(its_tokenizer, compiled_grammar)
        compiled = time.perf_counter()
        fill_next_token_bitmask(matcher, row, 0)
        first = time.perf_counter()
        masks: list[float] = []
        for text in texts:
            matcher = LLMatcher(its_tokenizer, compiled_grammar)
            for token in text:
                begin = time.perf_counter()
                fill_next_token_bitmask(matcher, row, 0)
                masks.append(1e6 * (time.perf_counter() - begin))
                if not matcher.consume_token(token):
                    return Measured(1e3 * (compiled - before), 1e3 * (first - compiled), [])
        return Measured(1e3 * (compiled - before), 1e3 * (first - compiled), masks)

    return measure


def json_texts() -> list[str]:
    """Some values, half of them indented."""
    source = random.Random(1)
    words = ["name", "age", "tags", "value", "item é", 'a "quote"', "x\ny", "John Smith"]

    def value(depth: int) -> object:
        kind = source.randrange(6 if depth else 4)
        if kind < 4:
            return source.choice([source.choice(words), source.randrange(-999, 999), source.random(), None, True])
        if kind == 4:
            return [value(depth - 1) for _ in range(source.randrange(5))]
        return {source.choice(words): value(depth - 1) for _ in range(source.randrange(5))}

    return [json.dumps([value(3) for _ in range(8)], indent=number % 2 or None) for number in range(TEXTS)]


def sums() -> list[str]:
    """Some sums of products of calls, names and numbers."""
    source = random.Random(2)

    def atom(depth: int) -> str:
        kind = source.randrange(4 if depth else 2)
        if kind == 0:
            return str(source.choice([source.randrange(1000), round(source.random(), 4), "1.5e-3"]))
        if kind == 1:
            return source.choice(["x", "alpha", "some_name2"])
        inner = source.choice([" + ", "*", " - ", "/"]).join(atom(depth - 1) for _ in range(source.randrange(1, 4)))
        return f"({inner})" if kind == 2 else f"max({inner}, -{atom(0)})"

    return [" + ".join(atom(3) for _ in range(10)) for _ in range(TEXTS)]


def queries() -> list[str]:
    """Some queries over a few tables."""
    source = random.Random(3)
    columns = ["u.name", "o.total", "created_at", "COUNT(*)", "SUM(o.price * 1.2)", "MAX(id)"]
    tests = ["u.id = o.user_id", "o.total >= 18.5", "u.country IN ('DE', 'FR')", "note IS NOT NULL", "a LIKE '%x%'"]

    def query() -> str:
        chosen = ", ".join(f"{source.choice(columns)} AS c{number}" for number in range(source.randrange(1, 8)))
        where = source.choice([" AND ", " OR "]).join(source.choice(tests) for _ in range(source.randrange(1, 5)))
        end = source.choice(["", " ORDER BY c0 DESC LIMIT 10", " GROUP BY u.name HAVING COUNT(*) > 5"])
        return f"SELECT {chosen} FROM users AS u LEFT JOIN orders AS o ON {source.choice(tests)} WHERE {where}{end};"

    return [query() for _ in range(TEXTS)]


if __name__ == "__main__":
    main()
