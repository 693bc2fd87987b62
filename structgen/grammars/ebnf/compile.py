"""From an EBNF grammar to its automaton."""

from __future__ import annotations

from typing_extensions import Unpack

from structgen.grammars.ebnf.parser import EbnfParser
from structgen.grammars.gbnf.compile import compile_rules
from structgen.grammars.limits import Limits
from structgen.grammars.recipe import front_end
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["compile_ebnf"]


@front_end("ebnf")
def compile_ebnf(
    text: str, vocabulary: TokenVocabulary, start: str = "root", **limits: Unpack[Limits]
) -> TokenAutomaton:
    r"""The automaton of the texts that a grammar in XGrammar's EBNF matches as a whole.

    All that `compile_gbnf` takes but ``.``, with the dialect's own spelling and special tokens by name, and besides:
    ``TagDispatch((text, rule), ..., loop_after_dispatch=true, excludes=(text, ...))``, ``Token(id, ...)`` and
    ``TokenTagDispatch((id, rule), ...)``, the ids those of special tokens.

    Parameters
    ----------
    text : str
        The grammar.
    vocabulary : TokenVocabulary
        The model's tokens.
    start : str
        The rule to begin with.
    **limits
        On time, states and memory; see `Limits`.

    Raises
    ------
    InvalidGrammar
        The grammar is malformed, names what there is not, or holds what cannot be held exactly: a lookahead assertion,
        a sampling temperature, ``ExcludeToken``, tokens that are not special, a trigger that ends with another one. The
        message has line and column.
    EmptyLanguage
        No text matches.
    GrammarError
        A rule begins with prose that may be empty and then with itself.
    GrammarLimitExceeded
        As `compile_gbnf` does.
    """
    return compile_rules(EbnfParser, text, vocabulary, start)
