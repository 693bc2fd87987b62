"""A JSON text that is still being written: the value of what is there."""

from __future__ import annotations

import io
import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from typing_extensions import override

__all__ = ["Growing", "GrowingDict", "GrowingList", "JsonPlace", "PartialReader", "Place"]

OPEN_LEVELS = 4
"""Values are shown in parts down to this level, so that no text is read again more often than that."""

_SPACE = " \t\r\n"
_ENDS_NUMBER = f",]}}{_SPACE}"


class Place:
    """What stands at one place of the text; this one, the base of others, is shown once it is whole.

    Parameters
    ----------
    read : callable
        Makes the value of the whole text there; raises where it is refused.
    """

    def __init__(self, read: Callable[[str], Any]) -> None:
        self.read = read

    def open(self, bracket: str) -> Growing | None:
        """Return what to show while ``bracket``, the first character, is not closed; None for nothing."""
        return None


class Growing(ABC):
    """An array or an object that is not closed.

    Parameters
    ----------
    value : object
        What is shown of it; it grows in place.
    finished : bool
        Whether that is its value when it is closed; else its place reads the whole text then.
    """

    def __init__(self, value: Any, *, finished: bool) -> None:
        self.value = value
        self.finished = finished

    @abstractmethod
    def place(self, key: str | None) -> Place:
        """Return the place of a member or, without a key, of the next item."""

    @abstractmethod
    def put(self, key: str | None, value: object) -> None:
        """Show a member, once more perhaps, or a further item."""


class GrowingList(Growing):
    """An array, shown item by item."""

    def __init__(self, item: Place, *, finished: bool) -> None:
        super().__init__([], finished=finished)
        self._item = item

    @override
    def place(self, key: str | None) -> Place:
        return self._item

    @override
    def put(self, key: str | None, value: object) -> None:
        self.value.append(value)


class GrowingDict(Growing):
    """An object, shown member by member; ``place_of`` gives the place of each key."""

    def __init__(self, place_of: Callable[[str], Place], *, finished: bool) -> None:
        super().__init__({}, finished=finished)
        self._place_of = place_of

    @override
    def place(self, key: str | None) -> Place:
        return self._place_of(key or "")

    @override
    def put(self, key: str | None, value: object) -> None:
        self.value[key] = value


class JsonPlace(Place):
    """Any JSON, read as ``json.loads`` does; items of an array are shown once they are whole."""

    def __init__(self, level: int = 0) -> None:
        super().__init__(json.loads)
        self._level = level

    @override
    def open(self, bracket: str) -> Growing | None:
        if self._level == OPEN_LEVELS:
            return None
        if bracket == "{":
            member = JsonPlace(self._level + 1)
            return GrowingDict(lambda key: member, finished=True)
        return GrowingList(Place(json.loads), finished=True) if bracket == "[" else None


class _Frame(NamedTuple):
    growing: Growing
    place: Place
    start: int
    """Where its text begins."""
    key: str | None
    """What it is in the frame around it."""


class PartialReader:
    """Reads a JSON text as it comes, each character once and, for its value, at most `OPEN_LEVELS` times more.

    It trusts the text to be the beginning of JSON, and refuses nothing: a part whose place refuses it is not shown.
    What is wrong with it is told when the whole text is read.

    Parameters
    ----------
    root : Place
        What the text is.

    Attributes
    ----------
    value : object
        What is there of the value; None while nothing is. Containers in it grow in place.
    """

    def __init__(self, root: Place) -> None:
        self._root = root
        self._text = io.StringIO()
        self._position = 0
        self._frames: list[_Frame] = []
        self._key: str | None = None
        self._start = 0  # of the text that is read when it is whole
        self._depth = 0
        self._in_string = self._escaped = False
        self._state: Callable[[str], None] = self._before_value
        self.value: Any = None

    def feed(self, text: str) -> None:
        """Read on."""
        self._text.seek(self._position)
        self._text.write(text)
        for char in text:
            self._state(char)
            self._position += 1

    def _before_value(self, char: str) -> None:
        if char in _SPACE:
            return
        if char == "]":
            self._close()
            return
        place = self._place()
        growing = place.open(char)
        if growing is None:
            self._start, self._depth = self._position, 0
            self._in_string, self._escaped = False, False
            self._state = self._within_value
            self._within_value(char)
            return
        frame = _Frame(growing, place, self._position, self._key)
        self._put(self._key, growing.value)
        self._frames.append(frame)
        self._next_member()

    def _within_value(self, char: str) -> None:
        """Find the end of a value that is read when it is whole."""
        if self._in_string:
            self._within_string(char)
        elif char == '"':
            self._in_string = True
        elif char in "[{":
            self._depth += 1
        elif not self._depth and char in _ENDS_NUMBER:
            self._end_value(self._position)
            self._state(char)
        elif char in "]}":
            self._depth -= 1
            if not self._depth:
                self._end_value(self._position + 1)

    def _within_string(self, char: str) -> None:
        if self._escaped:
            self._escaped = False
        elif char == "\\":
            self._escaped = True
        elif char == '"':
            self._in_string = False
            if not self._depth:
                self._end_value(self._position + 1)

    def _end_value(self, end: int) -> None:
        self._state = self._after_value
        self._show(self._place(), self._key, self._start, end)

    def _before_key(self, char: str) -> None:
        if char == '"':
            self._start, self._escaped = self._position, False
            self._state = self._within_key
        elif char == "}":
            self._close()

    def _within_key(self, char: str) -> None:
        if self._escaped:
            self._escaped = False
        elif char == "\\":
            self._escaped = True
        elif char == '"':
            self._key = json.loads(self._between(self._start, self._position + 1))
            self._state = self._before_colon

    def _before_colon(self, char: str) -> None:
        if char == ":":
            self._state = self._before_value

    def _after_value(self, char: str) -> None:
        if char == ",":
            self._next_member()
        elif char in "]}":
            self._close()

    def _next_member(self) -> None:
        in_list = isinstance(self._frames[-1].growing, GrowingList)
        self._key = None
        self._state = self._before_value if in_list else self._before_key

    def _close(self) -> None:
        frame = self._frames.pop()
        self._state = self._after_value
        if not frame.growing.finished:
            self._show(frame.place, frame.key, frame.start, self._position + 1)

    def _show(self, place: Place, key: str | None, start: int, end: int) -> None:
        try:
            value = place.read(self._between(start, end))
        except Exception:  # of the user's own validators too; the whole answer is read at the end, and raises it
            return
        self._put(key, value)

    def _place(self) -> Place:
        return self._frames[-1].growing.place(self._key) if self._frames else self._root

    def _put(self, key: str | None, value: object) -> None:
        if self._frames:
            self._frames[-1].growing.put(key, value)
        else:
            self.value = value

    def _between(self, start: int, end: int) -> str:
        self._text.seek(start)
        return self._text.read(end - start)
