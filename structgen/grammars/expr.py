"""The grammar IR: immutable, hash-consed expressions over symbols, and rules.

The alphabet is the 256 bytes and one symbol for each special token. Every front end writes this, and nothing else
reaches an automaton. Equal expressions are one object, so they compare and hash by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from weakref import WeakValueDictionary

from structgen.grammars.limits import checkpoint

__all__ = [
    "EPSILON",
    "NEVER",
    "Alternation",
    "ByteSet",
    "Call",
    "Expr",
    "Joined",
    "Literal",
    "Repetition",
    "Rule",
    "Sequence",
    "SpecialToken",
    "alternation",
    "byte_set",
    "call",
    "intern",
    "joined",
    "literal",
    "optional",
    "repetition",
    "sequence",
    "special_token",
]


class Expr:
    """A language of symbol strings. Made by the functions of this module, which keep equal ones identical."""

    __slots__ = ("__weakref__",)


class Literal(Expr):
    """One string of bytes; the empty one is `EPSILON`."""

    __slots__ = ("text",)

    def __init__(self, text: bytes) -> None:
        self.text = text


class ByteSet(Expr):
    """One byte out of a set, given as a 256-bit integer; the empty set is `NEVER`."""

    __slots__ = ("bits",)

    def __init__(self, bits: int) -> None:
        self.bits = bits


class SpecialToken(Expr):
    """One special token, which is a symbol of its own and never its text."""

    __slots__ = ("token_id",)

    def __init__(self, token_id: int) -> None:
        self.token_id = token_id


class Sequence(Expr):
    """One after the other."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Expr, ...]) -> None:
        self.parts = parts


class Alternation(Expr):
    """Any one of them."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Expr, ...]) -> None:
        self.parts = parts


class Repetition(Expr):
    """At least ``low`` times, at most ``high`` times; ``None`` is without end."""

    __slots__ = ("high", "low", "part")

    def __init__(self, part: Expr, low: int, high: int | None) -> None:
        self.part, self.low, self.high = part, low, high


class Joined(Expr):
    """Items in this order, a separator between neighbours; those not required may be left out, but not all of them."""

    __slots__ = ("items", "separator")

    def __init__(self, items: tuple[tuple[Expr, bool], ...], separator: Expr) -> None:
        self.items, self.separator = items, separator


class Call(Expr):
    """Whatever ``rule`` matches."""

    __slots__ = ("rule",)

    def __init__(self, rule: Rule) -> None:
        self.rule = rule


class Rule:
    """A named expression, written when first reached; rules may refer to each other in circles.

    Parameters
    ----------
    name : str
        For people: what a state explains itself with.
    define : Callable[[], Expr]
        Gives the body; always the same.
    pointer : str
        Where the rule comes from: a JSON pointer, or empty.
    is_common : bool
        Whether it is one of a few that many grammars call, made once in a process: what automata need to know of it is
        worked out once for a vocabulary.
    is_shared : bool
        Whether it is a whole grammar that stands in others: it calls nothing of theirs, and its facts are worked out
        once for a vocabulary.
    value_names : mapping of Expr to str, optional
        Of values that it or its rules call, what they are to people: the names of terminals.
    """

    def __init__(
        self,
        name: str,
        define: Callable[[], Expr],
        pointer: str = "",
        *,
        is_common: bool = False,
        is_shared: bool = False,
        value_names: Mapping[Expr, str] | None = None,
    ) -> None:
        self.name, self.pointer, self.is_common, self.is_shared = name, pointer, is_common, is_shared
        self.value_names: Mapping[Expr, str] = {} if value_names is None else value_names
        self._define = define
        self._body: Expr | None = None

    @property
    def body(self) -> Expr:
        """The expression of this rule."""
        if self._body is None:  # two threads may both write it, and get the same
            self._body = self._define()
        return self._body

    def __repr__(self) -> str:
        return f"Rule({self.name!r})"


_interned: WeakValueDictionary[tuple[object, ...], Expr] = WeakValueDictionary()


def intern(kind: type[Expr], *fields: object) -> Expr:
    """The expression of ``kind`` with ``fields``: always the same object for equal ones."""
    key = (kind, *fields)
    found = _interned.get(key)
    if found is None:
        checkpoint()
        found = kind(*fields)
        found = _interned.setdefault(key, found)  # another thread's, should it have been first
    return found


def literal(text: bytes) -> Expr:
    """Exactly ``text``."""
    return intern(Literal, text)


def byte_set(bits: int | Iterable[int]) -> Expr:
    """One byte out of ``bits``: a 256-bit integer, or the bytes themselves."""
    if not isinstance(bits, int):
        bits = sum(1 << byte for byte in set(bits))
    return intern(ByteSet, bits)


def special_token(token_id: int) -> Expr:
    """The special token ``token_id``."""
    return intern(SpecialToken, token_id)


def call(rule: Rule) -> Expr:
    """Whatever ``rule`` matches."""
    return intern(Call, rule)


def sequence(*parts: Expr) -> Expr:
    """Each of ``parts`` in turn; nested sequences are flattened and neighbouring literals joined."""
    flat: list[Expr] = []
    for part in parts:
        for piece in part.parts if isinstance(part, Sequence) else (part,):
            if piece is NEVER:
                return NEVER
            if flat and isinstance(piece, Literal) and isinstance(flat[-1], Literal):
                flat[-1] = literal(flat[-1].text + piece.text)
            elif piece is not EPSILON:
                flat.append(piece)
    if not flat:
        return EPSILON
    return flat[0] if len(flat) == 1 else intern(Sequence, tuple(flat))


def alternation(*parts: Expr) -> Expr:
    """Any one of ``parts``; nested alternations are flattened, doubles and `NEVER` dropped, byte sets united."""
    flat: dict[Expr, None] = {}
    bits = 0
    for part in parts:
        for piece in part.parts if isinstance(part, Alternation) else (part,):
            if isinstance(piece, ByteSet):
                bits |= piece.bits
            elif isinstance(piece, Literal) and len(piece.text) == 1:
                bits |= 1 << piece.text[0]
            else:
                flat[piece] = None
    if bits:
        flat[byte_set(bits)] = None
    if not flat:
        return NEVER
    return next(iter(flat)) if len(flat) == 1 else intern(Alternation, tuple(flat))


def repetition(part: Expr, low: int, high: int | None) -> Expr:
    """``part`` from ``low`` to ``high`` times."""
    if high == 0 or part is EPSILON or (part is NEVER and low == 0):
        return EPSILON
    if part is NEVER or (low, high) == (1, 1):
        return part
    return intern(Repetition, part, low, high)


def optional(part: Expr) -> Expr:
    """``part`` or nothing."""
    return repetition(part, 0, 1)


def joined(items: Iterable[tuple[Expr, bool]], separator: Expr) -> Expr:
    """``(item, required)`` pairs in this order, ``separator`` between those that are there; at least one is."""
    kept = tuple((item, required) for item, required in items if required or item is not NEVER)
    if not kept or any(item is NEVER for item, _ in kept):
        return NEVER
    return intern(Joined, kept, separator)


EPSILON = literal(b"")
NEVER = byte_set(0)
