"""What a set of numbers is made of, in the one form that it has."""

from __future__ import annotations

from typing import NamedTuple

from structgen.grammars.json_schema.decimals import Exact, lcm, whole

__all__ = ["ANYHOW", "EMPTY", "MARKED", "PLAIN", "Parts", "complement", "few", "holds", "meet", "some"]

ANYHOW, PLAIN, MARKED = range(3)
"""How a number is written: without fraction and exponent (all that draft 4 calls an integer), or with one."""


class Parts(NamedTuple):
    """What a set is made of. Equal parts are the same set."""

    low: Exact | None = None
    low_open: bool = False
    high: Exact | None = None
    high_open: bool = False
    step: Exact | None = None
    """All are multiples of it."""
    misses: tuple[Exact, ...] = ()
    """None is a multiple of any of these."""
    holes: frozenset[Exact] = frozenset()
    """These are not in it."""
    only: frozenset[Exact] | None = None
    """If given, these are its members, and of the above nothing is said."""
    writing: int = ANYHOW
    floats: frozenset[Exact] = frozenset()
    """Whole members that a schema names as a float (``1.0``): the canonical spelling knows them with a point too."""


EMPTY = Parts(only=frozenset())


def holds(parts: Parts, value: Exact) -> bool:
    """Whether ``value`` is in the set, if it is written as it must be."""
    if parts.only is not None:
        return value in parts.only
    if parts.low is not None and (value < parts.low or (value == parts.low and parts.low_open)):
        return False
    if parts.high is not None and (value > parts.high or (value == parts.high and parts.high_open)):
        return False
    return not (parts.step and value % parts.step) and _passes(value, parts)


def _passes(value: Exact, parts: Parts) -> bool:
    return value not in parts.holes and all(value % miss for miss in parts.misses)


def some(values: frozenset[Exact], writing: int = ANYHOW, floats: frozenset[Exact] = frozenset()) -> Parts:
    """The set of these values, as far as they can be written so."""
    if writing == PLAIN:
        values = frozenset(value for value in values if isinstance(value, int))
    return Parts(only=values, writing=writing if values else ANYHOW, floats=floats & values)


def few(parts: Parts, limit: int) -> tuple[Exact, ...] | None:
    """The members in order if there are at most ``limit``, else ``None``."""
    low, high, step = parts.low, parts.high, parts.step
    if parts.only is not None:
        return tuple(sorted(parts.only)) if len(parts.only) <= limit else None
    if low is None or high is None or (step is None and low != high):
        return None
    found: list[Exact] = []
    while low <= high:
        if holds(parts, low):
            if len(found) == limit:
                return None
            found.append(low)
        low = whole(low + (step or 1))
    return tuple(found)


def meet(one: Parts, other: Parts) -> Parts:
    """What is in both."""
    writing = one.writing or other.writing
    if other.writing not in (writing, ANYHOW):
        return EMPTY
    if one.only is None and other.only is None:
        return _normal(
            Parts(
                *_higher(one, other),
                *_lower(one, other),
                _common_step(one.step, other.step),
                one.misses + other.misses,
                one.holes | other.holes,
                writing=writing,
            )
        )
    values, rest = (one, other) if one.only is not None else (other, one)
    kept = frozenset(value for value in values.only or () if holds(rest, value))
    return some(kept, writing, one.floats | other.floats)


def complement(parts: Parts) -> list[Parts]:
    """Disjoint sets, some perhaps empty, of all values that are not in the set, however they are written."""
    if parts.only is not None:
        return [Parts(holes=parts.only)]
    low, low_open, high, high_open = parts[:4]
    found: list[Parts] = []
    if low is not None:
        found.append(Parts(high=low, high_open=not low_open))
    if high is not None:
        found.append(Parts(low=high, low_open=not high_open))
    if parts.step is not None:
        found.append(_normal(Parts(low, low_open, high, high_open, misses=(parts.step,))))
    for place, miss in enumerate(parts.misses):
        found.append(_normal(Parts(low, low_open, high, high_open, miss, parts.misses[:place])))
    found.append(some(parts.holes))
    return found


def _higher(one: Parts, other: Parts) -> tuple[Exact | None, bool]:
    """The lower end that both leave."""
    if one.low is None or (other.low is not None and other.low > one.low):
        return other.low, other.low_open
    return one.low, one.low_open or (other.low == one.low and other.low_open)


def _lower(one: Parts, other: Parts) -> tuple[Exact | None, bool]:
    """The upper end that both leave."""
    if one.high is None or (other.high is not None and other.high < one.high):
        return other.high, other.high_open
    return one.high, one.high_open or (other.high == one.high and other.high_open)


def _common_step(one: Exact | None, other: Exact | None) -> Exact | None:
    if one is None or other is None:
        return other if one is None else one
    return lcm(one, other)


def _normal(parts: Parts) -> Parts:
    """The same set: its ends belong to it where that can be had, and nothing is said twice."""
    step, misses = parts.step, parts.misses
    if parts.writing == PLAIN:
        step = _common_step(step, 1)
    if misses:
        misses = _least(misses if step is None else tuple(lcm(step, miss) for miss in misses))
        if step in misses:
            return EMPTY
    parts = parts._replace(step=step, misses=misses)
    parts = _with_dense_ends(parts) if step is None else _with_stepped_ends(parts, step)
    if parts.low is not None and parts.high is not None and parts.low >= parts.high:
        is_point = parts.low == parts.high and not (parts.low_open or parts.high_open)
        if not is_point:
            return EMPTY
    if parts.misses and parts.low is not None and parts.high is not None:
        low, high = parts.low, parts.high
        parts = parts._replace(misses=tuple(miss for miss in parts.misses if -(-low // miss) * miss <= high))
    if parts.holes:
        bare = parts._replace(holes=frozenset())
        parts = parts._replace(holes=frozenset(value for value in parts.holes if holds(bare, value)))
    return parts


def _least(misses: tuple[Exact, ...]) -> tuple[Exact, ...]:
    """Without those that are multiples of others: their multiples are missed already."""
    kept: list[Exact] = []
    for miss in sorted(set(misses)):
        if all(miss % one for one in kept):
            kept.append(miss)
    return tuple(kept)


def _with_dense_ends(parts: Parts) -> Parts:
    low_open = parts.low_open or (parts.low is not None and not _passes(parts.low, parts))
    high_open = parts.high_open or (parts.high is not None and not _passes(parts.high, parts))
    return parts._replace(low_open=low_open, high_open=high_open)


def _with_stepped_ends(parts: Parts, step: Exact) -> Parts:
    """With the least and the greatest member for ends; the least beyond the greatest where there is none."""
    low, high = parts.low, parts.high
    if low is not None:
        value = whole(-(-low // step) * step)
        low = _first_member(value + step if parts.low_open and value == low else value, high, step, parts)
    if high is not None and (low is None or low <= high):
        value = whole(high // step * step)
        high = _first_member(value - step if parts.high_open and value == high else value, low, -step, parts)
    return parts._replace(low=low, low_open=False, high=high, high_open=False)


def _first_member(value: Exact, end: Exact | None, step: Exact, parts: Parts) -> Exact:
    """The first of ``value``, ``value + step``, ... that may be there, or one beyond ``end``.

    It comes soon: what is missed divides the multiples into classes, and of a few in a row one is of none.
    """
    while not _passes(value, parts) and (end is None or (value <= end if step > 0 else value >= end)):
        value = whole(value + step)
    return whole(value)
