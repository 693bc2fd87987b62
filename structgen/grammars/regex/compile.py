"""From a pattern to its automaton."""

from __future__ import annotations

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.expr import Rule
from structgen.grammars.regex.lower import lower
from structgen.grammars.regex.parser import parse
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["compile_regex"]


def compile_regex(pattern: str, vocabulary: TokenVocabulary) -> TokenAutomaton:
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

    Raises
    ------
    InvalidRegex
        The pattern is malformed, with Python's own message, or uses what cannot be held; the message names the
        construct and its position.
    EmptyLanguage
        No text matches.
    GrammarLimitExceeded
        The pattern has more than 100,000 symbols (bytes, or characters of classes) with its repetitions written out,
        or is nested more deeply than Python's own recursion goes.
    """
    try:
        expr = lower(parse(pattern))
        return TokenAutomaton(Rule("regex", lambda: expr), vocabulary)
    except RecursionError as error:
        raise GrammarLimitExceeded(
            "the pattern is nested too deeply; write it with fewer groups inside groups"
        ) from error
