"""Several answers at once: a bar while they come, and what becomes of those that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from structgen.engine.request import SamplingParams
from structgen.errors import BatchFailed, InvalidRequest, StructgenError
from structgen.llm.answers import Answer, Outcome
from structgen.llm.asking import Asker
from structgen.llm.drawing import read_sampling_params
from structgen.llm.prompting import Question

__all__ = ["OnError", "ask_all", "check_on_error"]

OnError = Literal["raise", "return"]
"""What is done with answers that cannot be had: raise their error once the others are there, or return it."""


def ask_all(
    asker: Asker,
    questions: Sequence[Question],
    *,
    several: bool,
    sampling_params: SamplingParams | None,
    retries: int,
    return_details: bool,
    on_error: OnError,
    progress: bool | None,
) -> Any:
    """Ask questions of one form and return what :meth:`structgen.LLM.generate` does.

    Parameters
    ----------
    several : bool
        Whether a list was asked for; without, there is one question.
    """
    check_on_error(on_error)
    params = read_sampling_params(sampling_params)
    total = params.n * len(questions)
    with _bar(total, total > 1 if progress is None else progress, force=bool(progress)) as note:
        outcomes = asker.ask(questions, params, retries, note)
    found: list[Any] = [one if return_details or isinstance(one, StructgenError) else one.value for one in outcomes]
    if params.n > 1:
        found = [found[first : first + params.n] for first in range(0, total, params.n)]
    results = found if several else found[0]
    errors = [outcome for outcome in outcomes if isinstance(outcome, StructgenError)]
    if errors and on_error == "raise":
        raise BatchFailed(results, errors, total) if several or params.n > 1 else errors[0]
    return results


def check_on_error(on_error: object) -> None:
    """Refuse what is neither of the two.

    Raises
    ------
    InvalidRequest
        It is something else.
    """
    if on_error not in ("raise", "return"):
        raise InvalidRequest(f"on_error: is 'raise' or 'return', not {on_error!r}")


@contextmanager
def _bar(total: int, wanted: bool, *, force: bool) -> Iterator[Callable[[Outcome], None]]:
    """A bar on standard error, and what tells it of each answer; where that is no terminal, only if it is forced."""
    if not wanted:
        yield lambda outcome: None
        return
    from rich import progress as bars
    from rich.console import Console

    console = Console(stderr=True)
    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
        bars.TextColumn("{task.fields[seen]}"),
    )
    tokens = failed = 0
    with bars.Progress(*columns, console=console, disable=not (force or console.is_terminal)) as display:
        task = display.add_task("answers", total=total, seen="")

        def note(outcome: Outcome) -> None:
            nonlocal tokens, failed
            tokens += outcome.usage.completion_tokens if isinstance(outcome, Answer) else 0
            failed += isinstance(outcome, StructgenError)
            speed = tokens / max(display.tasks[0].elapsed or 0, 1e-3)
            display.update(task, advance=1, seen=f"{speed:.0f} tok/s" + (f", {failed} failed" if failed else ""))

        yield note
