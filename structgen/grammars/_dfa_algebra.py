"""Intersection and complement of DFAs over characters, and the DFA of finitely many texts."""

from __future__ import annotations

from structgen.errors import GrammarLimitExceeded
from structgen.grammars._minimal import Alphabet, Rows, minimal
from structgen.grammars.char_dfa import MAX_STATES, CharDfa
from structgen.grammars.limits import checkpoint

__all__ = ["complement", "intersection", "of_texts"]


def _cuts(*automata: CharDfa) -> set[int]:
    cuts: set[int] = set()
    for dfa in automata:
        cuts.update(dfa.lows)
        cuts.update(high + 1 for high in dfa.highs)
    return cuts


def _rows(dfa: CharDfa, alphabet: Alphabet) -> Rows:
    """Of each state the characters that lead to each target."""
    rows: Rows = []
    for state in range(len(dfa)):
        spans: dict[int, list[tuple[int, int]]] = {}
        for place in range(dfa.starts[state], dfa.starts[state + 1]):
            spans.setdefault(dfa.targets[place], []).append((dfa.lows[place], dfa.highs[place]))
        rows.append([(alphabet.set(ranges), target) for target, ranges in spans.items()])
    return rows


def intersection(first: CharDfa, second: CharDfa) -> CharDfa | None:
    """The texts in both, ``None`` where there are none.

    Raises
    ------
    GrammarLimitExceeded
        It needs more than `MAX_STATES` states.
    """
    alphabet = Alphabet(_cuts(first, second))
    rows_of_first, rows_of_second = _rows(first, alphabet), _rows(second, alphabet)
    numbers = {(0, 0): 0}
    pairs = [(0, 0)]
    rows: Rows = []
    for one, other in pairs:
        checkpoint(len(pairs))
        row: list[tuple[int, int]] = []
        for mask, target in rows_of_first[one]:
            for its_mask, its_target in rows_of_second[other]:
                if both := mask & its_mask:
                    pair = (target, its_target)
                    number = numbers.setdefault(pair, len(pairs))
                    if number == len(pairs):
                        pairs.append(pair)
                    row.append((both, number))
        rows.append(row)
        if len(pairs) > MAX_STATES:
            raise _too_large("two patterns together")
    return minimal(alphabet, rows, [first.accepting[one] and second.accepting[other] for one, other in pairs])


def complement(dfa: CharDfa) -> CharDfa | None:
    """The texts that are not in ``dfa``, ``None`` where there are none."""
    alphabet = Alphabet(_cuts(dfa))
    rows = _rows(dfa, alphabet)
    sink = len(rows)
    for row in rows:
        rest = alphabet.all
        for mask, _ in row:
            rest &= ~mask
        if rest:
            row.append((rest, sink))
    rows.append([(alphabet.all, sink)])
    return minimal(alphabet, rows, [*(not accepts for accepts in dfa.accepting), True], is_refined=True)


def of_texts(texts: tuple[str, ...]) -> CharDfa | None:
    """The automaton of these texts.

    Raises
    ------
    GrammarLimitExceeded
        They have more than `MAX_STATES` prefixes.
    """
    alphabet = Alphabet(point + offset for text in texts for point in map(ord, text) for offset in (0, 1))
    nodes: list[dict[str, int]] = [{}]
    ends: set[int] = set()
    for text in texts:
        checkpoint(len(nodes))
        node = 0
        for char in text:
            following = nodes[node].get(char)
            if following is None:
                following = nodes[node][char] = len(nodes)
                nodes.append({})
            node = following
        ends.add(node)
        if len(nodes) > MAX_STATES:
            raise _too_large("a list of texts that is negated")
    rows = [[(alphabet.set([(ord(char), ord(char))]), target) for char, target in node.items()] for node in nodes]
    return minimal(alphabet, rows, [node in ends for node in range(len(nodes))])


def _too_large(what: str) -> GrammarLimitExceeded:
    return GrammarLimitExceeded(f"{what} would need more than {MAX_STATES:,} states; simplify what is asked of strings")
