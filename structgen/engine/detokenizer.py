"""Tokens to text as they come: whole characters only, and nothing that may still become a stop string."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence

__all__ = ["Detokenizer"]


class Detokenizer:
    """The text of one answer, built token by token.

    Parameters
    ----------
    token_bytes : callable
        The bytes of a token id; special tokens have none.
    stop : sequence of str
        Stop strings; the text ends before the one that is complete first.
    """

    def __init__(self, token_bytes: Callable[[int], bytes], stop: Sequence[str] = ()) -> None:
        self._token_bytes = token_bytes
        self._stop = tuple(stop)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self.stopped = False
        """Whether a stop string has come; no text follows it."""

    def add(self, token_id: int) -> str:
        """Take one token and return the text that is now certain, often empty.

        A character whose bytes are not all there is held back, and so is a tail that a stop string begins with.
        Bytes that are no UTF-8 become U+FFFD once it is certain that they are none.
        """
        if self.stopped:
            return ""
        self._held += self._decoder.decode(self._token_bytes(token_id))
        found = self._first_stop()
        if found is not None:
            self.stopped = True
            return self._release(found)
        return self._release(len(self._held) - self._undecided())

    def flush(self) -> str:
        """Return what was held back for a stop string that did not come; half a character is dropped."""
        return "" if self.stopped else self._release(len(self._held))

    def _release(self, length: int) -> str:
        text, self._held = self._held[:length], self._held[length:]
        return text

    def _first_stop(self) -> int | None:
        """Return where the stop string begins that is complete first, which does not depend on token borders."""
        starts = ((self._held.find(text), len(text)) for text in self._stop)
        ends = [(start + length, start) for start, length in starts if start >= 0]
        return min(ends)[1] if ends else None

    def _undecided(self) -> int:
        """Return the length of the longest tail that is the beginning of a stop string."""
        longest = max((len(text) - 1 for text in self._stop), default=0)
        for length in range(min(longest, len(self._held)), 0, -1):
            if any(text.startswith(self._held[-length:]) for text in self._stop):
                return length
        return 0
