"""A function from prompts to answers of one form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from structgen.engine.request import SamplingParams
from structgen.errors import InvalidRequest
from structgen.llm.asking import Asker
from structgen.llm.batches import OnError, ask_all
from structgen.llm.forms import AnswerForm

__all__ = ["Generator", "as_prompts"]


class Generator:
    """Answers prompts in one form; what the form needs is prepared once. ``llm.generator(schema)`` makes one.

    Parameters
    ----------
    asker : Asker
        Asks the model.
    form : AnswerForm
        What each answer must be.
    """

    def __init__(self, asker: Asker, form: AnswerForm) -> None:
        self._asker = asker
        self._form = form

    def __call__(
        self,
        prompts: str | Sequence[str],
        *,
        sampling_params: SamplingParams | None = None,
        retries: int = 2,
        chat_template: bool = True,
        show_schema: bool = True,
        return_details: bool = False,
        on_error: OnError = "raise",
        progress: bool | None = None,
    ) -> Any:
        """Answer one prompt or a list of them; everything is as in :meth:`structgen.LLM.generate`."""
        questions = [
            self._asker.writer.question(prompt, self._form, chat_template=chat_template, show_form=show_schema)
            for prompt in as_prompts(prompts)
        ]
        return ask_all(
            self._asker,
            questions,
            several=not isinstance(prompts, str),
            sampling_params=sampling_params,
            retries=retries,
            return_details=return_details,
            on_error=on_error,
            progress=progress,
        )


def as_prompts(prompts: object) -> list[str]:
    """Return one prompt or several as a list of them.

    Raises
    ------
    InvalidRequest
        This is neither a text nor a list of texts; of a list the place is named.
    """
    if isinstance(prompts, str):
        return [prompts]
    if not isinstance(prompts, Iterable) or isinstance(prompts, (bytes, Mapping)):
        raise InvalidRequest(f"prompts: expected a string or a list of strings, not {type(prompts).__name__}")
    found = list(prompts)
    for place, prompt in enumerate(found):
        if not isinstance(prompt, str):
            raise InvalidRequest(f"prompts[{place}]: expected a string, not {type(prompt).__name__}")
    return found
