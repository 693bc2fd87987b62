"""Hundreds of tools as one structural tag: compile times and masks of structgen, XGrammar and llguidance.

    python benchmarks/structural_tags.py TOKENIZER_JSON [--tools 400] [--rounds 3]

The engines take turns, each round in a process of its own, on one thread. What is compiled first is another set of
tools, so that no one-time work counts. Then come all tools (cold), and all but one of them in another order (with the
schemas known). One turn for each of a hundred tools is walked token by token, first as it is and then once again.
Compiling is measured by the processor's time, so that neighbours on a busy machine count for little; masks and tokens
by the wall clock, as a call for the processor's time takes longer than most of them. Writes
results/structural_tags.csv: of each number the median of the rounds.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import json
import os
import random
import statistics
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe_machine
from tool_schemas import Tool, answer, tools
from typing_extensions import override

RESULTS = Path(__file__).parent / "results" / "structural_tags.csv"
TRIGGER = "<function="
ENGINES = ("structgen", "xgrammar", "llguidance")
TURNS = 100


def main() -> None:
    """Measure and write the table; with ``--engine``, measure one of them once."""
    options = parse_arguments()
    if options.engine:
        print(json.dumps(measure(options)))
        return
    runs: dict[str, list[dict[str, float]]] = {engine: [] for engine in ENGINES}
    for _ in range(options.rounds):
        for engine, its in runs.items():
            its.append(run(engine))
    machine, rows = describe_machine(), list[dict[str, Any]]()
    for engine, its in runs.items():
        medians = {name: round(statistics.median(one[name] for one in its), 3) for name in its[0]}
        rows.append(
            {"engine": engine, "version": importlib.metadata.version(engine), "tools": options.tools, **medians}
        )
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0], *machine])
        writer.writeheader()
        writer.writerows(row | machine for row in rows)
    for row in rows:
        print(", ".join(f"{name} {value}" for name, value in row.items()))


def parse_arguments() -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", type=Path, help="a tokenizer.json, such as Llama-3.1's")
    parser.add_argument("--tools", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    return parser.parse_args()


def run(engine: str) -> dict[str, float]:
    """Return the numbers of one round of an engine."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    command = [sys.executable, *sys.argv, "--engine", engine]
    found = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    return json.loads(found.stdout.splitlines()[-1])


def measure(options: argparse.Namespace) -> dict[str, float]:
    """Return the numbers of one engine."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    engine: Engine = {"structgen": Structgen, "xgrammar": Xgrammar, "llguidance": Llguidance}[options.engine](
        tokenizer, options.tokenizer
    )
    engine.compile(tools(20, seed=1))
    engine.masks(tokenizer.encode("Hello.", add_special_tokens=False).ids)
    all_tools, source = tools(options.tools), random.Random(0)
    cold = seconds(lambda: engine.compile(all_tools), time.process_time)
    known = seconds(lambda: engine.compile(all_tools[:0:-1]), time.process_time)
    engine.compile(all_tools)
    chosen = source.sample(all_tools, min(TURNS, len(all_tools)))
    turns = [tokenizer.encode(answer(tool, source), add_special_tokens=False).ids for tool in chosen]
    found: dict[str, float] = {"compile_ms": 1e3 * cold, "compile_known_ms": 1e3 * known, "turns": len(turns)}
    for name in ("", "again_"):
        walked = [engine.masks(turn) for turn in turns]
        masks = 1e6 * np.array([mask for turn, _ in walked for mask in turn])
        found[f"{name}first_mask_ms"] = masks[0] / 1e3
        found[f"{name}mask_us_average"] = float(masks.mean())
        found[f"{name}mask_us_p50"], found[f"{name}mask_us_p99"] = np.percentile(masks, (50, 99)).tolist()
        found[f"{name}mask_us_max"] = float(masks.max())
        found[f"{name}commit_us_average"] = 1e6 * statistics.fmean(commit for _, turn in walked for commit in turn)
    return found


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return how long ``work`` takes."""
    before = clock()
    work()
    return clock() - before


class Engine(ABC):
    """One engine over one tokenizer."""

    @abstractmethod
    def __init__(self, tokenizer: Any, path: Path) -> None: ...

    @abstractmethod
    def compile(self, tools: Sequence[Tool]) -> None:
        """Compile a structural tag of these tools."""

    @abstractmethod
    def begin(self) -> tuple[Callable[[], object], Callable[[int], bool]]:
        """Begin a text: what computes the mask, and what takes a token."""

    def masks(self, turn: Sequence[int]) -> tuple[list[float], list[float]]:
        """Return the seconds of the masks of a text, the one behind it too, and of its tokens."""
        mask, commit = self.begin()
        masks, commits = [seconds(mask)], list[float]()
        for token in turn:
            before = time.perf_counter()
            taken = commit(token)
            commits.append(time.perf_counter() - before)
            if not taken:
                raise ValueError(f"{type(self).__name__} refuses token {len(commits)} of a valid turn")
            masks.append(seconds(mask))
        return masks, commits


def structural_tag(tools: Sequence[Tool]) -> dict[str, Any]:
    """Return the tools as structgen and XGrammar take them."""
    tags = [
        {
            "type": "tag",
            "begin": f"{TRIGGER}{tool['name']}>",
            "content": {"type": "json_schema", "json_schema": tool["parameters"]},
            "end": "</function>",
        }
        for tool in tools
    ]
    return {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": [TRIGGER], "tags": tags}}


class Structgen(Engine):
    """Compiled by `compile_structural_tag`."""

    def __init__(self, tokenizer: Any, path: Path) -> None:
        from structgen.grammars import TokenVocabulary, warm_up

        warm_up()
        self._vocabulary = TokenVocabulary.from_tokenizer(tokenizer)
        self._row = np.zeros((len(self._vocabulary) + 31) // 32, np.int32)

    @override
    def compile(self, tools: Sequence[Tool]) -> None:
        from structgen.grammars import compile_structural_tag

        self._automaton = compile_structural_tag(structural_tag(tools), self._vocabulary)

    @override
    def begin(self) -> tuple[Callable[[], object], Callable[[int], bool]]:
        matcher = self._automaton.matcher()
        state = matcher.start

        def commit(token: int) -> bool:
            nonlocal state
            state = matcher.advance(state, token)
            return state >= 0

        return lambda: matcher.fill_mask(state, self._row), commit


class Xgrammar(Engine):
    """Its compiler on one thread."""

    def __init__(self, tokenizer: Any, path: Path) -> None:
        import xgrammar
        from transformers import PreTrainedTokenizerFast

        info = xgrammar.TokenizerInfo.from_huggingface(PreTrainedTokenizerFast(tokenizer_file=str(path)))
        self._xgrammar, self._compiler = xgrammar, xgrammar.GrammarCompiler(info, max_threads=1)
        self._row = xgrammar.allocate_token_bitmask(1, info.vocab_size)

    @override
    def compile(self, tools: Sequence[Tool]) -> None:
        self._compiled = self._compiler.compile_structural_tag(structural_tag(tools))

    @override
    def begin(self) -> tuple[Callable[[], object], Callable[[int], bool]]:
        matcher = self._xgrammar.GrammarMatcher(self._compiled)
        return lambda: matcher.fill_next_token_bitmask(self._row), matcher.accept_token


class Llguidance(Engine):
    """Its own helper for structural tags."""

    def __init__(self, tokenizer: Any, path: Path) -> None:
        import llguidance
        import llguidance.hf
        from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask
        from transformers import PreTrainedTokenizerFast

        self._llguidance, self._fill = llguidance, fill_next_token_bitmask
        self._tokenizer = llguidance.hf.from_tokenizer(PreTrainedTokenizerFast(tokenizer_file=str(path)))
        self._row = allocate_token_bitmask(1, self._tokenizer.vocab_size)

    @override
    def compile(self, tools: Sequence[Tool]) -> None:
        tags = [
            self._llguidance.StructTag(
                trigger=TRIGGER, begin=f"{TRIGGER}{tool['name']}>", grammar=tool["parameters"], end="</function>"
            )
            for tool in tools
        ]
        self._matcher = self._llguidance.LLMatcher(self._tokenizer, self._llguidance.StructTag.to_grammar(tags))
        if self._matcher.is_error():
            raise ValueError(self._matcher.get_error())

    @override
    def begin(self) -> tuple[Callable[[], object], Callable[[int], bool]]:
        matcher = self._matcher.deep_copy()
        return lambda: self._fill(matcher, self._row, 0), matcher.consume_token


if __name__ == "__main__":
    main()
