"""TokenVocabulary: what a model's tokens spell, and what is computed once for all its grammars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structgen.grammars._token_bytes import read_tokens
from structgen.grammars._trie_files import trie_of
from structgen.grammars.automaton._jit import Int32Array, Int64Array
from structgen.grammars.automaton.facts import Lengths
from structgen.grammars.automaton.interior_store import InteriorStore
from structgen.grammars.automaton.walk import Trie
from structgen.grammars.mask_pool import MaskPool

__all__ = ["TokenVocabulary"]

_MASK_BYTES = 32 << 20


class TokenVocabulary:
    """The tokens of one model.

    A token is text (it has bytes), an end token, or special. Special and end tokens are symbols of their own: their
    names are never text, and no text is ever one of them. An id with no token is never allowed.

    Parameters
    ----------
    token_bytes : sequence of bytes
        By token id; empty for special tokens and ids without a token.
    eos_token_ids : sequence of int
        The tokens that end a text. Their bytes, if any, are not text.
    special_tokens : dict[int, str], optional
        Names of the special tokens by id.
    mask_slots : int, optional
        Rows of `masks`; by default as many as 32 MiB hold.

    Raises
    ------
    ValueError
        An end or special token id is out of range.
    """

    def __init__(
        self,
        token_bytes: Sequence[bytes],
        eos_token_ids: Sequence[int],
        special_tokens: dict[int, str] | None = None,
        mask_slots: int | None = None,
    ) -> None:
        spelled = list(token_bytes)
        self.eos_token_ids: tuple[int, ...] = tuple(dict.fromkeys(int(one) for one in eos_token_ids))
        """The tokens that end a text."""
        self.special_tokens: dict[int, str] = dict(special_tokens or {})
        """Names of the special tokens by id."""
        for token_id in (*self.eos_token_ids, *self.special_tokens):
            if not 0 <= token_id < len(spelled):
                raise ValueError(f"token id {token_id} is not in a vocabulary of {len(spelled)} tokens")
            spelled[token_id] = b""
        self._bytes = tuple(spelled)  # Python's collector of garbage passes by what is nothing but a tuple of bytes
        self._end_tokens = frozenset(self.eos_token_ids)
        self._trie = trie_of(self._bytes)
        self._lengths = _measure(self._bytes, self._trie)
        self._interiors = InteriorStore(self._trie, self.eos_token_ids)
        self.end_row: Int32Array = self._row(self.eos_token_ids)
        """The mask of the end tokens, int32[ceil(V/32)]."""
        texts = np.flatnonzero(np.diff(self._trie.starts))
        everything = self._row([*self.eos_token_ids, *self.special_tokens]) | self._row(texts)
        slots = mask_slots or max(64, _MASK_BYTES // max(1, everything.nbytes))
        self.masks: MaskPool = MaskPool(everything, slots)
        """The masks of every grammar over this vocabulary."""

    @classmethod
    def from_tokenizer(
        cls,
        tokenizer: Any,
        *,
        eos_token_ids: Sequence[int] | None = None,
        size: int | None = None,
        mask_slots: int | None = None,
    ) -> TokenVocabulary:
        """The vocabulary of a fast ``transformers`` tokenizer or a ``tokenizers.Tokenizer``.

        Parameters
        ----------
        tokenizer : object
            Byte-level BPE, or SentencePiece-style with byte fallback.
        eos_token_ids : sequence of int, optional
            By default the tokenizer's own; where it names none, its special tokens with well-known names of ends.
        size : int, optional
            Width of the model's logits where that is more than the tokenizer has tokens.

        Raises
        ------
        UnsupportedModel
            The tokens do not stand for fixed bytes.
        """
        table = read_tokens(tokenizer, None if eos_token_ids is None else list(eos_token_ids))
        width = max(size or 0, len(table.text))
        text = table.text + [b""] * (width - len(table.text))
        return cls(text, table.eos_token_ids, table.special, mask_slots)

    @classmethod
    def from_bytes(
        cls, token_bytes: Sequence[bytes], eos_token_ids: Sequence[int], *, mask_slots: int | None = None
    ) -> TokenVocabulary:
        """The vocabulary whose token ``i`` spells ``token_bytes[i]``; an empty one is no text."""
        return cls(token_bytes, eos_token_ids, None, mask_slots)

    def __len__(self) -> int:
        """Number of token ids, the width of a mask in bits."""
        return len(self._bytes)

    def __repr__(self) -> str:
        return f"TokenVocabulary({len(self):,} tokens, {len(self._trie) - 1:,} trie nodes)"

    def token_bytes(self, token_id: int) -> bytes:
        """What ``token_id`` spells; ``b""`` for special and end tokens and ids without a token."""
        if token_id < 0:
            raise IndexError(f"token id {token_id} is negative")
        return self._bytes[token_id]

    def decode(self, token_ids: Sequence[int]) -> bytes:
        """What the tokens spell one after the other."""
        return b"".join(self.token_bytes(token_id) for token_id in token_ids)

    def is_end(self, token_id: int) -> bool:
        """Whether ``token_id`` ends a text."""
        return token_id in self._end_tokens

    @property
    def trie(self) -> Trie:
        """The trie of the tokens that are text."""
        return self._trie

    @property
    def interiors(self) -> InteriorStore:
        """What the grammars over this vocabulary share."""
        return self._interiors

    @property
    def lengths(self) -> Lengths:
        """What the analysis of a grammar needs to know of the tokens."""
        return self._lengths

    def _row(self, tokens: Sequence[int] | Int64Array) -> Int32Array:
        """The mask of ``tokens``, int32[ceil(V/32)]."""
        there = np.zeros(32 * ((len(self._bytes) + 31) // 32), np.bool_)
        there[np.asarray(tokens, np.int64)] = True
        return np.frombuffer(np.packbits(there, bitorder="little").tobytes(), np.int32)


def _measure(token_bytes: Sequence[bytes], trie: Trie) -> Lengths:
    texts = dict.fromkeys(token_bytes)  # no set: the collector of garbage looks through it, which takes 50 ms
    texts.pop(b"", None)
    single = sum(1 << byte for byte in range(256) if bytes([byte]) in texts)
    lengths = np.diff(trie.starts)
    begins = trie.starts[:-1][lengths > 1]
    pairs = trie.text[begins].astype(np.int64) << 8 | trie.text[begins + 1]
    longest = np.zeros(1 << 16, np.int32)
    np.maximum.at(longest, pairs, lengths[lengths > 1])
    reach = {pair.to_bytes(2, "big"): int(longest[pair]) for pair in np.flatnonzero(longest).tolist()}
    return Lengths(int(lengths.max(initial=0)), texts.__contains__, single, reach.get, {})
