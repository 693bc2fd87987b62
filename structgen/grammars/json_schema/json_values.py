"""JSON values in Python: told apart, copied, compared."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeGuard, cast

from structgen.errors import GrammarLimitExceeded, InvalidSchema

__all__ = [
    "child_pointer",
    "copy_json",
    "escape_pointer",
    "is_array",
    "is_number",
    "is_object",
    "kind_name",
    "same_json",
]

_MAX_DEPTH = 10_000
_PLAIN = frozenset({str, int, float, bool, type(None)})


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a JSON value is a number that JSON can write."""
    if isinstance(value, int):  # of any size, where a float would be infinite
        return not isinstance(value, bool)
    return isinstance(value, float) and math.isfinite(value)


def kind_name(value: Any) -> str:
    """The type of a value, for messages."""
    return "null" if value is None else type(value).__name__


def same_json(one: Any, other: Any) -> bool:
    """Equality of JSON values: 1 equals 1.0, true does not equal 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if is_array(one) and is_array(other):
        return len(one) == len(other) and all(map(same_json, one, other))
    if is_object(one) and is_object(other):
        return one.keys() == other.keys() and all(same_json(its, other[key]) for key, its in one.items())
    return one == other


def escape_pointer(token: str) -> str:
    """A reference token of a JSON pointer (RFC 6901)."""
    return token.replace("~", "~0").replace("/", "~1") if "~" in token or "/" in token else token


def child_pointer(pointer: str, *tokens: str | int) -> str:
    """The JSON pointer of what lies at ``tokens`` below ``pointer``."""
    below = [escape_pointer(token) if isinstance(token, str) else str(token) for token in tokens]
    return "/".join((pointer, *below))


def copy_json(value: Any, pointer: str = "", marks: frozenset[str] = frozenset()) -> tuple[Any, bool]:
    """A copy of a JSON value in which no two places share an object, and whether something below it is marked.

    Marked is an object that has a string or a boolean under a key of ``marks``.

    Raises
    ------
    InvalidSchema
        Something in it is no JSON: a key that is no string, a set.
    GrammarLimitExceeded
        It is nested without end.
    """
    top = [value]
    level: list[Any] = [top]
    depth, marked = 0, False
    while level:
        if depth > _MAX_DEPTH:
            raise GrammarLimitExceeded("the schema is nested too deeply, or holds itself; flatten it")
        below: list[Any] = []
        for box in level:
            if depth > 1 and not marked and is_object(box) and not marks.isdisjoint(box):
                marked = any(isinstance(box.get(mark), (str, bool)) for mark in marks)
            for key, child in _children(box):
                if type(child) not in _PLAIN:
                    box[key] = copied = _shallow_copy(child, value, pointer)
                    if copied is not child:
                        below.append(copied)
        level, depth = below, depth + 1
    return top[0], marked


def _shallow_copy(child: Any, whole: Any, pointer: str) -> Any:
    if isinstance(child, dict):
        members = cast("dict[str, Any]", child)
        try:
            "".join(members)  # the quickest look at whether all keys are strings
        except TypeError:
            key = next(one for one in members if not isinstance(cast("object", one), str))
            raise InvalidSchema(_place_of(members, whole, pointer), f"the key {key!r} is no string") from None
        return members.copy() if type(members) is dict else dict(members)
    if isinstance(child, (list, tuple)):
        return list(cast("list[Any]", child))
    if isinstance(child, (str, int, float)):
        return child
    raise InvalidSchema(_place_of(child, whole, pointer), f"{child!r} is no JSON value")


def _place_of(wanted: object, whole: object, pointer: str) -> str:
    """Where ``wanted``, an object of that identity, lies in ``whole``."""
    pending = [(whole, pointer)]
    while pending:
        value, place = pending.pop()
        if value is wanted:
            return place
        pending += [(child, child_pointer(place, str(key))) for key, child in _children(value)]
    return pointer


def _children(value: Any) -> Iterable[tuple[Any, Any]]:
    if is_object(value):
        return value.items()
    return enumerate(cast("list[Any]", value)) if isinstance(value, (list, tuple)) else ()
