"""What each token of a tokenizer spells, read from a ``tokenizers`` or ``transformers`` object.

A token's bytes are what it adds to a text in the middle of it. The tokenizer's own decoder cannot say: it joins,
cleans and drops a leading space.
"""

from __future__ import annotations

import re
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
    names: dict[str, int] = backend.get_vocab(with_added_tokens=True)
    text = [b""] * (max(names.values(), default=-1) + 1)
    special: dict[int, str] = {}
    for name, token_id in names.items():
        token = added.get(token_id)
        if token is None:
            text[token_id] = spell(name)
        elif token.special:
            special[token_id] = name
        else:
            text[token_id] = name.encode()
    ends = eos_token_ids if eos_token_ids is not None else _end_tokens(tokenizer, special)
    return TokenTable(text, special, ends)


def _end_tokens(tokenizer: Any, special: dict[int, str]) -> list[int]:
    declared = getattr(tokenizer, "eos_token_id", None)
    if declared is not None:
        return [declared]
    return [token_id for token_id, name in special.items() if name in END_TOKENS]


def _speller(backend: Any) -> Any:
    """The function from a token's name to its bytes."""
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


def _spell_byte_level(name: str) -> bytes:
    try:
        return name.translate(_ALPHABET).encode("latin-1")
    except UnicodeEncodeError:  # not in the alphabet: a token that stands for its own text
        return name.encode()


def _spell_sentencepiece(name: str) -> bytes:
    byte = _BYTE_TOKEN.fullmatch(name)
    return bytes([int(byte[1], 16)]) if byte else name.replace(_SPACE_MARK, " ").encode()
