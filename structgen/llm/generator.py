"""A function from prompts to answers of one form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from structgen.engine.request import SamplingParams
from structgen.llm.asking import Asker
from structgen.llm.forms import AnswerForm

__all__ = ["Generator"]


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
            for prompt in ([prompts] if isinstance(prompts, str) else prompts)
        ]
        answers = self._asker.ask(questions, sampling_params or SamplingParams(), retries)
        found = answers if return_details else [answer.value for answer in answers]
        return found[0] if isinstance(prompts, str) else found
