"""Vocabularies whose first tokens are the bytes, and texts that are read and drawn token by token."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np

from structgen.grammars import DEAD, TokenAutomaton, TokenVocabulary

BYTES = [bytes([byte]) for byte in range(256)]
END = 256


def bytewise(*pieces: bytes, mask_slots: int | None = None) -> TokenVocabulary:
    """Token ``i`` is the byte ``i``, token 256 the end; ``pieces`` follow."""
    return TokenVocabulary.from_bytes([*BYTES, b"", *pieces], [END], mask_slots=mask_slots)


def longest_first(text: bytes, vocabulary: TokenVocabulary) -> list[int]:
    """The tokens that take the longest piece each time, from the left."""
    numbers = {vocabulary.token_bytes(token): token for token in range(len(vocabulary))}
    longest, place, found = max(map(len, numbers)), 0, []
    while place < len(text):
        pieces = (text[place : place + size] for size in range(longest, 0, -1))
        piece = next(piece for piece in pieces if piece in numbers)
        found.append(numbers[piece])
        place += len(piece)
    return found


def allowed(row: np.ndarray) -> set[int]:
    """The tokens of a mask, int32[ceil(V/32)]."""
    return set(_tokens_of(row).tolist())


def _tokens_of(row: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))


def reads(automaton: TokenAutomaton, tokens: Iterable[int]) -> bool:
    """Whether a matcher of its own takes ``tokens`` and may end after them; of `bytewise`, bytes are tokens."""
    with automaton.matcher() as matcher:
        state = matcher.start
        for token in tokens:
            state = matcher.advance(state, token)
            if state == DEAD:
                return False
        return matcher.is_accepting(state)


def drawn_text(automaton: TokenAutomaton, source: random.Random, free: int, limit: int = 400) -> bytes:
    """A text of random tokens that the masks allow; after ``free`` of them it goes straight to an end."""
    vocabulary, text = automaton.vocabulary, bytearray()
    row = np.empty((len(vocabulary) + 31) // 32, np.int32)
    with automaton.matcher() as matcher:
        state = matcher.start
        for step in range(limit):
            if step < free:
                matcher.fill_mask(state, row)
            else:
                matcher.fill_mask_within(state, row, max(0, matcher.distance(state) - 1))
            token = int(source.choice(_tokens_of(row)))
            if token in vocabulary.eos_token_ids:
                return bytes(text)
            state = matcher.advance(state, token)
            assert state != DEAD
            text += vocabulary.token_bytes(token)
            if step >= free and matcher.is_accepting(state):
                return bytes(text)
    raise AssertionError(f"no end within {limit} tokens: {text!r}")
