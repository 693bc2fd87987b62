"""A function from prompts to answers of one form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from structgen.engine.request import SamplingParams
from structgen.errors import InvalidRequest
from structgen.llm.asking import Asker, read_sampling_params
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
    ) -> Any:
        """Answer one prompt or a list of them; everything is as in :meth:`structgen.LLM.generate`."""
        questions = [
            self._asker.writer.question(prompt, self._form, chat_template=chat_template, show_form=show_schema)
            for prompt in as_prompts(prompts)
        ]
        answers = self._asker.ask(questions, read_sampling_params(sampling_params), retries)
        found = answers if return_details else [answer.value for answer in answers]
        return found[0] if isinstance(prompts, str) else found


def as_prompts(prompts: object) -> list[object]:
    """Return one prompt or several as a list of them; each is read when it is written for the model.

    Raises
    ------
    InvalidRequest
        This is neither a text nor a list.
    """
    if isinstance(prompts, str):
        return [prompts]
    if not isinstance(prompts, Iterable) or isinstance(prompts, (bytes, Mapping)):
        raise InvalidRequest(f"prompts: expected a string or a list of strings, not {type(prompts).__name__}")
    return list(prompts)
