"""Tries of large vocabularies on disk, beside the compiled code: a file for each content of tokens."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence

import numpy as np

from structgen._compiled.store import Place, sources_of
from structgen.grammars._trie import build_trie
from structgen.grammars.automaton.walk import Trie

__all__ = ["trie_of"]

_LARGE = 1 << 15
"""With fewer tokens a trie is built in less time than a file takes to check."""


def trie_of(token_bytes: Sequence[bytes]) -> Trie:
    """As `build_trie`, read from disk where it has been built before."""
    if len(token_bytes) < _LARGE:
        return build_trie(token_bytes)
    place = Place(_key_of(token_bytes), "trie")
    content = place.read()
    if content is not None:
        file = io.BytesIO(content)
        return Trie(*(np.load(file, allow_pickle=False) for _ in Trie._fields))
    trie, file = build_trie(token_bytes), io.BytesIO()
    for part in trie:
        np.save(file, part, allow_pickle=False)
    place.write(file.getvalue())
    return trie


def _key_of(token_bytes: Sequence[bytes]) -> str:
    digest = hashlib.sha256(sources_of("structgen.grammars", "_trie.py", "automaton/interiors.py", "automaton/walk.py"))
    digest.update(np.fromiter(map(len, token_bytes), np.int32, len(token_bytes)).tobytes())
    digest.update(b"".join(token_bytes))
    return digest.hexdigest()[:32]
