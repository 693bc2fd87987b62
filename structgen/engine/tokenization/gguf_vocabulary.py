"""The tokenizer inside a GGUF file: the ``tokenizer.ggml.*`` fields."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from gguf.constants import TokenType
from tokenizers import AddedToken, Tokenizer
from tokenizers.processors import TemplateProcessing

from structgen.engine.tokenization.byte_level import byte_level_tokenizer
from structgen.engine.tokenization.pre_tokenization import PRE_TOKENIZATIONS, PreTokenization
from structgen.engine.tokenization.sentencepiece import SPACE, merges_from_scores, sentencepiece_tokenizer
from structgen.errors import InvalidModelFile, UnsupportedModel
from structgen.grammars._token_bytes import END_TOKENS

__all__ = ["GgufVocabulary"]

_PREFIX = "tokenizer.ggml."
_SPECIAL = (TokenType.CONTROL, TokenType.UNKNOWN)
_ENDS = ("eos", "eot", "eom")


class GgufVocabulary:
    """Tokens, their kinds and their merges, as a file's metadata has them; nothing is built before it is asked for.

    Parameters
    ----------
    fields : Mapping[str, object]
        The metadata of :class:`~structgen.engine.weights.gguf_file.GgufFile`.
    origin : str
        The file's name, for error messages.
    """

    def __init__(self, fields: Mapping[str, object], origin: str) -> None:
        self._fields = fields
        self._origin = origin

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer, its ids those of the model's original one.

        Raises
        ------
        InvalidModelFile
            The file has no tokenizer, or one that contradicts itself.
        UnsupportedModel
            A kind of tokenizer, or a way of splitting text, that is not known.
        """
        if not self._tokens:
            raise InvalidModelFile(f"{self._origin}: the file holds no tokenizer; get one that was converted with it")
        builders = {"gpt2": self._byte_level, "llama": self._sentencepiece}
        builder = builders.get(self._kind)
        if builder is None:
            raise UnsupportedModel(
                f"{self._origin}: tokenizer.ggml.model is {self._kind!r}; gpt2 and llama can be read; "
                "use the model's Hugging Face folder instead"
            )
        tokenizer = builder()
        tokenizer.add_tokens(self._added_tokens())
        around = self._around()
        if around is not None:
            tokenizer.post_processor = around
        return tokenizer

    @property
    def bos_token_id(self) -> int | None:
        """The token that begins a text."""
        return self._token_id("bos")

    @cached_property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The ends that the file names, one or two, then control tokens that are ends by their well-known names."""
        named = [self._token_id(name) for name in _ENDS]
        known = [
            token
            for token, text in enumerate(self._tokens)
            if text in END_TOKENS and self._types[token] == TokenType.CONTROL
        ]
        return tuple(dict.fromkeys(token for token in [*named, *known] if token is not None))

    @cached_property
    def special_tokens(self) -> dict[str, str]:
        """Texts of the named special tokens, by the variables that chat templates have for them."""
        named = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}
        ids = {variable: self._token_id(name) for variable, name in named.items()}
        return {variable: self._tokens[token] for variable, token in ids.items() if token is not None}

    def _byte_level(self) -> Tokenizer:
        pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in self._strings("merges"))]
        known = self._vocabulary
        for left, right in pairs:  # tokenizers would panic, which no `except Exception` catches
            if not (left in known and right in known and left + right in known):
                raise self._broken("merges", f"joins {left!r} and {right!r}, and one of them or the whole is no token")
        return byte_level_tokenizer(self._vocabulary, pairs, self._pre_tokenization)

    def _sentencepiece(self) -> Tokenizer:
        for option in ("precompiled_charsmap", "remove_extra_whitespaces"):
            value = self._fields.get(_PREFIX + option, False)
            if value is not False:
                raise UnsupportedModel(f"{self._origin}: the tokenizer rewrites text by {option}, which is not known")
        values, types = self._numbers("scores").tolist(), self._types
        apart = {TokenType.BYTE, TokenType.CONTROL, TokenType.UNKNOWN}
        pieces = {text: token for text, token in self._vocabulary.items() if types[token] not in apart}
        scores = {text: values[token] for text, token in pieces.items() if types[token] != TokenType.USER_DEFINED}
        unknown = self._token_id("unknown")
        if unknown is not None and types[unknown] == TokenType.UNUSED:
            raise self._broken("unknown_token_id", "names a token that is marked unused")
        return sentencepiece_tokenizer(
            self._vocabulary,
            merges_from_scores(pieces, scores),
            unknown=None if unknown is None else self._tokens[unknown],
            add_space_prefix=self._flag("add_space_prefix", True),
        )

    def _added_tokens(self) -> list[AddedToken]:
        """Tokens that are cut out of text before anything else."""
        named = {self._token_id(name) for name in ("bos", *_ENDS)}
        special = [kind in _SPECIAL or token in named for token, kind in enumerate(self._types)]
        return [
            AddedToken(text, special=special[token], normalized=False)
            for token, text in enumerate(self._tokens)
            if special[token] or self._types[token] == TokenType.USER_DEFINED
        ]

    def _around(self) -> TemplateProcessing | None:
        """Put the beginning and the end of text around what is encoded, where the model wants them."""
        ids = {
            "bos": self._token_id("bos") if self._flag("add_bos_token", self._adds_bos) else None,
            "eos": self._token_id("eos") if self._flag("add_eos_token", False) else None,
        }
        tokens = [{"id": name, "ids": [i], "tokens": [self._tokens[i]]} for name, i in ids.items() if i is not None]
        parts = [name for name, wanted in (("bos", ids["bos"]), ("$A", 0), ("eos", ids["eos"])) if wanted is not None]
        return TemplateProcessing(single=parts, special_tokens=tokens) if tokens else None

    @property
    def _kind(self) -> str:
        return str(self._fields.get(f"{_PREFIX}model"))

    @property
    def _adds_bos(self) -> bool:
        return self._kind == "llama" or self._pre_tokenization.adds_bos

    @property
    def _pre_tokenization(self) -> PreTokenization:
        name = self._fields.get(f"{_PREFIX}pre", "default")
        found = PRE_TOKENIZATIONS.get(str(name))
        if found is None:
            raise UnsupportedModel(
                f"{self._origin}: tokenizer.ggml.pre is {name!r}, a splitting of text that is not known here; "
                f"known are {', '.join(PRE_TOKENIZATIONS)}; use the model's Hugging Face folder instead"
            )
        return found

    @cached_property
    def _tokens(self) -> list[str]:
        """All tokens; SentencePiece's runs of spaces as its other pieces write them (converters unescape them)."""
        tokens = self._strings("tokens")
        if self._kind != "llama":
            return tokens
        return [SPACE * len(text) if text and not text.strip(" ") else text for text in tokens]

    @cached_property
    def _types(self) -> list[int]:
        key = "token_type"
        return self._numbers(key).tolist() if _PREFIX + key in self._fields else [TokenType.NORMAL] * len(self._tokens)

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        """Ids of the tokens; those marked unused only fill a place in the embedding."""
        return {text: token for token, text in enumerate(self._tokens) if self._types[token] != TokenType.UNUSED}

    def _strings(self, key: str) -> list[str]:
        value = self._fields.get(_PREFIX + key, [])
        if isinstance(value, list):
            return value
        raise self._broken(key, "is not an array of strings")

    def _numbers(self, key: str) -> np.ndarray:
        """One number for each token."""
        value = self._fields.get(_PREFIX + key)
        if isinstance(value, np.ndarray) and len(value) == len(self._tokens):
            return value
        raise self._broken(key, f"is not an array of {len(self._tokens)} numbers, one for each token")

    def _flag(self, key: str, default: bool) -> bool:
        value = self._fields.get(_PREFIX + key, default)
        if isinstance(value, bool):
            return value
        raise self._broken(key, f"is {value!r} and not a boolean")

    def _token_id(self, name: str) -> int | None:
        key = f"{name}_token_id"
        value = self._fields.get(_PREFIX + key)
        if value is None or (isinstance(value, int) and 0 <= value < len(self._tokens)):
            return value
        raise self._broken(key, f"is {value!r} and not one of the {len(self._tokens)} tokens")

    def _broken(self, key: str, why: str) -> InvalidModelFile:
        return InvalidModelFile(f"{self._origin}: {_PREFIX}{key} {why}; the tokenizer is broken, get the file again")
