"""From a Hugging Face folder to a model of ``transformers`` that attends over our pages."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch

from structgen._reasons import first_line
from structgen.engine.foreign.interface import ATTENTION, register
from structgen.engine.foreign.library import import_transformers, quiet, version
from structgen.engine.foreign.probe import KINDS, Layer, probe
from structgen.engine.models.torch_weights import DTYPES
from structgen.engine.weights.huggingface import HuggingFaceCheckpoint
from structgen.errors import InvalidModelFile, UnsupportedModel

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from structgen.engine.tokenization.chat_template import ChatTemplate

__all__ = ["ForeignModel", "load_foreign_model"]

_log = logging.getLogger("structgen")

_DTYPE_SINCE = (4, 56)
"""Since then ``dtype`` is what ``torch_dtype`` was."""
_CHANGING_ROPES = frozenset({"dynamic", "longrope", "su"})
"""Scalings of rotary positions that turn every token otherwise once one in the step is far enough."""


@dataclass(frozen=True)
class ForeignModel:
    """A model in memory, ready to run, as :class:`~structgen.engine.models.loading.LoadedModel` is."""

    name: str
    architecture: str
    module: torch.nn.Module
    """A causal language model of ``transformers``, in evaluation."""
    dtype: torch.dtype
    """What it computes in."""
    layers: tuple[Layer, ...]
    """Its calls of attention, in their order."""
    vocab_size: int
    max_position_embeddings: int
    """The longest sequence, in tokens."""
    tokenizer: Tokenizer
    bos_token_id: int | None
    eos_token_ids: tuple[int, ...]
    chat_template: ChatTemplate | None


def load_foreign_model(checkpoint: HuggingFaceCheckpoint, name: str, dtype: str) -> ForeignModel:
    """Load a model through ``transformers``' own code for its architecture.

    Parameters
    ----------
    checkpoint : HuggingFaceCheckpoint
        The model's folder.
    name : str
        What the model is called.
    dtype : str
        What it computes in.

    Raises
    ------
    UnsupportedModel
        There is no ``transformers``, it does not know the architecture, or the model is of a kind that cannot run so.
    InvalidModelFile
        The files are broken, or tensors are missing or misshapen.
    """
    architecture, path = checkpoint.architecture, checkpoint.path
    with _naming(path):
        transformers, config = _open(checkpoint)
        longest = _longest(config.get_text_config())
    tokenizer = checkpoint.tokenizer()
    with _naming(path):
        module = _load(transformers, path, config, DTYPES[dtype])
        found = probe(module, config.get_text_config())
    _log.warning(
        "structgen: %r has no description here; it runs through transformers' own code, up to %d tokens a sequence",
        architecture,
        longest,
    )
    return ForeignModel(
        name=name,
        architecture=architecture,
        module=module,
        dtype=DTYPES[dtype],
        layers=found.layers,
        vocab_size=found.vocab_size,
        max_position_embeddings=longest,
        tokenizer=tokenizer,
        bos_token_id=checkpoint.bos_token_id,
        eos_token_ids=checkpoint.eos_token_ids,
        chat_template=checkpoint.chat_template(),
    )


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let errors begin with the path."""
    try:
        yield
    except (InvalidModelFile, UnsupportedModel) as error:
        raise type(error)(f"{path}: {error}") from error


def _open(checkpoint: HuggingFaceCheckpoint) -> tuple[ModuleType, Any]:
    """Import ``transformers`` and let it read the configuration of a model that may run."""
    architecture = checkpoint.architecture
    transformers = import_transformers(architecture)
    if architecture not in transformers.CONFIG_MAPPING:
        own = "; code of the model's own (auto_map) is not run" if "auto_map" in checkpoint.metadata else ""
        raise UnsupportedModel(
            f"the architecture {architecture!r} is known neither here nor to transformers {transformers.__version__}, "
            f"of which a newer version may know it{own}"
        )
    config = _read_config(transformers, checkpoint.path)
    _check_kind(transformers, architecture, config)
    return transformers, config


def _read_config(transformers: ModuleType, path: Path) -> Any:
    try:
        return transformers.AutoConfig.from_pretrained(path, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # what checks a configuration raises differs by version and by model
        raise InvalidModelFile(
            f"config.json: transformers refuses it: {first_line(error)}; get the model's own configuration"
        ) from error


def _check_kind(transformers: ModuleType, architecture: str, config: Any) -> None:
    """Refuse what can be known not to run before its weights are read."""
    if getattr(config, "is_encoder_decoder", False):
        raise UnsupportedModel(f"{architecture!r} is an encoder with a decoder; decoders alone run")
    if type(config) not in transformers.MODEL_FOR_CAUSAL_LM_MAPPING:
        raise UnsupportedModel(f"transformers has no causal language model of {architecture!r}; such run")
    model = transformers.MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    other = sorted(set(getattr(config.get_text_config(), "layer_types", None) or ()) - KINDS)
    if other:
        raise UnsupportedModel(f"{architecture!r} has layers of {', '.join(other)}; full and sliding attention run")
    if model._is_stateful:
        raise UnsupportedModel(f"{architecture!r} keeps states besides keys and values; models of attention alone run")
    if "position_ids" not in inspect.signature(model.forward).parameters:
        raise UnsupportedModel(
            f"the code of {architecture!r} in transformers {transformers.__version__} takes no position_ids, so that "
            "tokens of many sequences cannot be in one pass; models run whose code takes them"
        )


def _load(transformers: ModuleType, path: Path, config: Any, dtype: torch.dtype) -> torch.nn.Module:
    register()
    with quiet(transformers):
        try:
            module, info = transformers.AutoModelForCausalLM.from_pretrained(
                path,
                config=config,
                attn_implementation=ATTENTION,
                local_files_only=True,
                output_loading_info=True,
                trust_remote_code=False,
                use_safetensors=True,
                **{"dtype" if version(transformers) >= _DTYPE_SINCE else "torch_dtype": dtype},
            )
        except KeyError as error:  # of a model that looks for its attention in a table of its own
            if error.args != (ATTENTION,):
                raise
            raise UnsupportedModel(
                f"its attention is not behind the attention interface of transformers {transformers.__version__}; "
                "models run whose attention is"
            ) from error
        except (RuntimeError, ValueError) as error:  # of misshapen tensors, and of what a model's own code checks
            raise InvalidModelFile(f"transformers cannot load it: {first_line(error)}; get the whole model") from error
    missing = sorted(info["missing_keys"])
    if missing:
        named = f"{', '.join(missing[:4])}{', ...' if len(missing) > 4 else ''}"
        raise InvalidModelFile(f"{len(missing)} tensors are missing: {named}; get the whole model")
    return module.eval().requires_grad_(False)


def _longest(text: Any) -> int:
    """Tokens of the longest sequence all of whose tokens are turned alike whatever else is in a step."""
    longest = getattr(text, "max_position_embeddings", None)
    if not isinstance(longest, int) or longest < 1:
        raise UnsupportedModel(f"max_position_embeddings is {longest!r}; a number of tokens is expected")
    lengths = [longest]
    for rope in _ropes(text):
        if rope.get("rope_type", rope.get("type")) in _CHANGING_ROPES:
            lengths += [
                rope.get("original_max_position_embeddings"),
                getattr(text, "original_max_position_embeddings", None),
            ]
    return min(length for length in lengths if length is not None)


def _ropes(text: Any) -> Iterator[Mapping[str, Any]]:
    """The settings of rotary positions, those of kinds of layers too, as versions of ``transformers`` have them."""
    for name in ("rope_parameters", "rope_scaling"):
        settings = getattr(text, name, None)
        if isinstance(settings, Mapping):
            yield settings
            yield from (value for value in settings.values() if isinstance(value, Mapping))
