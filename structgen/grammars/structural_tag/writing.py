"""What writes a format: it reads the kind, and leaves the rest to the function of that kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from structgen.grammars.expr import Expr, sequence
from structgen.grammars.limits import checkpoint
from structgen.grammars.structural_tag.bodies import Bodies
from structgen.grammars.structural_tag.fields import Fields, refuse
from structgen.grammars.structural_tag.regions import NO_ENDS, Ends
from structgen.grammars.structural_tag.special_tokens import SpecialTokens
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["Context", "FormatWriter", "WriteFormat", "Written"]


class Written(NamedTuple):
    """A format as an expression."""

    expr: Expr
    has_end: bool = False
    """Whether the end of the tag around it is part of it: its prose must look out for that itself."""


@dataclass(frozen=True)
class Context:
    """Where a format stands."""

    ends: Ends = NO_ENDS
    """Of the innermost tag around it."""
    is_last: bool = True
    """Whether one of these follows at once."""


WriteFormat = Callable[["FormatWriter", Fields, Context], Written]
"""Writes the formats of one kind; takes all fields that the kind has."""


class FormatWriter:
    """Writes the formats of one specification.

    Parameters
    ----------
    vocabulary : TokenVocabulary
        The model's tokens.
    kinds : mapping of str to WriteFormat
        What writes each kind.
    refused : mapping of str to str
        Kinds that are known and not supported, and why.

    Attributes
    ----------
    bodies : Bodies
        Schemas, patterns and grammars as rules.
    tokens : SpecialTokens
        Those of the vocabulary.
    """

    def __init__(
        self, vocabulary: TokenVocabulary, kinds: Mapping[str, WriteFormat], refused: Mapping[str, str]
    ) -> None:
        self.bodies, self.tokens = Bodies(vocabulary), SpecialTokens(vocabulary)
        self._kinds, self._refused = kinds, refused
        self._written: dict[tuple[str, Context], Written] = {}

    def write(self, value: object, pointer: str, context: Context) -> Written:
        """The format that stands at a place of the specification, written once for each context.

        Raises
        ------
        InvalidGrammar
            It is no format, or one that is not supported; the message has the JSON pointer.
        GrammarError
            As the front ends of its parts raise it.
        """
        written = self._written.get((pointer, context))
        if written is None:
            written = self._written[pointer, context] = self._write(Fields(value, pointer), context)
        return written

    def _write(self, fields: Fields, context: Context) -> Written:
        checkpoint()
        kind = fields.text("type")
        if kind in self._refused:
            refuse(fields.at("type"), f"{kind!r} is not supported: {self._refused[kind]}")
        if kind not in self._kinds:
            refuse(fields.at("type"), f"there is no format {kind!r}; there is {', '.join(self._kinds)}")
        written = self._kinds[kind](self, fields, context)
        fields.done(f"a format {kind}")
        return written

    def write_ended(self, value: object, pointer: str, ends: Ends) -> Expr:
        """The same with one of ``ends`` behind it."""
        written = self.write(value, pointer, Context(ends))
        return written.expr if written.has_end else sequence(written.expr, ends.expr)
