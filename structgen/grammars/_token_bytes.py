"""What each token of a tokenizer spells, read from a ``tokenizers`` or ``transformers`` object.

A token's bytes are what it adds to a text in the middle of it. The tokenizer's own decoder cannot say: it joins,
cleans and drops a leading space.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from structgen.errors import UnsupportedModel

__all__ = ["END_TOKENS", "TokenTable", "read_tokens"]

END_TOKENS = frozenset(
    {
        "</s>",
        "<eos>",
        "<end_of_turn>",
        "<end_of_utterance>",
        "<|end|>",
        "<|end_of_text|>",
        "<|endoftext|>",
        "<|eom_id|>",
        "<|eot_id|>",
        "<|im_end|>",
        "<|return|>",
        "<｜end▁of▁sentence｜>",  # noqa: RUF001 - DeepSeek writes it so
    }
)
"""Names that end a turn or a text, for tokenizers that do not say which of their tokens does, or not all of them."""

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_BYTE_NAME = b"<0x"
_SPACE_MARK = "\u2581"


class TokenTable(NamedTuple):
    """The tokens of a tokenizer."""

    text: list[bytes]
    """By token id; ``b""`` for special tokens and ids without a token."""
    special: dict[int, str]
    """The special tokens' names, by id."""
    eos_token_ids: list[int]


def read_tokens(tokenizer: Any, eos_token_ids: list[int] | None) -> TokenTable:
    """The tokens of a fast ``transformers`` tokenizer or a ``tokenizers.Tokenizer``.

    Raises
    ------
    UnsupportedModel
        Neither of these, or its tokens do not stand for fixed bytes (WordPiece, say).
    """
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not hasattr(backend, "get_added_tokens_decoder"):
        raise UnsupportedModel(
            f"a {type(tokenizer).__name__} cannot tell its tokens' bytes; "
            "pass a fast transformers tokenizer or a tokenizers.Tokenizer, or use TokenVocabulary.from_bytes"
        )
    added: dict[int, Any] = backend.get_added_tokens_decoder()
    spell = _speller(backend)
    names = _names_of(backend, max(added, default=-1))
    special = {token_id: names[token_id] for token_id, token in added.items() if token.special}
    plain = {token_id: names[token_id].encode() for token_id, token in added.items() if not token.special}
    for token_id in added:
        names[token_id] = ""
    text = spell(names)
    for token_id, spelled in plain.items():
        text[token_id] = spelled
    ends = eos_token_ids if eos_token_ids is not None else _end_tokens(tokenizer, special)
    return TokenTable(text, special, ends)


def _names_of(backend: Any, last_added: int) -> list[str]:
    """By token id; ``""`` for ids without a token."""
    size = backend.get_vocab_size(with_added_tokens=True)
    names: list[Any] = list(map(backend.id_to_token, range(size)))  # which takes half as long as what follows
    if None not in names and last_added < size:
        return names
    numbers: dict[str, int] = backend.get_vocab(with_added_tokens=True)
    names = [""] * (max(numbers.values(), default=-1) + 1)
    for name, token_id in numbers.items():
        names[token_id] = name
    return names


def _end_tokens(tokenizer: Any, special: dict[int, str]) -> list[int]:
    declared = getattr(tokenizer, "eos_token_id", None)
    if declared is not None:
        return [declared]
    return [token_id for token_id, name in special.items() if name in END_TOKENS]


def _speller(backend: Any) -> Callable[[list[str]], list[bytes]]:
    """The function from tokens' names to their bytes; an empty name is no text."""
    state = backend.decoder.__getstate__().decode() if backend.decoder is not None else ""
    before = backend.pre_tokenizer.__getstate__().decode() if backend.pre_tokenizer is not None else ""
    if '"ByteLevel"' in state or (not state and '"ByteLevel"' in before):
        return _spell_byte_level
    if '"ByteFallback"' in state or '"Metaspace"' in state or _SPACE_MARK in state:
        return _spell_sentencepiece
    raise UnsupportedModel(
        f"tokens of this {type(backend.model).__name__} tokenizer do not stand for fixed bytes "
        "(byte-level and SentencePiece-style tokenizers do); use TokenVocabulary.from_bytes"
    )


def _byte_level_alphabet() -> dict[int, int]:
    """GPT-2's spelling of bytes as printable characters: code point to byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in set(printable)]
    return {byte: byte for byte in printable} | {256 + place: byte for place, byte in enumerate(hidden)}


_ALPHABET = _byte_level_alphabet()


def _spell_byte_level(names: list[str]) -> list[bytes]:
    try:
        whole = "".join(names).translate(_ALPHABET).encode("latin-1")
    except UnicodeEncodeError:  # some are not in the alphabet: tokens that stand for their own text
        return [_spell_one(name) for name in names]
    ends = itertools.accumulate(map(len, names))
    return [whole[begin:end] for begin, end in itertools.pairwise(itertools.chain((0,), ends))]


def _spell_one(name: str) -> bytes:
    try:
        return name.translate(_ALPHABET).encode("latin-1")
    except UnicodeEncodeError:
        return name.encode()


def _spell_sentencepiece(names: list[str]) -> list[bytes]:
    whole = "\0".join(names).replace(_SPACE_MARK, " ").encode().split(b"\0")
    if len(whole) != len(names):  # some have such a byte
        whole = [name.replace(_SPACE_MARK, " ").encode() for name in names]
    for token_id in [place for place, name in enumerate(whole) if name[:3] == _BYTE_NAME]:
        byte = _BYTE_TOKEN.fullmatch(names[token_id])
        if byte is not None:
            whole[token_id] = bytes([int(byte[1], 16)])
    return whole
