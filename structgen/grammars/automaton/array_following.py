"""What may follow in an array, as its register tells (see `registers`): in which ways, and how few tokens suffice."""

from __future__ import annotations

from structgen.grammars.automaton._jit import Memory, inner
from structgen.grammars.automaton.layouts import closing_cost
from structgen.grammars.automaton.tables import (
    A_COUNTERS,
    A_FIRST_COUNTER,
    A_FIRST_PLACE,
    A_HIGH,
    A_LAYOUT,
    A_LOW,
    A_PREFIX,
    ARRAYS,
    FAR,
    P_FIRST_WAY,
    P_MAY_COUNT,
    P_MUST_COUNT,
    P_WAYS,
    PLACES,
    R_BITS,
    R_COUNT,
    R_DISTANCE,
    R_MAY_END,
    R_MORE,
    R_SPEC,
    R_WAYS,
    REGISTERS,
    WAYS,
    WORDS,
    Y_COST,
    Y_COUNTS,
    cell,
    put,
)

__all__ = ["array_of", "most_elements", "settle_array", "way_of"]


@inner
def array_of(m: Memory, register: int) -> int:
    """The number of the array that ``register`` belongs to."""
    return -1 - cell(m, REGISTERS, register, R_SPEC)


@inner
def way_of(m: Memory, register: int, way: int) -> int:
    """The row of `WAYS` of way number ``way`` of the next element."""
    array = array_of(m, register)
    place = min(cell(m, REGISTERS, register, R_COUNT), cell(m, ARRAYS, array, A_PREFIX))
    return cell(m, PLACES, cell(m, ARRAYS, array, A_FIRST_PLACE) + place, P_FIRST_WAY) + way


@inner
def most_elements(m: Memory, array: int) -> int:
    """Elements after which more of them tell nothing new."""
    high = cell(m, ARRAYS, array, A_HIGH)
    return max(cell(m, ARRAYS, array, A_PREFIX), high if high >= 0 else cell(m, ARRAYS, array, A_LOW))


@inner
def _elements_to(m: Memory, array: int, count: int, counter: int, moved: int) -> int:
    """How many elements after the first ``count`` can bring ``counter``, now at ``moved``, within its bounds.

    The fewest with which the array is long enough too, `FAR` where none will do. In each place an element may move
    the counter, must, or cannot, so that with so many elements it can come to anything between two numbers.
    """
    low, high = cell(m, ARRAYS, array, A_LOW), cell(m, ARRAYS, array, A_HIGH)
    prefix, first = cell(m, ARRAYS, array, A_PREFIX), cell(m, ARRAYS, array, A_FIRST_PLACE)
    bounds = cell(m, ARRAYS, array, A_FIRST_COUNTER) + 2 * counter
    lacking, most = cell(m, WORDS, bounds, 0) - moved, cell(m, WORDS, bounds + 1, 0)
    elements, gained, forced = 0, 0, 0
    while count + elements < low or gained < lacking:
        place = first + min(count + elements, prefix)
        may = (cell(m, PLACES, place, P_MAY_COUNT) >> counter) & 1
        must = (cell(m, PLACES, place, P_MUST_COUNT) >> counter) & 1
        times = 1
        if count + elements >= prefix:  # all further places are alike
            if cell(m, PLACES, place, P_WAYS) == 0 or (gained < lacking and may == 0):
                return FAR
            times = max(1, low - count - elements, (lacking - gained) * may)
        elements, gained, forced = elements + times, gained + times * may, forced + times * must
    if (high >= 0 and count + elements > high) or (most >= 0 and moved + forced > most):
        return FAR
    return elements


@inner
def settle_array(m: Memory, row: int, array: int) -> None:
    """Compute what may follow."""
    words, first = cell(m, REGISTERS, row, R_BITS), cell(m, ARRAYS, array, A_FIRST_COUNTER)
    count, low, high = cell(m, REGISTERS, row, R_COUNT), cell(m, ARRAYS, array, A_LOW), cell(m, ARRAYS, array, A_HIGH)
    counters, short = cell(m, ARRAYS, array, A_COUNTERS), low - count
    place = cell(m, ARRAYS, array, A_FIRST_PLACE) + min(count, cell(m, ARRAYS, array, A_PREFIX))
    fits_now, elements = True, 0
    for counter in range(counters):
        moved = cell(m, WORDS, words + counter, 0)
        fits_now &= moved >= cell(m, WORDS, first + 2 * counter, 0)
        elements += min(FAR, _elements_to(m, array, count, counter, moved))
    ways = 0
    for way in range(cell(m, PLACES, place, P_WAYS)):
        counts = cell(m, WAYS, cell(m, PLACES, place, P_FIRST_WAY) + way, Y_COUNTS)
        fits = high < 0 or count < high
        for counter in range(counters):
            moved = cell(m, WORDS, words + counter, 0) + ((counts >> counter) & 1)
            most = cell(m, WORDS, first + 2 * counter + 1, 0)
            fits &= (most < 0 or moved <= most) and _elements_to(m, array, count + 1, counter, moved) < FAR
        if fits:
            ways |= 1 << way
    put(m, REGISTERS, row, R_WAYS, ways)
    put(m, REGISTERS, row, R_MORE, 1 if ways else 0)
    put(m, REGISTERS, row, R_MAY_END, 1 if short <= 0 and fits_now else 0)
    put(m, REGISTERS, row, R_DISTANCE, _array_distance(m, array, count, max(short, elements)))


@inner
def _array_distance(m: Memory, array: int, count: int, short: int) -> int:
    """Tokens that suffice for ``short`` more elements, each at its dearest, and the bracket."""
    prefix, first = cell(m, ARRAYS, array, A_PREFIX), cell(m, ARRAYS, array, A_FIRST_PLACE)
    cost = closing_cost(m, cell(m, ARRAYS, array, A_LAYOUT), ord("]"))
    while short > 0 and cost < FAR:
        place, dearest = min(count, prefix), 0
        for way in range(cell(m, PLACES, first + place, P_WAYS)):
            dearest = max(dearest, cell(m, WAYS, cell(m, PLACES, first + place, P_FIRST_WAY) + way, Y_COST))
        times = 1 if place < prefix else short
        cost += times * dearest
        count, short = count + times, short - times
    return min(cost, FAR)
