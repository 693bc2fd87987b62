"""Layouts: the white space of objects and arrays where every byte of it is prescribed.

The number of a layout is the place in `WORDS` of its record: how long each of its pieces is, where in `WORDS` each
begins, and what the white space before the end costs. In a frame (see `frames`) a piece belongs to each place that
white space may follow.

::

    { OPENED "key" BEFORE_COLON : AFTER_COLON value BEFORE_COMMA , AFTER_COMMA "key" ... CLOSING }
"""

from __future__ import annotations

from structgen.grammars.automaton._jit import Memory, inner
from structgen.grammars.automaton.growing_tables import Tables
from structgen.grammars.automaton.spelling import COST_BYTE
from structgen.grammars.automaton.tables import FAR, N_WORDS, POOL, WORDS, cell
from structgen.grammars.json_layout import Layout

__all__ = [
    "AFTER_COLON",
    "AFTER_COMMA",
    "BEFORE_COLON",
    "BEFORE_COMMA",
    "CLOSING",
    "FLEXIBLE",
    "OPENED",
    "closing_cost",
    "comma_cost",
    "has_space_byte",
    "mark_cost",
    "space_cost",
    "space_length",
    "write_layout",
]

FLEXIBLE = 0
"""The number of the layout in which there may be any white space that `frames` knows."""
OPENED, CLOSING, BEFORE_COMMA, AFTER_COMMA, BEFORE_COLON, AFTER_COLON = range(6)
_PIECES = 6
_COST = 2 * _PIECES


def write_layout(tables: Tables, layout: Layout, depth: int, *, spellable: bool) -> int:
    """Write ``layout`` for objects and arrays inside ``depth`` others; returns its number.

    Parameters
    ----------
    spellable : bool
        Whether every byte of it is a token.

    Raises
    ------
    GrammarLimitExceeded
        A line begins with more spaces than are held.
    """
    between = layout.between(depth)  # a shorter line is the beginning of a longer one
    others = [layout.before_comma, layout.before_colon, layout.after_colon]
    text = "".join([between, *others])
    first = tables.append(WORDS, N_WORDS, [(byte,) for byte in text.encode()])
    starts, place = [first, first, 0, first, 0, 0], first + len(between)
    for piece, one in zip((BEFORE_COMMA, BEFORE_COLON, AFTER_COLON), others, strict=True):
        starts[piece], place = place, place + len(one)
    opened, closing = len(layout.line(depth + 1)), len(layout.line(depth))
    lengths = [
        opened,
        closing,
        len(layout.before_comma),
        len(between),
        len(layout.before_colon),
        len(layout.after_colon),
    ]
    cost = closing if spellable else FAR
    return tables.append(WORDS, N_WORDS, [(word,) for word in (*lengths, *starts, cost)])


@inner
def space_length(m: Memory, layout: int, piece: int) -> int:
    """Bytes of a piece of white space; 0 where it is not prescribed."""
    return cell(m, WORDS, layout + piece, 0) if layout != FLEXIBLE else 0


@inner
def has_space_byte(m: Memory, layout: int, piece: int, place: int, byte: int) -> bool:
    """Whether ``byte`` stands at ``place`` of a piece of white space."""
    if place >= cell(m, WORDS, layout + piece, 0):
        return False
    return cell(m, WORDS, cell(m, WORDS, layout + _PIECES + piece, 0) + place, 0) == byte


@inner
def mark_cost(m: Memory, byte: int) -> int:
    """Tokens that suffice for a bracket, a comma or a colon: `FAR` where it is none."""
    return cell(m, POOL, COST_BYTE + byte, 0)


@inner
def space_cost(m: Memory, layout: int, piece: int) -> int:
    """Tokens that suffice for a piece of white space."""
    length = space_length(m, layout, piece)
    return FAR if length and cell(m, WORDS, layout + _COST, 0) >= FAR else length


@inner
def closing_cost(m: Memory, layout: int, bracket: int) -> int:
    """Tokens that suffice for what closes an object or array after its last member."""
    space = cell(m, WORDS, layout + _COST, 0) if layout != FLEXIBLE else 0
    return min(FAR, space + mark_cost(m, bracket))


@inner
def comma_cost(m: Memory, layout: int) -> int:
    """Tokens that a member's cost counts for its comma."""
    return 1 + space_length(m, layout, BEFORE_COMMA) + space_length(m, layout, AFTER_COMMA)
