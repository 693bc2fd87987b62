"""Reading a specification: each object field by field, and whatever no one has asked for is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, cast

from structgen.errors import InvalidGrammar

__all__ = ["Fields", "encoded", "refuse"]


def refuse(pointer: str, why: str) -> NoReturn:
    """Raise `InvalidGrammar` for a place of the specification."""
    raise InvalidGrammar(f"structural tag, at {pointer or 'the root'}: {why}")


def encoded(text: str, pointer: str) -> bytes:
    """A text of the specification in UTF-8; refused where it has none."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        refuse(pointer, f"{text!r} is no Unicode text: it has half a surrogate pair")


class Fields:
    """An object of the specification. A field of ``null`` is one that is not there.

    Every method refuses what is of another kind, with `InvalidGrammar` and its JSON pointer.

    Parameters
    ----------
    value : object
        What stands there.
    pointer : str
        Its JSON pointer.
    """

    def __init__(self, value: object, pointer: str) -> None:
        if not isinstance(value, Mapping):
            refuse(pointer, f"expected an object, not {_kind(value)}")
        self.pointer = pointer
        self._left = {name: one for name, one in cast("Mapping[str, Any]", value).items() if one is not None}

    def __contains__(self, name: str) -> bool:
        """Whether the field is there and has not been taken."""
        return name in self._left

    def at(self, name: str) -> str:
        """The JSON pointer of a field."""
        return f"{self.pointer}/{name}"

    def take(self, name: str) -> Any:
        """Whatever a field holds that must be there."""
        if name not in self._left:
            refuse(self.pointer, f"the field {name!r} is missing")
        return self._left.pop(name)

    def text(self, name: str, default: str | None = None) -> str:
        """A string, which must be there where there is no default."""
        value = self._optional(name, default)
        return value if isinstance(value, str) else self._not(name, "a string", value)

    def texts(self, name: str, *, needed: bool = False) -> list[bytes]:
        """Strings that are not empty, in UTF-8; without ``needed`` there may be none."""
        return [
            encoded(one, pointer) if isinstance(one, str) and one else self._not_text(one, pointer)
            for one, pointer in self.items(name, needed=needed)
        ]

    def flag(self, name: str) -> bool:
        """True or false, false where it is not there."""
        value = self._left.pop(name, False)
        return value if isinstance(value, bool) else self._not(name, "true or false", value)

    def whole(self, name: str) -> int:
        """A whole number, which must be there."""
        value = self.take(name)
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return value if is_whole else self._not(name, "a whole number", value)

    def items(self, name: str, *, needed: bool = True) -> Iterator[tuple[Any, str]]:
        """The elements of a list and their pointers; with ``needed`` there must be one."""
        value = self.take(name) if needed else self._left.pop(name, [])
        if not isinstance(value, (list, tuple)):
            self._not(name, "a list", value)
        if needed and not value:
            refuse(self.at(name), "the list is empty; give at least one")
        elements = cast("Sequence[Any]", value)
        return ((one, f"{self.at(name)}/{place}") for place, one in enumerate(elements))

    def only(self, name: str, *values: object, why: str) -> Any:
        """A field that may be left out, or be one of ``values``; others are refused for the reason given."""
        value = self._left.pop(name, values[0])
        known = any(type(value) is type(one) and value == one for one in values)
        return value if known else refuse(self.at(name), f"{value!r} is not supported: {why}")

    def done(self, what: str) -> None:
        """Refuse what has not been taken: nothing is ignored."""
        for name in self._left:
            refuse(self.at(f"{name}".replace("~", "~0").replace("/", "~1")), f"{what} has no such field")

    def _optional(self, name: str, default: object) -> object:
        return self.take(name) if default is None else self._left.pop(name, default)

    def _not(self, name: str, wanted: str, value: object) -> NoReturn:
        refuse(self.at(name), f"expected {wanted}, not {_kind(value)}")

    def _not_text(self, value: object, pointer: str) -> NoReturn:
        refuse(pointer, "an empty string" if value == "" else f"expected a string, not {_kind(value)}")


def _kind(value: object) -> str:
    names = {bool: "a boolean", str: "a string", list: "a list", dict: "an object", int: "a number", float: "a number"}
    return next((name for kind, name in names.items() if type(value) is kind), f"{value!r}")
