"""How many tokens suffice from a place in a frame (see `frames`) to the closing bracket."""

from __future__ import annotations

from structgen.grammars.automaton._jit import Memory, inner
from structgen.grammars.automaton.array_following import way_of
from structgen.grammars.automaton.frame_places import (
    AFTER_ITEM,
    AFTER_KEY,
    AFTER_MEMBER,
    BEFORE_ITEM,
    BEFORE_KEY,
    BEFORE_VALUE,
    EXACT,
    SPACES,
    START_ARRAY,
    START_OBJECT,
    layout_of,
    piece_at,
)
from structgen.grammars.automaton.layouts import (
    AFTER_COLON,
    AFTER_COMMA,
    BEFORE_COLON,
    CLOSING,
    closing_cost,
    comma_cost,
    mark_cost,
    space_cost,
)
from structgen.grammars.automaton.object_following import may_come
from structgen.grammars.automaton.registers import after_item, after_name, after_other
from structgen.grammars.automaton.spellings import extended_keys
from structgen.grammars.automaton.string_keys import key_interval, key_name, key_others, key_rest, other_rest
from structgen.grammars.automaton.strings import key_start
from structgen.grammars.automaton.tables import (
    FAR,
    NAME_VALUE_COST,
    NAMES,
    O_FIRST_NAME,
    O_FIRST_OTHER,
    O_IS_SET,
    OBJECTS,
    OTHER_VALUE_COST,
    OTHERS,
    R_DISTANCE,
    R_KEYS,
    R_NEXT,
    R_SPEC,
    R_WAYS,
    REGISTERS,
    WAYS,
    Y_COST,
    cell,
)

__all__ = ["after_member", "bit_at", "bits_of", "cost_behind", "frame_distance", "place_ahead"]


@inner
def bits_of(mask: int) -> int:
    """How many bits are set."""
    count = 0
    while mask:
        count += mask & 1
        mask >>= 1
    return count


@inner
def bit_at(mask: int, number: int) -> int:
    """The place of the bit that is number ``number`` among those set."""
    place = 0
    while True:
        if (mask >> place) & 1:
            if number == 0:
                return place
            number -= 1
        place += 1


@inner
def after_member(m: Memory, register: int, label: int, text: int, number: int) -> int:
    """The register after the member with key ``label``, spelled ``text``, in number ``number`` of its ways."""
    if label >= 0:
        return after_name(m, register, label)
    keys = extended_keys(m, cell(m, REGISTERS, register, R_KEYS), text)
    return after_other(m, register, bit_at(-1 - label, number), keys)


@inner
def frame_distance(m: Memory, place: int, register: int, label: int) -> int:
    """Tokens that suffice from a place in a frame; see `frames` for what makes one."""
    return min(FAR, _distance(m, place, register, label))


@inner
def _distance(m: Memory, place: int, register: int, label: int) -> int:
    """As `frame_distance`, or more than `FAR`."""
    rest = cell(m, REGISTERS, register, R_DISTANCE)
    if place < 0:
        return _key_distance(m, -place, register)
    kind, written, layout = place % EXACT // SPACES, place // EXACT, layout_of(m, register)
    piece = piece_at(m, layout, kind)
    left = space_cost(m, layout, piece)
    if left < FAR:
        left -= written
    if kind in (START_OBJECT, START_ARRAY):
        return rest + mark_cost(m, _bracket(m, register))
    if kind == AFTER_KEY:
        return left + mark_cost(m, ord(":")) + space_cost(m, layout, AFTER_COLON) + _value_distance(m, register, label)
    if kind == BEFORE_VALUE:
        return left + _value_distance(m, register, label)
    if written == 0 and kind not in (BEFORE_KEY, BEFORE_ITEM):
        return rest
    if piece == CLOSING:
        closing = closing_cost(m, layout, _bracket(m, register) + 2)
        return closing - written if closing < FAR else FAR
    if kind in (AFTER_MEMBER, AFTER_ITEM):
        left += mark_cost(m, ord(",")) + space_cost(m, layout, AFTER_COMMA)
    if cell(m, REGISTERS, register, R_SPEC) < 0:
        items = _item_distance(m, register)
        return left + items - comma_cost(m, layout) if items < FAR else FAR  # the elements' costs include a comma
    return left + _key_distance(m, key_start(m, cell(m, REGISTERS, register, R_KEYS)), register)


@inner
def _bracket(m: Memory, register: int) -> int:
    """The opening bracket; the closing one is two bytes further in ASCII."""
    spec = cell(m, REGISTERS, register, R_SPEC)
    return ord("[") if spec < 0 or cell(m, OBJECTS, spec, O_IS_SET) else ord("{")


@inner
def _length(mask: int) -> int:
    """One more than the place of the highest bit that is set."""
    length = 0
    while mask >> length:
        length += 1
    return length


@inner
def _value_distance(m: Memory, register: int, label: int) -> int:
    """Tokens that suffice for a value behind the key ``label`` and the rest."""
    if label >= 0:
        spec = cell(m, REGISTERS, register, R_SPEC)
        cost = cell(m, NAMES, cell(m, OBJECTS, spec, O_FIRST_NAME) + label, NAME_VALUE_COST)
        return cost + cell(m, REGISTERS, after_name(m, register, label), R_DISTANCE)
    return _others_distance(m, register, -1 - label)


@inner
def _others_distance(m: Memory, register: int, ways: int) -> int:
    """Tokens that suffice for a value behind an undeclared key, taken in one of these ways, and the rest."""
    best = FAR
    for way in range(_length(ways)):
        if (ways >> way) & 1:
            best = min(best, _other_distance(m, register, way))
    return best


@inner
def _other_distance(m: Memory, register: int, way: int) -> int:
    """Tokens that suffice for a value behind an undeclared key, taken in this way, and the rest."""
    spec = cell(m, REGISTERS, register, R_SPEC)
    cost = cell(m, OTHERS, cell(m, OBJECTS, spec, O_FIRST_OTHER) + way, OTHER_VALUE_COST)
    return cost + cell(m, REGISTERS, after_other(m, register, way, cell(m, REGISTERS, register, R_KEYS)), R_DISTANCE)


@inner
def _item_distance(m: Memory, register: int) -> int:
    """Tokens that suffice for an element and the rest."""
    ways, best = cell(m, REGISTERS, register, R_WAYS), FAR
    for way in range(_length(ways)):
        if (ways >> way) & 1:
            cost = cell(m, WAYS, way_of(m, register, way), Y_COST)
            best = min(best, cost + cell(m, REGISTERS, after_item(m, register, way), R_DISTANCE))
    return best


@inner
def _colon_cost(m: Memory, register: int) -> int:
    """Tokens that suffice for a colon and the white space around it."""
    if cell(m, OBJECTS, cell(m, REGISTERS, register, R_SPEC), O_IS_SET):
        return 0
    layout = layout_of(m, register)
    return mark_cost(m, ord(":")) + space_cost(m, layout, BEFORE_COLON) + space_cost(m, layout, AFTER_COLON)


@inner
def cost_behind(m: Memory, register: int, ways: int) -> int:
    """Tokens that suffice behind an undeclared key that one of these ways takes."""
    return _colon_cost(m, register) + _others_distance(m, register, ways)


@inner
def place_ahead(m: Memory, key: int, register: int) -> int:
    """The place of the declared name that the key is best to become: the one needed, else the first in the order of
    the layout; -1 where it can become none.
    """
    first, end = key_interval(m, key)
    found, best = -1, FAR
    for place in range(first, end):
        name = key_name(m, cell(m, REGISTERS, register, R_KEYS), place)
        if name == cell(m, REGISTERS, register, R_NEXT):
            return place
        if name < best and may_come(m, register, name):
            found, best = place, name
    return found


@inner
def _key_distance(m: Memory, key: int, register: int) -> int:
    """Tokens that suffice from within a key: to make it a declared one or an undeclared one, and for the rest."""
    colon, best = _colon_cost(m, register), FAR
    place = place_ahead(m, key, register)
    if place >= 0:
        name = key_name(m, cell(m, REGISTERS, register, R_KEYS), place)
        best = key_rest(m, key, place) + colon + _value_distance(m, register, name)
    ways = key_others(m, key) & cell(m, REGISTERS, register, R_WAYS)
    for way in range(_length(ways)):
        if (ways >> way) & 1:
            best = min(best, other_rest(m, key, 1 << way) + colon + _other_distance(m, register, way))
    return best
