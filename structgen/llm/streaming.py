"""An answer as it comes: deltas in; pieces of text, or values so far, out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from typing import Any

from typing_extensions import override

from structgen.engine.client import DeltaStream
from structgen.engine.request import Delta
from structgen.errors import AnswerRefused
from structgen.llm.answers import AnswerDelta
from structgen.llm.drawing import cut_answer
from structgen.llm.forms import AnswerForm

__all__ = ["AnswerStream", "DeltaReader", "TextReader", "ValueReader"]


class DeltaReader(ABC):
    """Makes of the deltas of one answer, one after the other, what its reader sees."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def read(self, delta: Delta) -> Iterator[Any]:
        """Yield what a delta brings, and then raise what is wrong with it."""
        if delta.error is not None:
            raise delta.error
        self._pieces.append(delta.text)
        yield from self._read(delta)

    @abstractmethod
    def _read(self, delta: Delta) -> Iterator[Any]: ...


class TextReader(DeltaReader):
    """The text; an answer that was cut is an error."""

    def __init__(self) -> None:
        super().__init__()
        self._tokens = 0

    @override
    def _read(self, delta: Delta) -> Iterator[str]:
        self._tokens += len(delta.token_ids)
        if delta.text:
            yield delta.text
        if delta.finished and not delta.complete:
            raise cut_answer(delta, "".join(self._pieces), self._tokens)


class ValueReader(DeltaReader):
    """Deltas with the value so far; an answer that its form refuses is an error.

    Parameters
    ----------
    form : AnswerForm
        The answer's.
    """

    def __init__(self, form: AnswerForm) -> None:
        super().__init__()
        self._form = form
        self._partial = form.partial()

    @override
    def _read(self, delta: Delta) -> Iterator[AnswerDelta]:
        if self._partial is not None:
            self._partial.feed(delta.text)
        value = None if self._partial is None else self._partial.value
        refusal = None
        if delta.finished and delta.complete:
            try:
                value = self._form.read("".join(self._pieces))
            except AnswerRefused as error:
                refusal = error
        yield AnswerDelta(**vars(delta), value=value)
        if refusal is not None:
            raise refusal


class AnswerStream(Iterator[Any]):
    """One answer as it comes. Leaving it before the end (``close``, losing the last reference) aborts its request.

    Parameters
    ----------
    deltas : DeltaStream
        Of the request.
    reader : DeltaReader
        Makes of them what is yielded.
    """

    def __init__(self, deltas: DeltaStream, reader: DeltaReader) -> None:
        self.deltas = deltas
        self.reader = reader
        self._pieces = _pieces(deltas, reader)

    def __next__(self) -> Any:
        return next(self._pieces)

    def close(self) -> None:
        """Abort the request if it is not finished; iteration ends."""
        self._pieces.close()
        self.deltas.close()


def _pieces(deltas: DeltaStream, reader: DeltaReader) -> Generator[Any, None, None]:
    with deltas:
        for delta in deltas:
            yield from reader.read(delta)
