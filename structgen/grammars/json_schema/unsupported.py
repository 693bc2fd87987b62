"""What cannot be held exactly: refused, or left out of the grammar and noted.

What is left out makes the language wider and never narrower. That is plain where a plan is written, for plans say what
holds and their negations have been worked out by then. Where the algebra itself meets such a keyword, the ways of
failing it are any, as are those of meeting it.
"""

from __future__ import annotations

from structgen.errors import UnsupportedSchema
from structgen.grammars.relaxation import Relaxation

__all__ = ["Unsupported"]


class Unsupported:
    """Takes note of what cannot be held.

    Parameters
    ----------
    relaxing : bool
        Whether it is left out; else it is refused.
    """

    def __init__(self, *, relaxing: bool) -> None:
        self.relaxing = relaxing
        self._found: dict[tuple[str, str], Relaxation] = {}

    def meet(self, pointer: str, keyword: str, why: str) -> None:
        """Note a keyword that is left out.

        Raises
        ------
        UnsupportedSchema
            Nothing is left out here.
        """
        if not self.relaxing:
            raise UnsupportedSchema(pointer, keyword, why)
        self._found.setdefault((pointer, keyword), Relaxation(pointer, keyword, why))

    @property
    def relaxed(self) -> tuple[Relaxation, ...]:
        """What was left out, in order."""
        return tuple(sorted(self._found.values()))
