"""Vocabularies whose first tokens are the bytes, and what masks over them say."""

from __future__ import annotations

import numpy as np

from structgen.grammars import DEAD, TokenAutomaton, TokenVocabulary

BYTES = [bytes([byte]) for byte in range(256)]
END = 256


def bytewise(*pieces: bytes, mask_slots: int | None = None) -> TokenVocabulary:
    """Token ``i`` is the byte ``i``, token 256 the end; ``pieces`` follow."""
    return TokenVocabulary.from_bytes([*BYTES, b"", *pieces], [END], mask_slots=mask_slots)


def allowed(row: np.ndarray) -> set[int]:
    """The tokens of a mask, int32[ceil(V/32)]."""
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


def read_by_bytes(automaton: TokenAutomaton, text: bytes) -> bool:
    """Whether ``text`` is whole, read token by token through a matcher of its own."""
    with automaton.matcher() as matcher:
        state = matcher.start
        for byte in text:
            state = matcher.advance(state, byte)
            if state == DEAD:
                return False
        return matcher.is_accepting(state)
