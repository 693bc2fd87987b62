"""A download's progress as a bar on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from structgen.engine.sources.base import Progress, ProgressCallback

__all__ = ["console_progress"]


@contextmanager
def console_progress(title: str) -> Iterator[ProgressCallback]:
    """Draw a bar for each stage on standard error while the context lasts; nothing where that is no terminal.

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
    with bars.Progress(*columns, console=console, disable=not console.is_terminal) as display:

        def show(progress: Progress) -> None:
            if progress.stage not in tasks:
                tasks[progress.stage] = display.add_task(f"{title}: {progress.stage}", total=None)
            display.update(tasks[progress.stage], completed=progress.completed, total=progress.total)

        yield show
