"""What is worked out once for a vocabulary: tables that many automata begin with, and facts that many share."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from structgen.grammars.automaton.analysis import analyse
from structgen.grammars.automaton.facts import Called, Facts, Lengths
from structgen.grammars.automaton.growing_tables import Tables
from structgen.grammars.automaton.growth import Growth
from structgen.grammars.automaton.interior_store import InteriorStore
from structgen.grammars.automaton.rule_book import RuleBook
from structgen.grammars.expr import NEVER, Rule

__all__ = ["Base", "base_of", "known_facts"]

_MOST_SHARED = 1 << 12
"""Of so many shared rules a vocabulary keeps the facts."""


class Base:
    """What is worked out once for a vocabulary: tables to begin with, a common rule written in them if there is one.

    Parameters
    ----------
    common : Rule or None
        The rule.
    lengths, interiors
        Of the vocabulary.

    Attributes
    ----------
    facts : dict
        Of the common rule and all that it reaches.
    tables : Tables
        To be copied.
    book : RuleBook
        Of the tables, with a start rule that nobody calls.
    """

    def __init__(self, common: Rule | None, lengths: Lengths, interiors: InteriorStore) -> None:
        self.facts = {} if common is None else analyse(common, lengths)
        self.tables = Tables()
        nobody = Rule("the start", lambda: NEVER)
        self.book = RuleBook(nobody, self.facts, self.tables, Growth(self.tables, sys.maxsize), lengths, interiors)
        if common is not None:
            self.book.enter(common)
            self.book.lower_ahead(1)


def base_of(common: Rule | None, lengths: Lengths, interiors: InteriorStore) -> Base:
    """The base with this common rule."""
    found = interiors.bases.get(common)
    if found is None:  # two threads may both make it, and either will do
        found = interiors.bases.setdefault(common, Base(common, lengths, interiors))
    return found


def known_facts(rule: Rule, lengths: Lengths, interiors: InteriorStore) -> Mapping[Called, Facts]:
    """The facts of a common or shared rule and of all that it reaches; none of any other rule."""
    if rule.is_common:
        return base_of(rule, lengths, interiors).facts
    if not rule.is_shared:
        return {}
    kept = interiors.shared_facts
    found = kept.get(rule)
    if found is None:
        found = analyse(rule, lengths, lambda other: known_facts(other, lengths, interiors))
        if len(kept) >= _MOST_SHARED:
            kept.clear()
        kept[rule] = found  # two threads may both work it out, and get the same
    return found
