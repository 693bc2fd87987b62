"""The documented contract of a llama-cpp-python logits processor: (input_ids, logits) -> logits, prompt included."""

from __future__ import annotations

import numpy as np
import pytest

from structgen.adapters.llama_cpp import LlamaLogitsProcessor
from structgen.grammars import compile_choice, compile_json_schema

PROMPT = [1, 2, 3]


def generate(processor, logits: np.ndarray, end: int, limit: int = 60) -> list[int]:
    """As `Llama.generate` does at temperature 0, with logits that it hands over as a field of an array of records."""
    ids = list(PROMPT)
    candidates = np.zeros(len(logits), np.dtype([("id", np.intc), ("logit", np.single), ("p", np.single)], align=True))
    candidates["id"] = np.arange(len(logits))
    for _ in range(limit):
        candidates["logit"] = logits
        candidates["logit"][:] = processor(np.array(ids, np.intc), candidates["logit"])
        token = int(candidates["id"][candidates["logit"].argmax()])
        if token == end:
            return ids[len(PROMPT) :]
        ids.append(token)
    raise AssertionError(f"no end within {limit} tokens")


@pytest.mark.parametrize("seed", range(5))
def test_what_is_generated_is_of_the_grammar(letters, seed):
    automaton = compile_json_schema({"enum": ["ab", {"yes": "no"}, 17]}, letters)
    logits = np.random.default_rng(seed).normal(size=len(letters) + 40).astype(np.single)
    found = generate(LlamaLogitsProcessor(automaton), logits, letters.eos_token_ids[0])
    assert automaton.accepts(letters.decode(found))


def test_ids_beyond_the_vocabulary_are_never_allowed_and_logits_are_kept(letters):
    logits = np.arange(len(letters) + 40, dtype=np.single)
    before = logits.copy()
    found = LlamaLogitsProcessor(compile_choice(["yes", "no"], letters))(np.array(PROMPT, np.intc), logits)
    allowed = np.flatnonzero(np.isfinite(found))
    assert {letters.token_bytes(token) for token in allowed} == {b"y", b"yes", b"n", b"no"}
    assert np.array_equal(found[allowed], logits[allowed])
    assert found.dtype == np.single
    assert np.array_equal(logits, before)


def test_the_next_completion_starts_anew(letters):
    processor = LlamaLogitsProcessor(compile_choice(["yes", "no"], letters))
    logits = np.linspace(1, 0, len(letters), dtype=np.single)
    first = generate(processor, logits, letters.eos_token_ids[0])
    assert first == generate(processor, logits, letters.eos_token_ids[0])
