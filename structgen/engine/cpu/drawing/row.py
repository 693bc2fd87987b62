r"""One row's draw: bias, mask, temperature, min-p, top-k, top-p, and which tokens may win then.

The winner has the largest :math:`\ell_i - \log(-\log u_i)`. That takes two logarithms in double precision for each of
49,152 tokens; bounds on it take the exponent of one number. With :math:`t` the upper 31 bits of :math:`1 - u`,

.. math:: -\log(-\log u) \le -\log(1 - u) \le (31 - \lfloor\log_2 t\rfloor) \log 2

since :math:`-\log u \ge 1 - u`, and where :math:`u \ge 1/2` it is at most :math:`2 \log 2` less, since
:math:`-\log u \le (1 - u) / u`. Only tokens whose bound reaches what some other token has for certain are contenders,
a handful, which `drawer` scores exactly.
"""

from __future__ import annotations

import math

from structgen._compiled.kernel import (
    F32,
    I32,
    I64,
    U16,
    Address,
    F32x16,
    I32x16,
    Static,
    U64x16,
    chosen,
    convert,
    lane_numbers,
    largest,
    maximum,
    read,
    reinterpret,
    splat,
    total,
    unrolled,
    write,
)
from structgen.engine.cpu._jit import compiled, inner
from structgen.engine.cpu.drawing.layout import (
    BEST,
    CONTENDERS,
    COUNT,
    EDITED_IDS,
    EDITED_LOGITS,
    EDITS,
    KEY,
    LEFT_OUT,
    LOGITS,
    MASK,
    MIN_P,
    RECORD,
    SCORE,
    TEMPERATURE,
    TOP_K,
    TOP_P,
    VALUES,
)
from structgen.engine.cpu.drawing.select import HISTOGRAM_BYTES, float_of, rank_of, reached
from structgen.engine.cpu.kernels.access import number
from structgen.engine.cpu.kernels.maths import exponential
from structgen.engine.noise.uniforms import FACTORS, GAMMA

__all__ = ["draw_rows", "room"]

_LANES = 16
BLOCK = 64
"""Logits whose greatest is kept, so that blocks without a token to list are passed over."""
_LEAST = -3.4028235e38
"""Of finite logits; `_NOTHING` is -inf."""
_NOTHING = -math.inf
_TINY = 1e-37
_ABSENT = 0xFF800000
"""The bits of -inf, which min-p has where there is none."""
_LN2 = 0.6931471805599453
_SLACK = 0.01
"""More than all roundings of a bound together."""


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


_FIRST, _SECOND, _STEP = (_signed(word) for word in (*FACTORS, GAMMA))


def room(size: int) -> int:
    """Bytes that a member needs for rows of ``size`` logits: a histogram, five numbers a logit, one a block."""
    blocks = -(-size // BLOCK)
    return HISTOGRAM_BYTES + 5 * 4 * BLOCK * blocks + 4 * (blocks + 16)


@compiled
def draw_rows(records: int, rows: int, size: int, member: int, members: int, work: int) -> None:
    """Draw every ``members``-th row from the ``member``-th on.

    Parameters
    ----------
    records : int
        Address of int64 ``[rows][RECORD]``; see `layout`.
    rows, size : int
        How many, of how many logits.
    member, members : int
        Which part this is, of how many.
    work : int
        Address of `room` bytes.
    """
    for row in range(member, rows, members):
        draw_row(records + 8 * RECORD * row, size, work)


@inner
def draw_row(record: Address, size: int, work: Address) -> None:
    """One row. The member's memory holds a histogram, the logits, their weights or bounds, then of listed tokens ids,
    logits and weights, and the greatest of each block of 64.
    """
    padded = (size + BLOCK - 1) // BLOCK * BLOCK
    values = work + HISTOGRAM_BYTES
    marks = values + 20 * padded
    replaced(record, size, padded, values)
    faults = masked(record, padded, values)
    greatest = mark(values, marks, padded)
    write(I64, record + 8 * BEST, first_at(values, marks, padded, greatest))
    write(F32, record + 8 * SCORE, greatest + faults)
    if number(record, TEMPERATURE) != 0 and greatest > _LEAST and greatest <= -_LEAST and faults == 0.0:
        count = listed(record, size, padded, work, greatest)
        write(I64, record + 8 * COUNT, contenders(record, count, padded, work))


@inner
def replaced(record: Address, size: int, padded: int, values: Address) -> None:
    """Copy the logits, with what stands instead of some of them."""
    logits, whole = number(record, LOGITS), size // _LANES * _LANES
    for place in range(0, whole, _LANES):
        write(F32x16, values + 4 * place, read(F32x16, logits + 4 * place))
    for place in range(whole, size):
        write(F32, values + 4 * place, read(F32, logits + 4 * place))
    for place in range(size, padded):
        write(F32, values + 4 * place, _NOTHING)
    for one in range(number(record, EDITS)):
        logit = read(F32, number(record, EDITED_LOGITS) + 4 * one)
        write(F32, values + 4 * read(I32, number(record, EDITED_IDS) + 4 * one), logit)


@inner
def masked(record: Address, padded: int, values: Address) -> float:
    """Divide by the temperature and leave out what the mask does; NaN where an allowed logit is none, and else 0."""
    mask, temperature = number(record, MASK), splat(F32x16, reinterpret(F32, number(record, TEMPERATURE)))
    faults = splat(F32x16, 0.0)
    for place in range(0, padded, _LANES):
        value = read(F32x16, values + 4 * place)
        if number(record, TEMPERATURE) != 0:
            value = value / temperature
        if mask != 0:
            bits = splat(I32x16, read(U16, mask + place // 8)) & (splat(I32x16, 1) << lane_numbers(I32x16))
            value = chosen(bits == 0, splat(F32x16, _NOTHING), value)
        faults = chosen(value == value, faults, value)
        write(F32x16, values + 4 * place, value)
    return total(faults)


@inner
def mark(numbers: Address, marks: Address, padded: int) -> float:
    """Write the greatest number of each block, and return that of all."""
    greatest = splat(F32x16, _NOTHING)
    for block in range(padded // BLOCK):
        found = read(F32x16, numbers + 4 * BLOCK * block)
        for part in unrolled(1, BLOCK // _LANES):
            found = maximum(found, read(F32x16, numbers + 4 * (BLOCK * block + _LANES * part)))
        write(F32, marks + 4 * block, largest(found))
        greatest = maximum(greatest, found)
    return largest(greatest)


@inner
def first_at(values: Address, marks: Address, padded: int, greatest: float) -> int:
    """The first place of a number that is there."""
    block = 0
    while block < padded // BLOCK - 1 and read(F32, marks + 4 * block) != greatest:
        block += 1
    place = BLOCK * block
    while place < padded - 1 and read(F32, values + 4 * place) != greatest:
        place += 1
    return place


@inner
def listed(record: Address, size: int, padded: int, work: Address, greatest: float) -> int:
    """List the tokens that min-p, top-k and top-p leave, or all that may win where there is none; how many."""
    values = work + HISTOGRAM_BYTES
    weights, ids, marks = values + 4 * padded, values + 8 * padded, values + 20 * padded
    least = max_of(greatest + reinterpret(F32, number(record, MIN_P)), _LEAST)
    top_p, top_k = reinterpret(F32, number(record, TOP_P)), number(record, TOP_K)
    is_cut = top_p < 1.0
    if top_k > 0 and top_k < size:
        if top_k <= padded // BLOCK:
            least = max_of(least, float_of(reached(marks, 0, padded // BLOCK, as_float(top_k), work)))
        count = collected(values, marks, padded, least, ids)
        gather(values, ids, count, values + 12 * padded)
        if count > top_k:
            border = float_of(reached(values + 12 * padded, 0, count, as_float(top_k), work))
            count = collected_of(values + 12 * padded, count, border, ids)
            gather(values, ids, count, values + 12 * padded)
        if is_cut:
            sum_of_weights = powers(values + 12 * padded, values + 16 * padded, padded_to_lanes(count), least, greatest)
            count = nucleus(count, padded, work, top_p * sum_of_weights)
        return count
    if is_cut:
        sum_of_weights = powers(values, weights, padded, least, greatest)
        mark(weights, marks, padded)
        # Tokens of less than (1 - top_p) / n weigh less than 1 - top_p together, so none of them is in.
        few = 0.999 * sum_of_weights * reinterpret(F32, number(record, LEFT_OUT)) / as_float(size)
        count = collected(weights, marks, padded, max_of(few, _TINY), ids)
        gather(values, ids, count, values + 12 * padded)
        gather(weights, ids, count, values + 16 * padded)
        return nucleus(count, padded, work, top_p * sum_of_weights)
    if number(record, MIN_P) != _ABSENT:
        return collected(values, marks, padded, least, ids)
    reach = bounded(number(record, KEY), 0, values, padded, 0, weights)
    mark(weights, marks, padded)
    return collected(weights, marks, padded, max_of(reach, _LEAST), ids)


@inner
def contenders(record: Address, count: int, padded: int, work: Address) -> int:
    """Of listed tokens those that may win, with their logits, to where they are asked for; how many."""
    values = work + HISTOGRAM_BYTES
    bounds, ids, logits = values + 4 * padded, values + 8 * padded, values + 12 * padded
    gather(values, ids, count, logits)
    reach = max_of(bounded(number(record, KEY), 1, logits, padded_to_lanes(count), ids, bounds), _LEAST)
    found = 0
    for place in range(count):
        if read(F32, bounds + 4 * place) >= reach:
            write(I32, number(record, CONTENDERS) + 4 * found, read(I32, ids + 4 * place))
            write(F32, number(record, VALUES) + 4 * found, read(F32, logits + 4 * place))
            found += 1
    return found


@inner
def bounded(key: int, has_ids: Static, logits: Address, count: int, ids: Address, bounds: Address) -> float:
    """Write bounds on scores; what the best score is at least. Without ``ids`` a token is its place."""
    reach = splat(F32x16, _NOTHING)
    for place in range(0, count, _LANES):
        numbers = lane_numbers(I32x16) + place
        if has_ids:
            numbers = read(I32x16, ids + 4 * place)
        words = (convert(U64x16, numbers) + 1) * _STEP + key
        words = (words ^ (words >> 30)) * _FIRST
        words = (words ^ (words >> 27)) * _SECOND
        words = words ^ (words >> 31)
        rest = convert(F32x16, convert(I32x16, (words ^ -1) >> 33))  # 31 bits: an int32 is never below 0
        exponent = (reinterpret(I32x16, rest) >> 23) - 127
        noise = convert(F32x16, splat(I32x16, 31) - exponent) * _LN2 + _SLACK
        bound = read(F32x16, logits + 4 * place) + noise
        write(F32x16, bounds + 4 * place, bound)
        is_upper_half = (exponent >= 0) & (exponent < 30)
        reach = maximum(reach, chosen(is_upper_half, bound, splat(F32x16, _NOTHING)))
    return largest(reach) - 2.0 * (_LN2 + _SLACK)


@inner
def powers(logits: Address, weights: Address, count: int, least: float, greatest: float) -> float:
    """Write ``exp(logit - greatest)``, 0 for what is less than ``least``, and give their sum."""
    found = splat(F32x16, 0.0)
    for place in range(0, count, _LANES):
        logit = read(F32x16, logits + 4 * place)
        weight = chosen(logit >= splat(F32x16, least), exponential(logit - greatest), splat(F32x16, 0.0))
        write(F32x16, weights + 4 * place, weight)
        found += weight
    return total(found)


@inner
def nucleus(count: int, padded: int, work: Address, goal: float) -> int:
    """Keep of the listed tokens the likeliest that together weigh ``goal``; equals by lower id. How many."""
    values = work + HISTOGRAM_BYTES
    ids, logits, weights = values + 8 * padded, values + 12 * padded, values + 16 * padded
    border = reached(logits, weights, count, goal, work)
    before = 0.0
    for place in range(count):
        if rank_of(logits + 4 * place) > border:
            before = before + read(F32, weights + 4 * place)
    found = 0
    for place in range(count):
        rank = rank_of(logits + 4 * place)
        if rank > border or (rank == border and before < goal):
            if rank == border:
                before = before + read(F32, weights + 4 * place)
            write(I32, ids + 4 * found, read(I32, ids + 4 * place))
            found += 1
    return found


@inner
def collected(numbers: Address, marks: Address, padded: int, least: float, ids: Address) -> int:
    """List places of numbers that are at least ``least``, ascending; how many."""
    found = 0
    for block in range(padded // BLOCK):
        if read(F32, marks + 4 * block) >= least:
            for place in range(BLOCK * block, BLOCK * block + BLOCK):
                if read(F32, numbers + 4 * place) >= least:
                    write(I32, ids + 4 * found, place)
                    found += 1
    return found


@inner
def collected_of(logits: Address, count: int, least: float, ids: Address) -> int:
    """Keep of listed tokens those whose logit is at least ``least``; how many."""
    found = 0
    for place in range(count):
        if read(F32, logits + 4 * place) >= least:
            write(I32, ids + 4 * found, read(I32, ids + 4 * place))
            found += 1
    return found


@inner
def gather(numbers: Address, ids: Address, count: int, target: Address) -> None:
    """The numbers of listed tokens; behind them -inf, up to whole vectors."""
    for place in range(count):
        write(F32, target + 4 * place, read(F32, numbers + 4 * read(I32, ids + 4 * place)))
    for place in range(count, padded_to_lanes(count)):
        write(F32, target + 4 * place, _NOTHING)
        write(I32, ids + 4 * place, 0)


@inner
def padded_to_lanes(count: int) -> int:
    """So many, and what is missing to whole vectors."""
    return (count + _LANES - 1) // _LANES * _LANES


@inner
def max_of(a: float, b: float) -> float:
    """The greater of two floats."""
    return maximum(a, b)


@inner
def as_float(whole: int) -> float:
    """As a float."""
    return whole
