"""How a JSON string may be spelled, slowly and obviously: every spelling of every character, written out."""

from __future__ import annotations

from collections.abc import Iterable

from structgen.grammars.expr import Expr, alternation, byte_set, literal, sequence

SHORT = {'"': b'"', "\\": b"\\", "/": b"/", "\b": b"b", "\f": b"f", "\n": b"n", "\r": b"r", "\t": b"t"}


def spellings_of(char: str) -> list[list[bytes]]:
    """For each way to write a character, the bytes that may stand in each place."""
    ways = []
    if ord(char) >= 0x20 and char not in '"\\':
        ways.append([bytes([byte]) for byte in char.encode()])
    if char in SHORT:
        ways.append([b"\\", SHORT[char]])
    escapes = []
    for unit in char.encode("utf-16-be").hex(" ", 2).split():
        escapes += [b"\\", b"u", *(bytes({*digit.encode(), *digit.upper().encode()}) for digit in unit)]
    return [*ways, escapes]


class Spelling:
    """Part of a string's spelling, and the texts that it may become. Immutable."""

    def __init__(self, texts: Iterable[str], length: int = -1, ways: Iterable[tuple[str, list[bytes]]] = ()) -> None:
        self._texts, self._length = list(texts), length  # of the characters read; -1 before the opening quote
        self._ways = list(ways)  # of the character begun: what it may be, and the rest of its spelling

    @property
    def is_whole(self) -> bool:
        return self._length == -2

    @property
    def texts(self) -> set[str]:
        """What it may become."""
        chars = {char for char, _ in self._ways}
        return {text for text in self._texts if not chars or self._next_of(text) in chars}

    @property
    def cheapest_end(self) -> int:
        """The fewest bytes that finish it, where it may become one text only."""
        (text,) = self.texts
        costs = [min(map(len, spellings_of(char))) for char in text[max(0, self._length) :]]
        if self._ways:
            costs[0] = min(len(way) for _, way in self._ways)
        return sum(costs) + (2 if self._length < 0 else 1)

    @property
    def next_bytes(self) -> set[int]:
        return {byte for _, way in self._open() for byte in way[0]}

    def after(self, byte: int) -> Spelling:
        ways = [(char, way[1:]) for char, way in self._open() if byte in way[0]]
        ended = {char for char, way in ways if not way}
        if not ended:
            chars = {char for char, _ in ways}
            return Spelling([text for text in self._texts if self._next_of(text) in chars], self._length, ways)
        (char,) = ended
        texts = [text for text in self._texts if self._next_of(text) == char]
        return Spelling(texts, self._length + 1 if char else -2 if self._length >= 0 else 0)

    def _next_of(self, text: str) -> str:
        """The next character; none is a quote."""
        return text[self._length : self._length + 1] if self._length >= 0 else ""

    def _open(self) -> list[tuple[str, list[bytes]]]:
        if self._ways or self.is_whole:
            return self._ways
        chars = {self._next_of(text) for text in self._texts}
        return [(char, way) for char in chars for way in (spellings_of(char) if char else [[b'"']])]


def as_expression(texts: Iterable[str]) -> Expr:
    """Every spelling of each of ``texts``."""
    return alternation(*(sequence(literal(b'"'), *map(_character, text), literal(b'"')) for text in texts))


def _character(char: str) -> Expr:
    return alternation(*(sequence(*map(byte_set, way)) for way in spellings_of(char)))
