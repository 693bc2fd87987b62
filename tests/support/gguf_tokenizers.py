"""GGUF fields of tokenizers that exist as a ``tokenizer.json``, as llama.cpp's converters write them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from gguf.constants import TokenType
from gguf_files import tokenizer_fields
from tokenizers import Tokenizer

__all__ = ["byte_level_fields", "sentencepiece_fields", "special_texts"]

_BYTE = re.compile("<0x[0-9A-F]{2}>")
_ADDED_SCORE = -1000.0


def byte_level_fields(tokenizer: Tokenizer, pre: str, **others: object) -> dict[str, object]:
    """Tokens, types and merges of a byte-level BPE."""
    description = json.loads(tokenizer.to_str())
    merges = [" ".join(merge) if isinstance(merge, list) else merge for merge in description["model"]["merges"]]
    tokens, types = _tokens_and_types(description)
    return tokenizer_fields("gpt2", tokens, types, merges=merges, pre=pre, **others)


def sentencepiece_fields(tokenizer: Tokenizer, **others: object) -> dict[str, object]:
    """Tokens, types and scores of a BPE with byte fallback; the scores follow from the order of the merges."""
    description = json.loads(tokenizer.to_str())
    tokens, types = _tokens_and_types(description)
    scores = {}
    for rank, (left, right) in enumerate(description["model"]["merges"]):
        scores.setdefault(left + right, -float(rank))
    lowest = -float(len(description["model"]["merges"]))
    values = [
        _ADDED_SCORE if kind in (TokenType.CONTROL, TokenType.USER_DEFINED) else scores.get(text, lowest - index)
        for index, (text, kind) in enumerate(zip(tokens, types, strict=True))
    ]
    written = [
        text.replace("\u2581", " ") if kind == TokenType.USER_DEFINED else text
        for text, kind in zip(tokens, types, strict=True)
    ]
    return tokenizer_fields("llama", written, types, scores=values, **others)


def special_texts(tokenizer: Tokenizer) -> list[str]:
    """Texts of the added tokens."""
    return [token["content"] for token in json.loads(tokenizer.to_str())["added_tokens"]]


def _tokens_and_types(description: Mapping) -> tuple[list[str], list[TokenType]]:
    """All tokens by id; holes are filled with unused ones."""
    texts = {token: text for text, token in description["model"]["vocab"].items()}
    types = {token: TokenType.BYTE if _BYTE.fullmatch(text) else TokenType.NORMAL for token, text in texts.items()}
    for added in description["added_tokens"]:
        texts[added["id"]] = added["content"]
        types[added["id"]] = TokenType.CONTROL if added["special"] else TokenType.USER_DEFINED
        if added["content"] == description["model"]["unk_token"]:
            types[added["id"]] = TokenType.UNKNOWN
    tokens = range(max(texts) + 1)
    return (
        [texts.get(token, f"[PAD{token}]") for token in tokens],
        [types.get(token, TokenType.UNUSED) for token in tokens],
    )
