"""What every reader of model files offers, and the function that finds the reader of a path."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import torch

from structgen.errors import ModelNotFound, PluginError, UnsupportedModel
from structgen.plugins import registry

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from typing_extensions import Self

    from structgen.engine.tokenization.chat_template import ChatTemplate
    from structgen.engine.weights.groups import Groups

__all__ = ["Checkpoint", "open_checkpoint"]


class Checkpoint(ABC):
    """A model's files, opened for reading. This docstring is the contract of every ``structgen.weights`` plugin.

    Whatever the file format, a reader speaks Hugging Face's language: metadata in the terms of ``config.json``,
    tensors by the names and in the layouts of ``transformers``, the tokenizer as a ``tokenizers`` object.

    Opening reads the small parts (headers, metadata) and maps the weights; their pages come in when a tensor is
    asked for. Nothing is ever written, nothing of the caller's is kept, and every method may be called from several
    threads at once and any number of times. A checkpoint is a context manager; :meth:`close` may be called twice.
    Tensors and the tokenizer stay valid after it, because a tensor keeps its own part of the mapping alive.

    A file that is truncated, corrupt or incomplete raises :class:`~structgen.errors.InvalidModelFile`, one that is
    well-formed and of a kind that cannot be run raises :class:`~structgen.errors.UnsupportedModel`: as early as the
    fault can be seen, naming the file, the reason and what to do.

    Parameters
    ----------
    path : Path
        The file or folder; :meth:`recognises` it.

    Attributes
    ----------
    path : Path
        The same.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    @abstractmethod
    def recognises(cls, path: Path) -> bool:
        """Whether an existing ``path`` is this reader's to open, judged by names and first bytes, however broken."""

    @property
    @abstractmethod
    def architecture(self) -> str:
        """Family of the model, as in ``model_type`` of ``config.json``: ``"llama"``, ``"qwen2"``, ``"qwen3"``."""

    @property
    @abstractmethod
    def metadata(self) -> Mapping[str, object]:
        """The model's dimensions in the terms of ``config.json``; a key that the files do not give is absent.

        ``rope_theta`` and ``rope_scaling`` stand at the top level, whichever version of ``transformers`` wrote the
        file; ``rope_scaling`` is absent or a dict with ``rope_type``, which is ``"default"`` only beside
        fields that are not for it.
        """

    @abstractmethod
    def names(self) -> list[str]:
        """Names of all tensors in Hugging Face's terms, such as ``model.layers.0.self_attn.q_proj.weight``."""

    @abstractmethod
    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor without reading it; a linear layer's weight is ``(out_features, in_features)``.

        Raises
        ------
        InvalidModelFile
            There is no tensor of that name.
        """

    @abstractmethod
    def tensor(self, name: str, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Read one tensor in Hugging Face's layout, dequantized and converted to the floating point ``dtype``.

        It must not be written to: where the file already holds ``dtype`` it is a view of the mapping.

        Raises
        ------
        InvalidModelFile
            There is no tensor of that name.
        """

    def read_into(self, name: str, out: torch.Tensor) -> None:
        """As :meth:`tensor`, into memory of the caller's: ``out`` is contiguous and has the tensor's shape.

        A reader that computes its values overrides this, so that they are written once.
        """
        out.copy_(self.tensor(name, out.dtype))

    def groups(self, name: str) -> Callable[[], Groups] | None:
        """Return what reads a matrix as integers of 4 bits, where the files hold it so, and else None.

        Rows are in Hugging Face's order. What is returned may be called at any time, also after :meth:`close`.
        """
        return None

    @abstractmethod
    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer, without truncation or padding; built at the first call, and not to be changed.

        ``encode(text, add_special_tokens=True)`` adds the tokens that the model expects around raw text (a beginning
        of text, where it has one). The text of a chat template already has them: encode it with ``False``.

        Raises
        ------
        InvalidModelFile, UnsupportedModel
            The files have no tokenizer, or one of a kind that is not known.
        """

    @property
    @abstractmethod
    def bos_token_id(self) -> int | None:
        """The token that begins a text, or None."""

    @property
    @abstractmethod
    def eos_token_ids(self) -> tuple[int, ...]:
        """Every token that ends an answer, the main one first; empty when the files name none."""

    @abstractmethod
    def chat_template(self) -> ChatTemplate | None:
        """Return the chat template of the files, or None."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def open_checkpoint(path: str | Path) -> Checkpoint:
    """Open a GGUF file, a Hugging Face folder, or whatever a ``structgen.weights`` plugin recognises.

    Parameters
    ----------
    path : str or Path
        A file or folder.

    Raises
    ------
    ModelNotFound
        Nothing is there.
    InvalidModelFile, UnsupportedModel
        See :class:`Checkpoint`.
    """
    path = Path(path)
    if not path.exists():
        raise ModelNotFound(f"{path}: no such file or folder")
    readers = registry("structgen.weights")
    for name in readers.names():
        reader = readers.load(name)
        if not (isinstance(reader, type) and issubclass(reader, Checkpoint)):
            raise PluginError(f"structgen.weights: {name!r} is {reader!r}, not a subclass of Checkpoint")
        if reader.recognises(path):
            return reader(path)
    raise UnsupportedModel(
        f"{path}: neither a GGUF file nor a Hugging Face folder (config.json and safetensors); "
        f"the readers here are {', '.join(readers.names())}"
    )
