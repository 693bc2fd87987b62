"""What every reader of model files offers, and the function that finds the reader of a path."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

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
    What was read and the tokenizer stay valid after it.

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
    def read_rows(self, name: str, first: int, out: npt.NDArray[np.float32]) -> None:
        """Read some rows of a tensor in Hugging Face's layout, dequantized, into memory of the caller's.

        A few rows at a time, so that a matrix need never be in memory as a whole before it is laid out anew.

        Parameters
        ----------
        name : str
            The tensor.
        first : int
            The first of the rows (of a vector: elements).
        out : np.ndarray
            float32, contiguous; the tensor's shape but for its length, which is how many rows are read.

        Raises
        ------
        InvalidModelFile
            There is no tensor of that name.
        """

    def tensor(self, name: str) -> npt.NDArray[np.float32]:
        """Read one tensor as a whole, as :meth:`read_rows` does: the caller's own, float32.

        Raises
        ------
        InvalidModelFile
            There is no tensor of that name.
        """
        values = np.empty(self.shape(name), np.float32)
        self.read_rows(name, 0, values)
        return values

    def bits(self, name: str) -> int | None:
        """Return how many bits the integers have that a matrix is stored as, and None where it is stored as floats."""
        return None

    def groups(self, name: str, first: int, count: int) -> Groups:
        """Return some rows of a matrix whose :meth:`bits` are 4 as the files hold them, in Hugging Face's order."""
        raise NotImplementedError(f"{type(self).__name__} says that {name} has {self.bits(name)} bits")

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
