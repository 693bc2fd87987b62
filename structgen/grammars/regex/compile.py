"""From a pattern to its automaton."""

from __future__ import annotations

from typing import cast

from typing_extensions import Unpack

from structgen.errors import InvalidGrammar
from structgen.grammars.expr import Rule
from structgen.grammars.limits import Limits
from structgen.grammars.recipe import front_end
from structgen.grammars.regex.lower import lower
from structgen.grammars.regex.python_parser import parse
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["compile_regex"]


@front_end("regex")
def compile_regex(pattern: str, vocabulary: TokenVocabulary, **limits: Unpack[Limits]) -> TokenAutomaton:
    r"""The automaton of the texts that ``pattern`` matches as a whole: ``re.fullmatch`` on `str`.

    All of Python's `re` syntax but backreferences, lookaround, ``\b`` and ``\B``, conditionals, atomic groups and
    possessive quantifiers. The anchors ``^ $ \A \Z`` are held exactly where the pattern alone says whether they hold.

    A text is UTF-8, so no lone surrogate matches, not even ``.``.

    Parameters
    ----------
    pattern : str
        As for `re.compile`, flags inside: ``(?i)yes|no``.
    vocabulary : TokenVocabulary
        The model's tokens.
    **limits
        On time, states and memory; see `Limits`.

    Raises
    ------
    InvalidGrammar
        The pattern is no string.
    InvalidRegex
        The pattern is malformed, with Python's own message, or uses what cannot be held; the message names the
        construct and its position.
    EmptyLanguage
        No text matches.
    GrammarLimitExceeded
        The pattern has more than 100,000 symbols (bytes, or characters of classes) with its repetitions written out,
        or is nested more deeply than Python's own recursion goes; or
        a limit is passed.
    """
    if not isinstance(cast("object", pattern), str):
        raise InvalidGrammar(f"a pattern is a string, not {type(pattern).__name__}")
    return TokenAutomaton(Rule("the pattern", lambda: lower(parse(pattern))), vocabulary)
