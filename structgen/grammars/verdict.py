"""Verdict: whether a text is of a grammar, and where and why it is not."""

from __future__ import annotations

from typing import NamedTuple

from structgen.grammars.automaton import StackAutomaton
from structgen.grammars.expr import Rule
from structgen.grammars.json_place import place_in_json
from structgen.grammars.relaxation import Refusal

__all__ = ["Verdict", "describe_bytes", "judge", "places_of", "refused"]

_STRIDE = 1 << 14
_MANY = 12
"""A list of so many characters is shown whole."""


class Verdict(NamedTuple):
    """What `TokenAutomaton.check` found. ``str()`` of it is one line for people."""

    accepted: bool
    """Whether the text is whole and valid."""
    at: int | None = None
    """Byte offset of the first byte after which no valid text goes on; the text's length where its end is missing;
    ``None`` where it is accepted."""
    line: int | None = None
    """Of ``at``, from 1."""
    column: int | None = None
    """Of ``at``, in characters from 1."""
    found: str = ""
    """The character at ``at``; empty where the text is at its end."""
    expected: bytes = b""
    """Every byte that could have come at ``at``, in order."""
    may_end: bool = False
    """Whether the text could have ended at ``at``."""
    path: str | None = None
    """JSON pointer of the value that ``at`` lies in, where the text begins as JSON does."""
    places: tuple[tuple[str, str], ...] = ()
    """The rules that hold the text there: (name, JSON pointer in the schema or ``""``)."""
    refusal: str = ""
    """Where the grammar accepts the text and the validator behind it does not, what that says; ``path`` is then the
    value at fault, ``at`` the text's length, and the one place the keyword that refuses it."""

    def __str__(self) -> str:
        if self.accepted:
            return "accepted"
        if self.refusal:
            return f"refused at its end, byte {self.at}, by the validator: {self.refusal}; {self._where()}"
        found = f"{_quoted(self.found)} cannot come here" if self.found else "the text ends too soon"
        wanted = describe_bytes(self.expected) if self.expected else ""
        if self.may_end:
            wanted = f"{wanted} or the end" if wanted else "the end"
        place = "" if self.at is None else f"byte {self.at} (line {self.line}, column {self.column}): "
        where = self._where()
        return f"{place}{found}; expected {wanted or 'nothing'}" + (f"; {where}" if where else "")

    def _where(self) -> str:
        # In JSON, rules without a pointer are helpers; elsewhere the name of a single one helps.
        places = [place for place in self.places if place[1] or (self.path is None and len(self.places) == 1)]
        rules = " or ".join(_fragment(pointer) if pointer else name for name, pointer in places)
        return " ".join(filter(None, [self.path and f"in {self.path}", rules and f"under {rules}"]))


def judge(stacks: StackAutomaton, text: bytes) -> Verdict:
    """The verdict on ``text``.

    Parameters
    ----------
    stacks : StackAutomaton
        The grammar.
    text : bytes
        Of any length; one pass and a bisection find the place of an error.
    """
    state, at = _longest_prefix(stacks, text)
    may_end = stacks.is_accepting(state)
    if at == len(text) and may_end:
        return Verdict(accepted=True)
    line, column = _line_and_column(text, at)
    return Verdict(
        accepted=False,
        at=at,
        line=line,
        column=column,
        found=_character_at(text, at),
        expected=stacks.next_bytes(state),
        may_end=may_end,
        path=place_in_json(text[:at].decode(errors="replace")) if text[:1] in (b"{", b"[") else None,
        places=places_of(stacks, state),
    )


def refused(text: bytes, refusal: Refusal) -> Verdict:
    """The verdict on a text that the grammar accepts and the validator behind it does not."""
    line, column = _line_and_column(text, len(text))
    return Verdict(
        accepted=False,
        at=len(text),
        line=line,
        column=column,
        path=refusal.path,
        places=((refusal.keyword, refusal.pointer),),
        refusal=refusal.why,
    )


def places_of(stacks: StackAutomaton, state: int) -> tuple[tuple[str, str], ...]:
    """What a text in ``state`` is in: (name, JSON pointer or ``""``), each once."""
    names = stacks.value_names
    named = [
        (one.name, one.pointer) if isinstance(one, Rule) else (names.get(one) or _kind(one), "")
        for one in stacks.rules(state)
    ]
    return tuple(dict.fromkeys(named))


def describe_bytes(allowed: bytes) -> str:
    """What may come, in a few words.

    Parameters
    ----------
    allowed : bytes
        In order, each once.
    """
    rest = set(allowed)
    if len(rest & _PRINTABLE) > _NEARLY_ALL:
        return _nearly_all(rest)
    if len(rest) > 1:
        rest.discard(ord("\\"))  # another spelling of what is named beside it
    words: list[str] = []
    for name, members in _GROUPS:
        if members <= rest:
            words.append(name)
            rest -= members
    if any(byte >= 0xC0 for byte in rest):
        words.append("a character beyond ASCII")
    elif any(byte >= 0x80 for byte in rest):
        words.append("the rest of a character")
    single = [_quoted(chr(byte)) for byte in sorted(rest) if byte < 0x80]
    if len(single) > _MANY:
        single = [*single[: _MANY - 2], f"one of {len(single) - _MANY + 2} more characters"]
    return _either(single + words)


_PRINTABLE = frozenset(range(0x20, 0x7F))
_NEARLY_ALL = 80
_DIGITS = frozenset(b"0123456789")
_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_GROUPS = (
    ("a letter", _LETTERS),
    ("a letter a to z", frozenset(b"abcdefghijklmnopqrstuvwxyz")),
    ("a letter A to Z", frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")),
    ("a digit", _DIGITS),
    ("a digit 1 to 9", _DIGITS - frozenset(b"0")),
    ("white space", frozenset(b" \n")),
)
_NAMES = {"\n": "a line feed", "\t": "a tab", "\r": "a carriage return", " ": "a space", '"': "a quote", "\x7f": "DEL"}


def _nearly_all(allowed: set[int]) -> str:
    """What may come where most characters may."""
    name = "any character" if max(allowed) >= 0x80 else "any ASCII character"
    but = [_quoted(chr(byte)) for byte in sorted(_PRINTABLE - allowed)]
    return f"{name} but {_either(but)}" if but else name


def _longest_prefix(stacks: StackAutomaton, text: bytes) -> tuple[int, int]:
    """The state after the longest prefix that can be continued, and its length."""
    state, at, stride = stacks.start, 0, _STRIDE
    while at < len(text):
        end = min(at + stride, len(text))
        after = stacks.advance_bytes(state, text[at:end])
        if after:
            state, at = after, end
        elif end - at == 1:
            break
        else:
            stride = (end - at) // 2
    return state, at


def _line_and_column(text: bytes, at: int) -> tuple[int, int]:
    """Where the byte at ``at`` stands, both from 1, the column in characters."""
    line_start = text.rfind(b"\n", 0, at) + 1
    return text.count(b"\n", 0, at) + 1, len(text[line_start:at].decode(errors="replace")) + 1


def _character_at(text: bytes, at: int) -> str:
    """The whole character that the byte at ``at`` belongs to; U+FFFD where it belongs to none."""
    if at == len(text):
        return ""
    for first in range(at, max(-1, at - 4), -1):
        if text[first] & 0xC0 != 0x80:
            character = text[first : first + 4].decode(errors="replace")[:1]
            return character if first + len(character.encode()) > at else "\ufffd"
    return "\ufffd"


def _kind(one: object) -> str:
    """A value's kind for people: an ``ObjectValue`` is an object."""
    return type(one).__name__.removesuffix("Value").lower()


def _fragment(pointer: str) -> str:
    return f"#{pointer}" if pointer.startswith("/") else pointer


def _quoted(character: str) -> str:
    if character in _NAMES:
        return _NAMES[character]
    return f"'{character}'" if character.isprintable() else f"U+{ord(character):04X}"


def _either(words: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1] if words else ""]))
