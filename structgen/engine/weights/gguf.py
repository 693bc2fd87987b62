"""GGUF files, as llama.cpp's converters write them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from structgen.engine.model_files import GGUF_MAGIC
from structgen.engine.tokenization.chat_template import ChatTemplate
from structgen.engine.tokenization.gguf_vocabulary import GgufVocabulary
from structgen.engine.weights.checkpoint import Checkpoint
from structgen.engine.weights.dequantization import SUPPORTED_TYPES, dequantize, dequantize_into
from structgen.engine.weights.gguf_config import (
    hugging_face_config,
    hugging_face_model_type,
    scaling_of_frequency_factors,
)
from structgen.engine.weights.gguf_file import GgufFile, StoredTensor
from structgen.engine.weights.gguf_names import hugging_face_name, norm_offset, rope_order
from structgen.engine.weights.groups import Groups, groups_of_blocks
from structgen.errors import InvalidModelFile, UnsupportedModel

__all__ = ["GgufCheckpoint"]

_FREQUENCY_FACTORS = "rope_freqs.weight"
_QUERY, _KEY = "self_attn.q_proj", "self_attn.k_proj"


class GgufCheckpoint(Checkpoint):
    """A single GGUF file. See :class:`Checkpoint` for the contract."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        file = GgufFile(path)
        if not isinstance(file.fields.get("general.architecture"), str):
            raise InvalidModelFile(f"{path}: no general.architecture; this GGUF file holds no model")
        self._file: GgufFile | None = file
        self._fields = file.fields
        self._stored = _by_hugging_face_name(file)
        self._metadata = _read_metadata(file, self._stored)
        self._vocabulary = GgufVocabulary(file.fields, str(path))

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """A file that is called ``*.gguf`` or begins as one."""
        if not path.is_file():
            return False
        if path.suffix.lower() == ".gguf":
            return True
        with path.open("rb") as file:
            return file.read(len(GGUF_MAGIC)) == GGUF_MAGIC

    @property
    def architecture(self) -> str:
        """``general.architecture``, or Hugging Face's name where that is finer (mistral, mixtral)."""
        return hugging_face_model_type(self._fields)

    @property
    def metadata(self) -> Mapping[str, object]:
        """The file's metadata in the terms of ``config.json``."""
        return self._metadata

    def names(self) -> list[str]:
        """Hugging Face's names; a tensor that has none keeps the file's."""
        return list(self._stored)

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor, rows first."""
        return self._find(name).shape

    def read_rows(self, name: str, first: int, out: npt.NDArray[np.float32]) -> None:
        """Dequantize some rows, those of a llama's Q or K projection in Hugging Face's order."""
        stored, offset = self._find(name), norm_offset(str(self._fields["general.architecture"]), name)
        dequantize_into(self._rows(name, stored, first, len(out)), stored.kind, out.reshape(-1))
        if offset:
            out -= np.float32(offset)

    def bits(self, name: str) -> int | None:
        """What the names of ggml's types begin with: 4 for Q4_K."""
        kind = self._find(name).kind.name
        return int(kind[1]) if kind.startswith("Q") else None

    def groups(self, name: str, first: int, count: int) -> Groups:
        """Return some rows of a matrix of type Q4_0, Q4_1 or Q4_K as they are in the file."""
        stored = self._find(name)
        return groups_of_blocks(self._rows(name, stored, first, count), stored.kind, count)

    def tokenizer(self) -> Tokenizer:
        """Build the tokenizer from the file's vocabulary."""
        return self._vocabulary.tokenizer

    @property
    def bos_token_id(self) -> int | None:
        """``tokenizer.ggml.bos_token_id``."""
        return self._vocabulary.bos_token_id

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The end of text, of turn and of message, and the tokens that are known to be such by their names."""
        return self._vocabulary.eos_token_ids

    def chat_template(self) -> ChatTemplate | None:
        """``tokenizer.chat_template``, and the one for tools where there is one."""
        source, for_tools = (self._fields.get(f"tokenizer.chat_template{suffix}") for suffix in ("", ".tool_use"))
        if not isinstance(source, str):
            return None
        return ChatTemplate(
            source,
            tool_source=for_tools if isinstance(for_tools, str) else None,
            special_tokens=self._vocabulary.special_tokens,
            origin=str(self.path),
        )

    def close(self) -> None:
        """Let go of the mapping, which ends with the last array that is a view of it."""
        self._file = None

    def _find(self, name: str) -> StoredTensor:
        if name not in self._stored:
            raise InvalidModelFile(f"{self.path}: no tensor {name!r}; the file does not fit its architecture")
        return self._stored[name]

    def _rows(self, name: str, stored: StoredTensor, first: int, count: int) -> npt.NDArray[np.uint8]:
        """Blocks of some rows, uint8 [bytes], the rows in Hugging Face's order."""
        rows, heads = self._data(stored).reshape(stored.shape[0], -1), self._permuted_heads(name, stored)
        some = slice(first, first + count)
        return rows[some if heads is None else rope_order(len(rows), heads)[some]].reshape(-1)

    def _data(self, stored: StoredTensor) -> npt.NDArray[np.uint8]:
        if self._file is None:
            raise ValueError(f"{self.path} is closed")
        return self._file.data(stored)

    def _permuted_heads(self, name: str, stored: StoredTensor) -> int | None:
        """Number of heads by which a tensor's rows are interleaved, None where they are not."""
        if self._fields["general.architecture"] != "llama" or not (_QUERY in name or _KEY in name):
            return None
        heads = self._metadata.get("num_attention_heads")
        if _KEY in name:
            heads = self._metadata.get("num_key_value_heads", heads)
        if not isinstance(heads, int) or heads < 1:
            raise InvalidModelFile(f"{self.path}: the number of attention heads is {heads!r}; get the file again")
        if stored.shape[0] % (2 * heads):
            raise InvalidModelFile(f"{self.path}: {name} has {stored.shape[0]} rows, which {heads} heads cannot share")
        return heads


def _by_hugging_face_name(file: GgufFile) -> dict[str, StoredTensor]:
    """Rename the tensors; none of a type that cannot be read is let through."""
    architecture = str(file.fields["general.architecture"])
    for name, stored in file.tensors.items():
        if stored.kind not in SUPPORTED_TYPES:
            raise UnsupportedModel(
                f"{file.path}: tensor {name!r} is of type {stored.kind.name}, which cannot be read; get a file "
                f"quantized to one of {', '.join(sorted(kind.name for kind in SUPPORTED_TYPES))}"
            )
    return {
        hugging_face_name(architecture, name): stored
        for name, stored in file.tensors.items()
        if name != _FREQUENCY_FACTORS
    }


def _read_metadata(file: GgufFile, stored: Mapping[str, StoredTensor]) -> dict[str, object]:
    """Translate the fields, and what tensors say about the configuration."""
    try:
        config = hugging_face_config(file.fields)
        factors = file.tensors.get(_FREQUENCY_FACTORS)
        if factors is not None:
            values = dequantize(file.data(factors), factors.kind)
            config.update(scaling_of_frequency_factors(values, config))
    except UnsupportedModel as error:
        raise UnsupportedModel(f"{file.path}: {error}") from error
    embedding = stored.get("model.embed_tokens.weight")
    if embedding is not None:
        config["vocab_size"] = embedding.shape[0]
        config["tie_word_embeddings"] = "lm_head.weight" not in stored
    return config
