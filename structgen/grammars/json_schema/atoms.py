"""Atoms: what a value meets or fails, and the conjunctions of them that the algebra reckons with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structgen.grammars.json_schema.ways import Ways

__all__ = ["ANYTHING", "CLOSED", "NOTHING", "Atom", "Constant", "Either", "Negation"]


CLOSED: tuple[int, int] = (-1, -1)
NO_WAYS_YET: dict[int, Ways] = {}
"""What all atoms share before anything is known of them: most of them are looked at in one way only."""


class Atom:
    """A condition on a JSON value; told apart by identity, so that each is made only once.

    Attributes
    ----------
    pointer : str
        Where it comes from, for people.
    ways : dict of int to Ways
        How it can be met, by what was asked for; kept by the algebra.
    opened : tuple of int
        Depths at which it is being computed, -1 where it is not: for scalars, and for all types; kept by the algebra.
    kinds : int
        The types that values can have at most, -1 where not yet known; kept by the algebra.
    """

    __slots__ = ("_negation", "kinds", "opened", "pointer", "ways")

    def __init__(self, pointer: str) -> None:
        self.pointer = pointer
        self.ways: dict[int, Ways] = NO_WAYS_YET
        self.opened = CLOSED
        self.kinds = -1
        self._negation: Atom | None = None

    @property
    def is_negated(self) -> bool:
        """Whether this is the negation of something that is none."""
        return isinstance(self, Negation)

    @property
    def has_negation(self) -> bool:
        """Whether its negation has been made."""
        return self._negation is not None

    def remember(self, key: int, ways: Ways) -> None:
        """Keep ``ways`` under ``key``."""
        if self.ways is NO_WAYS_YET:
            self.ways = {}
        self.ways[key] = ways

    def forget(self) -> None:
        """Let go of what else leads back here."""
        self.ways, self._negation = NO_WAYS_YET, None

    def is_opposite_open(self, level: int) -> bool:
        """Whether the negation is being computed at this place of `opened`."""
        return self._negation is not None and self._negation.opened[level] >= 0

    @property
    def negation(self) -> Atom:
        """What holds exactly where this does not."""
        if self._negation is None:
            self._negation = Negation(self)
        return self._negation


class Negation(Atom):
    """Holds where ``atom`` does not."""

    __slots__ = ("atom",)

    def __init__(self, atom: Atom) -> None:
        super().__init__(atom.pointer)
        self.atom = atom
        self._negation = atom


class Constant(Atom):
    """Holds for one value: a member or an element of a value in ``enum`` or ``const``."""

    __slots__ = ("value",)

    def __init__(self, value: Any, pointer: str) -> None:
        super().__init__(pointer)
        self.value = value


class Either(Atom):
    """Holds where all atoms of one of the ``choices`` do."""

    __slots__ = ("choices",)

    def __init__(self, choices: tuple[tuple[Atom, ...], ...], pointer: str) -> None:
        super().__init__(pointer)
        self.choices = choices


ANYTHING = Atom("")
NOTHING = ANYTHING.negation
