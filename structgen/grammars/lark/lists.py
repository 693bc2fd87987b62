"""Lists read from the left: what calls itself first and at once, written so that it calls itself last.

Lark writes ``x+`` as ``xs: x | xs x``. What has a rule for each pair of places has one of ``xs`` for each place where
it begins, and of a list that goes on from any place the same ones for all.
"""

from __future__ import annotations

from structgen.grammars.lark.machines import BARRIER, Part, TokenGrammar

__all__ = ["with_lists_from_the_right"]


def with_lists_from_the_right(grammar: TokenGrammar) -> TokenGrammar:
    """The grammar of the same texts in which no production begins with what it is one of, but for trivial ones."""
    names, found = list(grammar.names), list(grammar.productions)
    for number, productions in enumerate(grammar.productions):
        again = [parts for parts in productions if parts and _is_call_of(parts[0], number)]
        if not again or any(all(part.number == BARRIER for part in parts[1:]) for parts in again):
            continue
        rest = Part(False, len(names))
        names.append(names[number])
        found[number] = [(*parts, rest) for parts in productions if parts not in again]
        found.append([(), *((*parts[1:], rest) for parts in again)])
    return grammar._replace(names=names, productions=found)


def _is_call_of(part: Part, number: int) -> bool:
    return not part.is_terminal and part.closing < 0 and part.number == number
