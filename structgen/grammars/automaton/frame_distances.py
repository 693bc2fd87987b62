"""How many tokens suffice from a place in a frame (see `frames`) to the closing bracket."""

from __future__ import annotations

from structgen.grammars.automaton._jit import Memory, inner
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
from structgen.grammars.automaton.layouts import AFTER_COLON, BEFORE_COLON, CLOSING, comma_cost, space_length
from structgen.grammars.automaton.registers import ANY_NEXT, after_item, after_name, after_other, may_come, way_of
from structgen.grammars.automaton.spellings import extended_keys
from structgen.grammars.automaton.string_keys import key_interval, key_name, key_others, key_rest
from structgen.grammars.automaton.tables import (
    FAR,
    H_COST,
    H_VALUE_COST,
    N_COST,
    N_VALUE_COST,
    NAMES,
    O_FIRST_NAME,
    O_FIRST_OTHER,
    O_IS_SET,
    O_NAMES,
    OBJECTS,
    OTHERS,
    R_DISTANCE,
    R_KEYS,
    R_NEXT,
    R_SPEC,
    R_WAYS,
    REGISTERS,
    UNKNOWN_SPELLING,
    WAYS,
    Y_COST,
    cell,
)
from structgen.grammars.automaton.value_facts import DETOUR

__all__ = ["after_member", "bit_at", "bits_of", "frame_distance", "place_ahead"]


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
    rest = cell(m, REGISTERS, register, R_DISTANCE)
    if place < 0:
        return _key_distance(m, -place, register)
    kind, written, layout = place % EXACT // SPACES, place // EXACT, layout_of(m, register)
    left = space_length(m, layout, piece_at(m, layout, kind)) - written
    if kind in (START_OBJECT, START_ARRAY):
        return rest + 1
    if kind == AFTER_KEY:
        return left + 1 + space_length(m, layout, AFTER_COLON) + _value_distance(m, register, label)
    if kind == BEFORE_VALUE:
        return left + _value_distance(m, register, label)
    if written == 0 and kind not in (BEFORE_KEY, BEFORE_ITEM):
        return rest
    if piece_at(m, layout, kind) == CLOSING:
        return left + 1
    is_array = cell(m, REGISTERS, register, R_SPEC) < 0
    further = _item_distance(m, register) if is_array else _member_distance(m, register)
    if kind in (AFTER_MEMBER, AFTER_ITEM):
        return further - written
    return further - comma_cost(m, layout) + left  # the comma is there, or none comes


@inner
def _value_distance(m: Memory, register: int, label: int) -> int:
    """Tokens that suffice for a value behind the key ``label`` and the rest."""
    spec = cell(m, REGISTERS, register, R_SPEC)
    if label >= 0:
        cost = cell(m, NAMES, cell(m, OBJECTS, spec, O_FIRST_NAME) + label, N_VALUE_COST)
        return cost + cell(m, REGISTERS, after_member(m, register, label, UNKNOWN_SPELLING, 0), R_DISTANCE)
    needed, dearest = _way_needed(m, -1 - label, register), 0
    for number in range(bits_of(-1 - label)):  # the key's end tells which are left: what suffices for any
        way = bit_at(-1 - label, number)
        if needed == 0 or needed == 1 << way:
            cost = cell(m, OTHERS, cell(m, OBJECTS, spec, O_FIRST_OTHER) + way, H_VALUE_COST)
            after = after_member(m, register, label, UNKNOWN_SPELLING, number)
            dearest = max(dearest, cost + cell(m, REGISTERS, after, R_DISTANCE))
    return dearest


@inner
def _member_distance(m: Memory, register: int) -> int:
    """Tokens that suffice for a member, its comma included, and the rest: the one needed, or what a key begins as."""
    spec, ways = cell(m, REGISTERS, register, R_SPEC), cell(m, REGISTERS, register, R_WAYS)
    name = cell(m, REGISTERS, register, R_NEXT)
    if name < 0:
        ways = 1 << (-1 - name)
    elif name == ANY_NEXT:
        name = 0
        while name < cell(m, OBJECTS, spec, O_NAMES) and not may_come(m, register, name):
            name += 1
    if 0 <= name < cell(m, OBJECTS, spec, O_NAMES):
        at = cell(m, OBJECTS, spec, O_FIRST_NAME) + name
        return cell(m, NAMES, at, N_COST) - cell(m, NAMES, at, N_VALUE_COST) + _value_distance(m, register, name)
    key = 0
    for number in range(bits_of(ways)):
        at = cell(m, OBJECTS, spec, O_FIRST_OTHER) + bit_at(ways, number)
        key = max(key, cell(m, OTHERS, at, H_COST) - cell(m, OTHERS, at, H_VALUE_COST))
    return key + _value_distance(m, register, -1 - ways) if ways else FAR


@inner
def _item_distance(m: Memory, register: int) -> int:
    """Tokens that suffice for an element and the rest."""
    way = bit_at(cell(m, REGISTERS, register, R_WAYS), 0)
    cost = cell(m, WAYS, way_of(m, register, way), Y_COST)
    return cost + cell(m, REGISTERS, after_item(m, register, way), R_DISTANCE)


@inner
def _colon_cost(m: Memory, register: int) -> int:
    """Tokens that suffice for a colon and the white space around it."""
    if cell(m, OBJECTS, cell(m, REGISTERS, register, R_SPEC), O_IS_SET):
        return 0
    layout = layout_of(m, register)
    return 1 + space_length(m, layout, BEFORE_COLON) + space_length(m, layout, AFTER_COLON)


@inner
def _key_distance(m: Memory, key: int, register: int) -> int:
    ways = _way_needed(m, key_others(m, key), register)
    place = place_ahead(m, key, register) if ways == 0 else -1
    colon = _colon_cost(m, register)
    if place >= 0:
        name = key_name(m, cell(m, REGISTERS, register, R_KEYS), place)
        return key_rest(m, key, place) + colon + _value_distance(m, register, name)
    if ways == 0:
        ways = key_others(m, key) & cell(m, REGISTERS, register, R_WAYS)
    first, end = key_interval(m, key)
    rest = key_rest(m, key, -1) + (DETOUR if first < end else 0)
    return rest + colon + _value_distance(m, register, -1 - ways) if ways else FAR


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
def _way_needed(m: Memory, ways: int, register: int) -> int:
    """The entry of others that is needed, as the only bit, where it is among ``ways``; else 0."""
    following = cell(m, REGISTERS, register, R_NEXT)
    if following >= 0:
        return 0
    return ways & (1 << (-1 - following))
