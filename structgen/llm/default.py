"""The model of those who name none."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

from structgen.llm.batches import check_on_error
from structgen.llm.drawing import check_retries, read_sampling_params
from structgen.llm.forms import answer_form
from structgen.llm.front import LLM
from structgen.llm.generator import as_prompts

__all__ = ["default_llm", "generate"]


class _Default:
    """The default model, loaded at the first use and then kept, in each process anew."""

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def get(self) -> LLM:
        with self._lock:  # so that two threads do not both load it
            if self._llm is None:
                self._llm = LLM()
            return self._llm

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._llm: LLM | None = None


_default = _Default()


def default_llm() -> LLM:
    """Return the model that :func:`generate` asks: the default one, loaded at the first use and then kept."""
    return _default.get()


def generate(prompts: str | Sequence[str], **options: Any) -> Any:
    """Answer one prompt or a list of them with the default model; everything is as in :meth:`LLM.generate`."""
    # Checked here too: the first call fetches and loads a model, and a wrong argument should not wait for that.
    as_prompts(prompts)
    forms = (options.get(name) for name in ("schema", "regex", "choice", "grammar", "structural_tag"))
    answer_form(*forms, on_unsupported=options.get("on_unsupported", "error"))
    read_sampling_params(options.get("sampling_params"))
    check_retries(options.get("retries", 0))
    check_on_error(options.get("on_error", "raise"))
    return default_llm().generate(prompts, **options)
