"""From a pattern to its automaton."""

from __future__ import annotations

from typing import cast

from typing_extensions import Unpack

from structgen.errors import InvalidGrammar
from structgen.grammars.expr import NEVER, Expr, Rule
from structgen.grammars.limits import Limits
from structgen.grammars.recipe import front_end
from structgen.grammars.regex.determinize import whole_dfa
from structgen.grammars.regex.lower import UndecidedAnchor, lower
from structgen.grammars.regex.python_parser import parse
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.utf8_dfa import utf8_dfa
from structgen.grammars.values import regular
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["compile_regex", "pattern_rule"]


@front_end("regex")
def compile_regex(pattern: str, vocabulary: TokenVocabulary, **limits: Unpack[Limits]) -> TokenAutomaton:
    r"""The automaton of the texts that ``pattern`` matches as a whole: ``re.fullmatch`` on `str`.

    All of Python's `re` syntax but backreferences, conditionals, atomic groups and possessive quantifiers.

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
        or is nested more deeply than Python's own recursion goes; or a limit is passed.
    """
    if not isinstance(cast("object", pattern), str):
        raise InvalidGrammar(f"a pattern is a string, not {type(pattern).__name__}")
    return TokenAutomaton(pattern_rule(pattern), vocabulary)


def pattern_rule(pattern: str) -> Rule:
    """The grammar of `compile_regex`, without a vocabulary; faults of the pattern are found when it is first used."""
    return Rule("the pattern", lambda: _expression(pattern))


def _expression(pattern: str) -> Expr:
    tree = parse(pattern)
    try:
        return lower(tree)
    except UndecidedAnchor:  # what is before or after decides: an automaton remembers it
        dfa = whole_dfa(tree)
        return NEVER if dfa is None else regular(utf8_dfa(dfa))
