"""One text out of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from typing_extensions import Unpack

from structgen.errors import EmptyLanguage, InvalidGrammar
from structgen.grammars.expr import Rule, alternation, literal
from structgen.grammars.limits import Limits
from structgen.grammars.recipe import front_end
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["compile_choice"]


@front_end("choice")
def compile_choice(texts: Sequence[str], vocabulary: TokenVocabulary, **limits: Unpack[Limits]) -> TokenAutomaton:
    """The automaton of exactly these texts.

    Parameters
    ----------
    texts : sequence of str
        At least one.
    vocabulary : TokenVocabulary
        The model's tokens.
    **limits
        On time, states and memory; see `Limits`.

    Raises
    ------
    EmptyLanguage
        There is no text to choose.
    InvalidGrammar
        ``texts`` is one string or no sequence, holds something that is no string, or a text that has no UTF-8.
    GrammarLimitExceeded
        A limit is passed.
    """
    if isinstance(texts, str):
        raise InvalidGrammar("a choice is between several strings, in a list")
    if not isinstance(cast("object", texts), Sequence):
        raise InvalidGrammar(f"a choice is between several strings, in a list or a tuple, not {type(texts).__name__}")
    if not texts:
        raise EmptyLanguage("there is no text to choose: the list is empty")
    choices = [literal(_encoded(text)) for text in texts]
    return TokenAutomaton(Rule("choice", lambda: alternation(*choices)), vocabulary)


def _encoded(text: object) -> bytes:
    if not isinstance(text, str):
        raise InvalidGrammar(f"a choice is a string, not {text!r}")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidGrammar(f"the choice {text!r} is no Unicode text: it has half a surrogate pair") from error
