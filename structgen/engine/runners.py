"""Which runner computes a model: by what is asked for, and by what the model and the machine allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structgen.engine.cpu.packing import QUANTIZATIONS
from structgen.engine.options import EngineOptions
from structgen.engine.step import PagedRunner
from structgen.errors import InvalidRequest, UnsupportedModel

if TYPE_CHECKING:
    import torch

    from structgen.engine.foreign.loading import ForeignModel
    from structgen.engine.models.loading import LoadedModel

__all__ = ["check_quantization", "dtype_of", "make_runner"]

_KV = {"float32": "fp32", "bfloat16": "bf16", "int8": "int8"}


def check_quantization(quantization: object) -> None:
    """Refuse what is no weight format.

    Raises
    ------
    InvalidRequest
        It is not known.
    """
    if quantization is not None and quantization not in QUANTIZATIONS:
        known = ", ".join(QUANTIZATIONS)
        raise InvalidRequest(f"quantization: {quantization!r} is not known; known are {known}, or None for the dtype's")


def dtype_of(quantization: str | None, dtype: str) -> str:
    """What a model's weights are read as, before they are quantized."""
    return dtype if quantization is None else "float32"


def make_runner(loaded: LoadedModel | ForeignModel, options: EngineOptions, quantization: str | None) -> PagedRunner:
    """Make the runner of a model: the compiled one where it can, and else the one in torch.

    Parameters
    ----------
    loaded : LoadedModel or ForeignModel
        The model, from :func:`~structgen.engine.models.loading.load_model`; its weights are read here.
    options : EngineOptions
        ``block_size`` and ``kv_cache_dtype`` are the runner's.
    quantization : str or None
        One of ``structgen.engine.cpu.packing.QUANTIZATIONS``; None computes in the weights' dtype.

    Raises
    ------
    UnsupportedModel
        Quantized weights are asked for, and the compiled runner does not take the model.
    """
    from structgen.engine.models.loading import LoadedModel

    if not isinstance(loaded, LoadedModel):
        return _foreign_runner(loaded, options, quantization)
    from structgen._compiled.entries import prepare
    from structgen.engine.cpu._jit import PACKAGE
    from structgen.engine.cpu.runner import CpuRunner

    form = quantization or {"float32": "fp32", "bfloat16": "bf16"}[loaded.dtype]
    auto = "fp32" if form == "fp32" else "bf16"
    kv = auto if options.kv_cache_dtype == "auto" else _KV[options.kv_cache_dtype]
    try:
        runner = CpuRunner(loaded, quantization=form, kv=kv, page_size=options.block_size)
        prepare(PACKAGE)  # now, and not in the first request's step
        return runner
    except UnsupportedModel:
        if quantization is not None:
            raise
    from structgen.engine.paged_torch import TorchPagedRunner

    return TorchPagedRunner(loaded, page_size=options.block_size, kv_dtype=_kv_dtype(options))


def _kv_dtype(options: EngineOptions) -> torch.dtype | None:
    from structgen.engine.page_storage import KV_DTYPES

    return None if options.kv_cache_dtype == "auto" else KV_DTYPES[options.kv_cache_dtype]


def _foreign_runner(model: ForeignModel, options: EngineOptions, quantization: str | None) -> PagedRunner:
    from structgen.engine.foreign.runner import ForeignPagedRunner

    if quantization is not None:
        raise UnsupportedModel(
            f"quantization: {model.architecture!r} runs through transformers' own code, whose weights are not "
            "quantized here; leave it out and give a dtype"
        )
    return ForeignPagedRunner(model, page_size=options.block_size, kv_dtype=_kv_dtype(options))
