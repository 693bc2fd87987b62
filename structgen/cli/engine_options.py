"""The options of every command that loads a model: how its engine runs, as `structgen.LLM` takes them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, Optional

import typer

from structgen.engine.options import EngineOptions

__all__ = ["ENGINE_OPTIONS", "takes_engine_options"]

_DEFAULTS = EngineOptions()


def _option(name: str, kind: Any, default: object, text: str, least: int | None = None) -> inspect.Parameter:
    annotation = Annotated[kind, typer.Option(help=text, min=least)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


_PARAMETERS = [
    _option("dtype", str, "float32", "What to compute in where there is no --quantization: float32 or bfloat16."),
    _option(
        "quantization",
        Optional[str],  # noqa: UP045 - typer reads it at run time, and older ones know no `str | None`
        None,
        "Format of the weights: int8, w8a8, int4, fp32 or bf16; the dtype's if left out.",
    ),
    _option("max_num_seqs", int, _DEFAULTS.max_num_seqs, "Answers computed at once; more wait their turn.", least=1),
    _option(
        "max_model_len",
        Optional[int],  # noqa: UP045
        _DEFAULTS.max_model_len,
        "Tokens of prompt and answer together; the model's own if left out.",
        least=1,
    ),
    _option(
        "max_num_batched_tokens",
        int,
        _DEFAULTS.max_num_batched_tokens,
        "Tokens that one step computes at most.",
        least=1,
    ),
    _option("block_size", int, _DEFAULTS.block_size, "Tokens a page of the cache, a multiple of 16.", least=1),
    _option(
        "kv_memory",
        Optional[str],  # noqa: UP045
        _DEFAULTS.kv_memory,
        "Memory for keys and values, such as 1GiB; a share of what is free if left out.",
    ),
    _option(
        "kv_cache_dtype",
        str,
        _DEFAULTS.kv_cache_dtype,
        "What keys and values are stored as: auto, float32, bfloat16 or int8.",
    ),
    _option("grammar_timeout", float, _DEFAULTS.grammar_timeout, "Seconds that a grammar may take to compile."),
]
ENGINE_OPTIONS = tuple(parameter.name for parameter in _PARAMETERS)
"""Names of the options, which are those of `structgen.LLM`."""


def takes_engine_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options; it gets them together, as a dictionary ``engine``."""
    signature = inspect.signature(command, eval_str=True)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "engine"]

    @functools.wraps(command)
    def run(**values: Any) -> None:
        engine = {name: values.pop(name) for name in ENGINE_OPTIONS}
        command(**values, engine=engine)

    parameters = [*own, *_PARAMETERS]
    shown: Any = run  # typer looks at both of these
    shown.__signature__ = signature.replace(parameters=parameters)
    shown.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return shown
