"""Where between the brackets of an object or array a text is, and the white space there where it is prescribed."""

from __future__ import annotations

from structgen.grammars.automaton._jit import Memory, inner
from structgen.grammars.automaton.layouts import (
    AFTER_COLON,
    AFTER_COMMA,
    BEFORE_COLON,
    BEFORE_COMMA,
    CLOSING,
    OPENED,
    has_space_byte,
    space_length,
)
from structgen.grammars.automaton.tables import (
    A_LAYOUT,
    ARRAYS,
    O_LAYOUT,
    OBJECTS,
    R_MAY_END,
    R_MORE,
    R_SPEC,
    REGISTERS,
    cell,
)

__all__ = [
    "AFTER_ITEM",
    "AFTER_KEY",
    "AFTER_MEMBER",
    "BEFORE_ITEM",
    "BEFORE_KEY",
    "BEFORE_VALUE",
    "EXACT",
    "OPEN_ARRAY",
    "OPEN_OBJECT",
    "SPACES",
    "START_ARRAY",
    "START_OBJECT",
    "is_prescribed",
    "layout_of",
    "may_follow",
    "piece_at",
]

# The place of a state is one of these times SPACES, plus how far white space has come: that of the
# documented layout as below, and prescribed white space (see `layouts`) in bytes times EXACT.
START_OBJECT, OPEN_OBJECT, AFTER_KEY, BEFORE_VALUE, AFTER_MEMBER, BEFORE_KEY = range(1, 7)
START_ARRAY, OPEN_ARRAY, AFTER_ITEM, BEFORE_ITEM = range(7, 11)
SPACES, EXACT = 128, 16 * 128


@inner
def layout_of(m: Memory, register: int) -> int:
    """The number of the layout of the object or array that ``register`` belongs to."""
    spec = cell(m, REGISTERS, register, R_SPEC)
    return cell(m, OBJECTS, spec, O_LAYOUT) if spec >= 0 else cell(m, ARRAYS, -1 - spec, A_LAYOUT)


@inner
def piece_at(m: Memory, layout: int, kind: int) -> int:
    """The piece of white space (see `layouts`) that comes at a place of this kind."""
    if kind in (OPEN_OBJECT, OPEN_ARRAY):
        return OPENED
    if kind == AFTER_KEY:
        return BEFORE_COLON
    if kind == BEFORE_VALUE:
        return AFTER_COLON
    if kind in (BEFORE_KEY, BEFORE_ITEM):
        return AFTER_COMMA
    # Where lines are indented nothing comes before a comma; where they are not nothing before the end.
    return CLOSING if space_length(m, layout, CLOSING) else BEFORE_COMMA


@inner
def is_prescribed(m: Memory, register: int, place: int, byte: int) -> bool:
    """Whether ``byte`` is the next one of the prescribed white space."""
    kind, layout = place % EXACT // SPACES, layout_of(m, register)
    piece = piece_at(m, layout, kind)
    if not has_space_byte(m, layout, piece, place // EXACT, byte):
        return False
    if place < EXACT and piece in (OPENED, BEFORE_COMMA):
        return cell(m, REGISTERS, register, R_MORE) == 1
    return place >= EXACT or piece != CLOSING or cell(m, REGISTERS, register, R_MAY_END) == 1


@inner
def may_follow(m: Memory, register: int, place: int, byte: int) -> bool:
    """Whether so much prescribed white space as there is may stand before ``byte``, which is none."""
    kind, layout = place % EXACT // SPACES, layout_of(m, register)
    piece = piece_at(m, layout, kind)
    if byte == ord(","):
        piece = BEFORE_COMMA
    elif byte == ord("}") or byte == ord("]"):
        if kind in (OPEN_OBJECT, OPEN_ARRAY):
            return place < EXACT
        piece = CLOSING
    return place // EXACT == space_length(m, layout, piece)
