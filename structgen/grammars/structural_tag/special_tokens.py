"""The special tokens that a specification names."""

from __future__ import annotations

from collections.abc import Iterable

from structgen.grammars.structural_tag.fields import refuse
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["SpecialTokens"]


class SpecialTokens:
    """Those of a vocabulary that may stand in a text: all but the end tokens.

    Parameters
    ----------
    vocabulary : TokenVocabulary
        The model's tokens.
    """

    def __init__(self, vocabulary: TokenVocabulary) -> None:
        self._vocabulary = vocabulary
        self._by_name = {name: token_id for token_id, name in vocabulary.special_tokens.items()}

    def one(self, given: object, pointer: str) -> int:
        """The id of the token with this id or name.

        Raises
        ------
        InvalidGrammar
            There is none, or it is an end token, or it is text.
        """
        token_id = self._by_name.get(given) if isinstance(given, str) else given
        if not isinstance(token_id, int) or isinstance(token_id, bool):
            refuse(pointer, f"{given!r} is no special token of the vocabulary; a text is written as a string")
        if self._vocabulary.is_end(token_id):
            refuse(pointer, f"{given!r} is an end token: it ends the whole answer, and cannot stand inside")
        if token_id not in self._vocabulary.special_tokens:
            refuse(pointer, f"token {token_id} is no special token of the vocabulary; text is written as a string")
        return token_id

    def several(self, given: Iterable[tuple[object, str]]) -> list[int]:
        """The same of several, each with its pointer."""
        return [self.one(token, pointer) for token, pointer in given]

    def others(self, excluded: Iterable[int]) -> tuple[int, ...]:
        """The ids of all but these."""
        left_out = {*excluded, *self._vocabulary.eos_token_ids}
        return tuple(token_id for token_id in self._vocabulary.special_tokens if token_id not in left_out)

    def name(self, token_id: int) -> str:
        """What the token is called."""
        return self._vocabulary.special_tokens[token_id]
