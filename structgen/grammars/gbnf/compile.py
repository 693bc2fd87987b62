"""From a GBNF grammar to its automaton."""

from __future__ import annotations

from typing import cast

from typing_extensions import Unpack

from structgen.errors import GrammarLimitExceeded, InvalidGrammar
from structgen.grammars.gbnf.parser import Parser
from structgen.grammars.left_recursion import without_left_recursion
from structgen.grammars.limits import Limits
from structgen.grammars.recipe import front_end
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["compile_gbnf", "compile_rules"]


@front_end("gbnf")
def compile_gbnf(
    text: str, vocabulary: TokenVocabulary, start: str = "root", **limits: Unpack[Limits]
) -> TokenAutomaton:
    r"""The automaton of the texts that a GBNF grammar matches as a whole.

    Literals with escapes, classes of characters, ``.`` for any one, groups, ``*``, ``+``, ``?``, ``{n}``, ``{n,}`` and
    ``{n,m}``, comments; ``<name>`` and ``<[id]>`` for a special token of the vocabulary. Rules may be recursive in any
    way, and ambiguous.

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
        The grammar is malformed, names a rule that it does not have or a token that the vocabulary does not have, or
        defines one twice; the message has line and column.
    EmptyLanguage
        No text matches.
    GrammarLimitExceeded
        Groups are nested more than 100 deep, or repetitions written out have over 100,000 symbols; or a limit is
        passed.
    """
    return compile_rules(Parser, text, vocabulary, start)


def compile_rules(parser: type[Parser], text: str, vocabulary: TokenVocabulary, start: str) -> TokenAutomaton:
    """The automaton of a grammar that ``parser`` reads; raises as `compile_gbnf` does."""
    if not isinstance(cast("object", text), str):
        raise InvalidGrammar(f"a grammar is a string, not {type(text).__name__}")
    try:
        return _compiled(parser, text, vocabulary, start)
    except RecursionError as error:
        raise GrammarLimitExceeded("the grammar is nested too deeply; give its inner groups names") from error


def _compiled(parser: type[Parser], text: str, vocabulary: TokenVocabulary, start: str) -> TokenAutomaton:
    rules = parser(text, vocabulary).grammar()
    if start not in rules:
        raise InvalidGrammar(f"the grammar has no rule {start!r} to begin with; it has {', '.join(sorted(rules)[:8])}")
    return TokenAutomaton(without_left_recursion(rules[start]), vocabulary)
