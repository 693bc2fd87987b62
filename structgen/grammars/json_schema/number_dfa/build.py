"""Which automaton a set of numbers has."""

from __future__ import annotations

import functools
from contextlib import suppress

import numpy as np

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.json_schema.decimals import Exact, digits_of
from structgen.grammars.json_schema.number_dfa.canonical import MAX_DIGITS, CanonicalFloats, CanonicalIntegers
from structgen.grammars.json_schema.number_dfa.every import EverySpelling
from structgen.grammars.json_schema.number_dfa.graph import NO_BASE, Base, base_of, build
from structgen.grammars.json_schema.number_dfa.integers import MAX_REMAINDERS, integers_dfa, remainders
from structgen.grammars.json_schema.number_dfa.side import coprime_part
from structgen.grammars.json_schema.number_dfa.words import canonical_words, usual_words, words_dfa
from structgen.grammars.json_schema.number_parts import MARKED, Parts, few

__all__ = ["number_dfa"]

MAX_STATES = 50_000

ROOM, LITTLE_ROOM = 16, 8
"""Of `EverySpelling`; the little one where the other takes more states than these."""
ROOMY_STATES = 2_000
MAX_LISTED_STATES = 8_000
"""The same for the members of a finite set, which are spelled as usual only where it takes more states."""

_FEW, _SOME = 64, 1_000
"""So many members of a set are listed rather than computed with; the second where there are many remainders."""


def number_dfa(parts: Parts, spelling: str) -> ByteDfa:
    """The automaton of the numbers of a set, which is not empty; the last few are kept.

    Parameters
    ----------
    parts : Parts
        The set.
    spelling : {"canonical", "any"}
        How they are spelled.

    Raises
    ------
    GrammarLimitExceeded
        It would have more than 50,000 states, or no member has a spelling within the documented bounds on digits.
    """
    return _canonical(parts) if spelling == "canonical" else _every(parts)


@functools.lru_cache(16)
def _every(parts: Parts) -> ByteDfa:
    if parts == Parts():
        return _all_spellings()
    values = _listed(parts, _FEW)
    if values is not None:
        parts = Parts(only=frozenset(values), writing=parts.writing)
    with suppress(GrammarLimitExceeded):
        return build(EverySpelling(parts, ROOM), NO_BASE, ROOMY_STATES)
    if parts.only is None:
        return build(EverySpelling(parts, LITTLE_ROOM), NO_BASE, MAX_STATES)
    with suppress(GrammarLimitExceeded):
        return build(EverySpelling(parts, LITTLE_ROOM), NO_BASE, MAX_LISTED_STATES)
    return words_dfa(word for value in parts.only for word in usual_words(value, parts.writing))


def _listed(parts: Parts, limit: int) -> tuple[Exact, ...] | None:
    """The members where they are listed rather.

    Raises
    ------
    GrammarLimitExceeded
        They are too many, and digits that are a multiple cannot be told from others by few enough states.
    """
    remainders = max((coprime_part(one) for one in (parts.step or 1, *parts.misses)), default=1)
    if parts.only is not None or remainders == 1:
        return None
    values = few(parts, limit if remainders <= limit else _SOME)
    if values is None and remainders > MAX_STATES:
        raise GrammarLimitExceeded(f"multipleOf has {remainders:,} remainders; more than {MAX_STATES:,} are too many")
    return values


@functools.cache
def _all_spellings() -> ByteDfa:
    """The grammar of RFC 8259 for numbers, without any bound."""
    start, minus, zero, digits, point, fraction, e, sign, exponent = range(9)
    transitions = np.full((9, 256), -1, np.int32)
    for state, text, target in (
        (start, "-", minus),
        *((state, "0", zero) for state in (start, minus)),
        *((state, "123456789", digits) for state in (start, minus)),
        (digits, "0123456789", digits),
        *((state, ".", point) for state in (zero, digits)),
        *((state, "0123456789", fraction) for state in (point, fraction)),
        *((state, "eE", e) for state in (zero, digits, fraction)),
        (e, "+-", sign),
        *((state, "0123456789", exponent) for state in (e, sign, exponent)),
    ):
        transitions[state, list(text.encode())] = target
    return ByteDfa(transitions, np.isin(np.arange(9), (zero, digits, fraction, exponent)))


@functools.lru_cache(64)
def _canonical(parts: Parts) -> ByteDfa:
    is_whole = isinstance(parts.step, int) and parts.writing != MARKED
    values = parts.only if parts.only is not None else _listed(parts, _FEW) if is_whole else None
    if values is not None:
        words = (canonical_words(value, value in parts.floats, parts.writing) for value in values)
        return words_dfa(word for some in words for word in some)
    if is_whole and 1 < remainders(parts) <= MAX_REMAINDERS:
        return integers_dfa(parts, _max_digits(parts), MAX_STATES)
    reader = CanonicalIntegers(parts, _max_digits(parts)) if is_whole else CanonicalFloats(parts)
    return build(reader, _base(is_whole) if parts.writing != MARKED else NO_BASE, MAX_STATES)


def _max_digits(parts: Parts) -> int:
    """Digits of integers: more than usual where none of the set has as few."""
    least = [1 if parts.step is None else parts.step]
    if parts.low is not None and parts.low > 0:
        least.append(parts.low)
    if parts.high is not None and parts.high < 0:
        least.append(-parts.high)
    return max(MAX_DIGITS, *(digits_of(value).exponent + 2 for value in least))


@functools.cache
def _base(is_whole: bool) -> Base:
    return base_of(CanonicalIntegers(Parts(), MAX_DIGITS) if is_whole else CanonicalFloats(Parts()), MAX_STATES)
