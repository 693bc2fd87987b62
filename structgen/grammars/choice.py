"""One text out of several."""

from __future__ import annotations

from collections.abc import Sequence

from structgen.errors import EmptyLanguage
from structgen.grammars.expr import Rule, alternation, literal
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["compile_choice"]


def compile_choice(texts: Sequence[str], vocabulary: TokenVocabulary) -> TokenAutomaton:
    """The automaton of exactly these texts.

    Raises
    ------
    EmptyLanguage
        There is no text to choose.
    TypeError
        ``texts`` is one string.
    """
    if isinstance(texts, str):
        raise TypeError("a choice is between several strings, in a list")
    if not texts:
        raise EmptyLanguage("there is no text to choose: the list is empty")
    start = Rule("choice", lambda: alternation(*(literal(text.encode()) for text in texts)))
    return TokenAutomaton(start, vocabulary)
