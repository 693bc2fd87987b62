"""Many answers through one automaton: time and memory, which must stay as they are.

    python benchmarks/answers.py [--tokenizer smollm2-135m] [--answers 1000000] [--max-bytes 67108864]

Each answer is walked byte by byte with one mask in it, in an object with a key that there has never been, the dearest
case: such keys stay in the tables until these are begun anew. Prints a line for every tenth of the answers.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from machine import describe_machine
from stress import read_vocabulary

from structgen.grammars import TokenAutomaton, TokenVocabulary, compile_json_schema

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "year": {"type": "integer"}},
    "required": ["name"],
    "additionalProperties": {"type": "integer"},
}


def resident_bytes() -> int:
    """Return how much memory this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def answer(automaton: TokenAutomaton, number: int, row: np.ndarray) -> None:
    """Read one answer, with a mask in it."""
    with automaton.matcher() as matcher:
        state = matcher.advance_bytes(matcher.start, b'{"name": "%x", "year": %d, ' % (number, number % 3000))
        matcher.fill_mask(state, row)
        state = matcher.advance_bytes(state, b'"key %d": %d}' % (number, number % 7))
        if not matcher.is_accepting(state):
            raise AssertionError(f"answer {number} is not accepted")


def run(vocabulary: TokenVocabulary, answers: int, max_bytes: int) -> None:
    """Read so many answers and print what they take."""
    automaton = compile_json_schema(SCHEMA, vocabulary, max_bytes=max_bytes)
    row, begin = np.zeros((len(vocabulary) + 31) // 32, np.int32), time.process_time()
    for number in range(answers):
        answer(automaton, number, row)
        if (number + 1) % max(1, answers // 10) == 0:
            now, stats = time.process_time(), automaton.stats()
            print(
                f"{number + 1:>10,} answers: {(now - begin) / max(1, answers // 10) * 1e6:6.1f} us each, "
                f"resident {resident_bytes() / 2**20:6.1f} MB, tables {automaton.nbytes / 2**20:5.1f} MB, "
                f"begun anew {stats.generations} times",
                flush=True,
            )
            begin = time.process_time()


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", default="smollm2-135m", help="tokenizer.json, or alias or path of a model")
    parser.add_argument("--answers", type=int, default=1_000_000)
    parser.add_argument("--max-bytes", type=int, default=64 << 20, help="limit on the automaton's tables")
    arguments = parser.parse_args()
    vocabulary = read_vocabulary(arguments.tokenizer)
    print(*(f"{name}: {value}" for name, value in describe_machine().items()), vocabulary, sep="\n")
    run(vocabulary, arguments.answers, arguments.max_bytes)


if __name__ == "__main__":
    main()
