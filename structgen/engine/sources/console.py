"""A download's progress as a bar on a terminal, for whoever fetches a model on a user's behalf.

The command line and :class:`structgen.LLM` do; the sources only call a :data:`ProgressCallback` and draw nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from structgen.engine.sources.base import Progress, ProgressCallback

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

__all__ = ["console_progress"]


@contextmanager
def console_progress(title: str) -> Iterator[ProgressCallback]:
    """Draw a bar for each stage on standard error while the context lasts.

    Nothing is written where standard error is no terminal, nor where nothing is fetched.

    Parameters
    ----------
    title : str
        What is being fetched.
    """
    display = _Display(title)
    try:
        yield display.show
    finally:
        display.stop()


class _Display:
    """The bars; rich takes a tenth of a second to import, so it comes in when there is something to show."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._bars: Bars | None = None
        self._tasks: dict[str, TaskID] = {}

    def show(self, progress: Progress) -> None:
        if self._bars is None:
            self._bars = _bars()
            self._bars.start()
        if progress.stage not in self._tasks:
            self._tasks[progress.stage] = self._bars.add_task(f"{self._title}: {progress.stage}", total=None)
        self._bars.update(self._tasks[progress.stage], completed=progress.completed, total=progress.total)

    def stop(self) -> None:
        if self._bars is not None:
            self._bars.stop()


def _bars() -> Bars:
    from rich import progress as bars
    from rich.console import Console

    console = Console(stderr=True)
    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.DownloadColumn(),
        bars.TransferSpeedColumn(),
        bars.TimeRemainingColumn(),
    )
    return bars.Progress(*columns, console=console, disable=not console.is_terminal)
