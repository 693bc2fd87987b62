r"""How the characters of a JSON string are spelled: what a byte may be part of, and what it can still become.

A *rank* numbers the characters as UTF-16 sorts them: those up to U+D7FF, then the supplementary ones (U+10000 on), then
U+E000 to U+FFFF. There are no ranks for surrogates, and whatever has been read of a character, as raw UTF-8 or as an
escape (two of them for a supplementary one), stands for one range of ranks::

    phase            read so far                                   point
    NONE             nothing: between two characters
    UTF8 + k         UTF-8, k bytes to come                        the least code point
    ESCAPE           \
    UNIT + k         \u and some hex digits, k to come              the least code unit
    LOW + k          the low half's digits, k to come              the least code point
    PAIR_U, PAIR     the high half; u, or \u, is to come           the least code point
"""

from __future__ import annotations

from structgen.grammars.automaton._jit import Memory, inner
from structgen.grammars.automaton.tables import FAR, POOL, cell

__all__ = [
    "BACKSLASH",
    "ESCAPE",
    "LAST_RANK",
    "LOW",
    "MISSPELT",
    "NONE",
    "PAIR",
    "PAIR_U",
    "QUOTE",
    "UNIT",
    "UTF8",
    "after_byte",
    "first_rank",
    "last_rank",
    "plain_point",
    "rank_cost",
    "rank_of",
    "rest_cost",
]

NONE, UTF8, ESCAPE, UNIT, LOW, PAIR_U, PAIR = 0, 0, 4, 4, 8, 13, 14
MISSPELT = -1

QUOTE, BACKSLASH, LETTER_U = 0x22, 0x5C, 0x75

SUPPLEMENTARY, AFTER_SUPPLEMENTARY, LAST_RANK = 0xD800, 0x10D800, 0x10F7FF
"""The rank of U+10000; the rank of U+E000; that of U+FFFF."""

# POOL begins with what it costs to spell, in bytes; FAR where the vocabulary has no tokens of single bytes for it.
COST_BYTE, COST_ASCII, COST_UTF8, COST_TAIL, COST_HEX = 0, 256, 384, 388, 389
"""A byte; an ASCII character; one of 2, 3 or 4 bytes; a byte within one; a part of an escape with hex digits."""


@inner
def rank_of(code_point: int) -> int:
    """The rank of a code point that is no surrogate."""
    if code_point < 0xD800:
        return code_point
    return code_point + 0xFF800 if code_point < 0x10000 else code_point - 0x2800


@inner
def _rank_of_unit(unit: int) -> int:
    """The least rank of the characters whose first UTF-16 unit is ``unit`` or a greater one."""
    if unit < 0xD800:
        return unit
    if unit < 0xDC00:
        return SUPPLEMENTARY + ((unit - 0xD800) << 10)
    return max(unit + 0xFF800, AFTER_SUPPLEMENTARY)


@inner
def first_rank(phase: int, point: int) -> int:
    """The least rank of what a partial character may become; of a whole one: its rank."""
    if phase == ESCAPE:
        return 0
    if phase == NONE:
        return rank_of(point)
    if phase < ESCAPE:
        if point == 0:
            return 0x800 if phase == UTF8 + 2 else SUPPLEMENTARY
        return rank_of(point)
    return _rank_of_unit(point) if phase <= UNIT + 4 else rank_of(point)


@inner
def last_rank(phase: int, point: int) -> int:
    """The greatest rank of what a partial character may become; of a whole one: its rank."""
    if phase == ESCAPE:
        return LAST_RANK
    if phase < ESCAPE:
        last = point + (1 << (6 * phase)) - 1
        if point == 0xD000 and phase == UTF8 + 2:
            last = 0xD7FF
        return rank_of(min(last, 0x10FFFF))
    if phase <= UNIT + 4:
        return _rank_of_unit(point + (1 << (4 * (phase - UNIT)))) - 1
    return rank_of(point) + (1 << min(4 * (phase - LOW), 10)) - 1


@inner
def _hex_digit(byte: int) -> int:
    """The value of a hex digit, -1 for another byte."""
    if 48 <= byte <= 57:
        return byte - 48
    lower = byte | 32
    return lower - 87 if 97 <= lower <= 102 else -1


@inner
def _short_escape(byte: int) -> int:
    r"""The character that ``\`` and ``byte`` stand for, -1 where there is none."""
    if byte == 0x22 or byte == 0x5C or byte == 0x2F:
        return byte
    if byte == 0x6E:
        return 0x0A
    if byte == 0x74:
        return 0x09
    if byte == 0x72:
        return 0x0D
    if byte == 0x62:
        return 0x08
    return 0x0C if byte == 0x66 else -1


@inner
def _after_tail(phase: int, point: int, byte: int) -> tuple[int, int]:
    """A byte within a character's UTF-8 (Unicode 15, table 3-7)."""
    least, most = 0x80, 0xBF
    if phase == UTF8 + 2:
        least = 0xA0 if point == 0 else least
        most = 0x9F if point == 0xD000 else most
    elif phase == UTF8 + 3:
        least = 0x90 if point == 0 else least
        most = 0x8F if point == 0x100000 else most
    left = phase - UTF8 - 1
    return (UTF8 + left, point + ((byte & 63) << (6 * left))) if least <= byte <= most else (MISSPELT, 0)


@inner
def _after_digit(phase: int, point: int, digit: int) -> tuple[int, int]:
    r"""A digit of ``\u``, and of the second ``\u`` of a pair: D, then C to F, then any two."""
    left = (phase - 1) & 3
    if digit < 0 or (phase == LOW + 4 and digit != 13) or (phase == LOW + 3 and digit < 12):
        return MISSPELT, 0
    if phase > LOW:
        point += 0 if left == 3 else (digit & 3 if left == 2 else digit) << (4 * left)
        return (LOW + left if left else NONE), point
    point += digit << (4 * left)
    if left == 0 and 0xD800 <= point < 0xDC00:
        return PAIR, 0x10000 + ((point - 0xD800) << 10)
    if left <= 2 and 0xDC00 <= point < 0xE000:
        return MISSPELT, 0
    return (UNIT + left if left else NONE), point


@inner
def after_byte(phase: int, point: int, byte: int) -> tuple[int, int]:
    """Phase and point after a byte, which is not the closing quote.

    `NONE` with a code point where a character is whole, `MISSPELT` where the byte cannot come.
    """
    if phase == NONE:
        if byte < 0x80:
            return (ESCAPE, 0) if byte == BACKSLASH else (NONE, byte) if byte >= 0x20 else (MISSPELT, 0)
        tail = 1 + (byte >= 0xE0) + (byte >= 0xF0)
        is_lead = 0xC2 <= byte <= 0xF4
        return (UTF8 + tail, (byte & (0x3F >> tail)) << (6 * tail)) if is_lead else (MISSPELT, 0)
    if phase < ESCAPE:
        return _after_tail(phase, point, byte)
    if phase == ESCAPE:
        if byte == LETTER_U:
            return UNIT + 4, 0
        character = _short_escape(byte)
        return (NONE, character) if character >= 0 else (MISSPELT, 0)
    if phase >= PAIR_U:
        is_next = byte == (BACKSLASH if phase == PAIR else LETTER_U)
        return (phase - 1, point) if is_next else (MISSPELT, 0)
    return _after_digit(phase, point, _hex_digit(byte))


@inner
def plain_point(phase: int, point: int) -> int:
    """The point that stands for all those of a partial character after which the same bytes may come."""
    if phase < ESCAPE:
        if phase == UTF8 + 1:
            return 0x80
        is_edge = point == 0 or point == (0xD000 if phase == UTF8 + 2 else 0x100000)
        return point if is_edge else 0x1000 if phase == UTF8 + 2 else 0x40000
    if phase > UNIT + 4:
        return 0x10000
    if phase == UNIT + 3:
        return 0xD000 if point == 0xD000 else 0
    return 0xD800 if 0xD800 <= point < 0xDC00 else 0


@inner
def rank_cost(m: Memory, first: int, last: int) -> int:
    """The bytes that spell the cheapest character from ``first`` to ``last``."""
    best = FAR
    for rank in range(first, min(last, 127) + 1):
        best = min(best, cell(m, POOL, COST_ASCII + rank, 0))
        if best == 1:
            return best
    if last >= 0x80 and first < 0x800:
        best = min(best, cell(m, POOL, COST_UTF8 + 1, 0))
    if last >= 0x800 and (first < SUPPLEMENTARY or last >= AFTER_SUPPLEMENTARY):
        best = min(best, cell(m, POOL, COST_UTF8 + 2, 0))
    if last >= SUPPLEMENTARY and first < AFTER_SUPPLEMENTARY:
        best = min(best, cell(m, POOL, COST_UTF8 + 3, 0))
    return best


@inner
def _short_cost(m: Memory, first: int, last: int) -> int:
    best = FAR
    for byte in range(0x22, 0x75):
        character = _short_escape(byte)
        if character >= 0 and first <= character <= last:
            best = min(best, cell(m, POOL, COST_BYTE + byte, 0))
    return best


@inner
def rest_cost(m: Memory, phase: int, first: int, last: int) -> int:
    """The bytes that finish a partial character as the cheapest from ``first`` to ``last``, all of which it may be."""
    if phase < ESCAPE:
        return min(FAR, phase * cell(m, POOL, COST_TAIL, 0))
    digits = phase - LOW
    if phase <= UNIT + 4:
        digits = phase - UNIT if phase > UNIT else 5
        if first >= SUPPLEMENTARY and last < AFTER_SUPPLEMENTARY:
            digits += 6
    cost = min(FAR, digits * cell(m, POOL, COST_HEX, 0))
    return min(cost, _short_cost(m, first, last)) if phase == ESCAPE else cost
