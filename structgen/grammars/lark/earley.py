"""A grammar as Lark's Earley parser with ``lexer="dynamic_complete"`` reads it, to a grammar of tokens.

That parser tries every terminal that the grammar allows, wherever one may begin. A token is any text which is the
whole match of its terminal where the text ends after it: so of a lazy pattern the shortest, and of a greedy one all
that it could have been. What is ignored may come before any token and at the end, as long as its pattern matches there.
"""

from __future__ import annotations

from structgen.errors import UnsupportedGrammar
from structgen.grammars.lark.lexing import Lexer, Lexing
from structgen.grammars.lark.loading import Loaded
from structgen.grammars.lark.machines import Part, TokenGrammar
from structgen.grammars.lark.scanning import NOTHING_OWED

__all__ = ["earley_grammar", "earley_lexers"]


def earley_grammar(loaded: Loaded, start: str, numbers: dict[str, int]) -> TokenGrammar:
    """The grammar of tokens; ``numbers`` are those of the terminals by name."""
    nonterminals: dict[str, int] = {}
    for name in (start, *(rule.origin.name for rule in loaded.rules)):
        nonterminals.setdefault(name, len(nonterminals))
    productions: list[list[tuple[Part, ...]]] = [[] for _ in nonterminals]
    for rule in loaded.rules:
        parts = (
            Part(True, numbers.get(one.name, -1)) if one.is_term else Part(False, nonterminals[one.name])
            for one in rule.expansion
        )
        productions[nonterminals[rule.origin.name]].append(tuple(parts))
    return TokenGrammar(nonterminals[start], [str(name) for name in nonterminals], productions, [])


def earley_lexers(loaded: Loaded, lexing: Lexing, numbers: dict[str, int]) -> tuple[Lexer, ...]:
    """A lexer for each terminal, and for each that is ignored.

    Raises
    ------
    UnsupportedGrammar
        A terminal looks at what comes after it: Lark tries it on shortened texts too, where it sees something else.
    """
    ignored = [Lexer((numbers[name],), (), frozenset({numbers[name]})) for name in dict.fromkeys(loaded.ignored)]
    used = dict.fromkeys(one.name for rule in loaded.rules for one in rule.expansion if one.is_term)
    texts = {terminal.name for terminal in loaded.terminals}
    read: list[Lexer] = []
    for name in used:
        if name not in texts:
            continue
        lexer = Lexer((numbers[name],), (), frozenset(), is_final=True)
        if any(token.owed != NOTHING_OWED for token in lexing.tokens(lexer, NOTHING_OWED)):
            raise UnsupportedGrammar(
                f"the terminal {name} looks at what comes after it, which is not held where the grammar is parsed by "
                "Earley's algorithm; write it without that lookahead"
            )
        read.append(lexer)
    return (*read, *ignored)
