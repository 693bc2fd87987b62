"""A download's progress as a bar on a terminal, for whoever fetches a model on a user's behalf.

The command line and :class:`structgen.LLM` do; the sources only call a :data:`ProgressCallback` and draw nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from structgen.engine.sources.base import Progress, ProgressCallback

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
    tasks: dict[str, bars.TaskID] = {}
    display = bars.Progress(*columns, console=console, disable=not console.is_terminal)

    def show(progress: Progress) -> None:
        if progress.stage not in tasks:
            display.start()  # once is enough, twice does nothing
            tasks[progress.stage] = display.add_task(f"{title}: {progress.stage}", total=None)
        display.update(tasks[progress.stage], completed=progress.completed, total=progress.total)

    try:
        yield show
    finally:
        display.stop()
