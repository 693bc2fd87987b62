"""Hugging Face folders: ``config.json``, safetensors (sharded or not), ``tokenizer.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from structgen.engine.tokenization.chat_template import ChatTemplate
from structgen.engine.weights.checkpoint import Checkpoint
from structgen.engine.weights.safetensors import SafetensorsFiles
from structgen.errors import InvalidModelFile, UnsupportedModel

__all__ = ["HuggingFaceCheckpoint"]


class HuggingFaceCheckpoint(Checkpoint):
    """A folder as ``save_pretrained`` writes it. See :class:`Checkpoint` for the contract."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._config = _read_json(path / "config.json")
        architecture = self._config.get("model_type")
        if not isinstance(architecture, str):
            raise InvalidModelFile(f"{path / 'config.json'}: no model_type; get the model's own config.json")
        if quantization := self._config.get("quantization_config"):
            method = quantization.get("quant_method", "?") if isinstance(quantization, dict) else quantization
            raise UnsupportedModel(
                f"{path}: weights quantized with {method} cannot be read; use the unquantized model or a GGUF file"
            )
        self._architecture = architecture
        self._metadata = _with_plain_rope(self._config)
        self._weights = SafetensorsFiles(path)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """A folder with a ``config.json``."""
        return (path / "config.json").is_file()

    @property
    def architecture(self) -> str:
        """``model_type`` of ``config.json``."""
        return self._architecture

    @property
    def metadata(self) -> Mapping[str, object]:
        """``config.json``, rope settings as :class:`Checkpoint` has them."""
        return self._metadata

    def names(self) -> list[str]:
        """Names of all tensors, as they stand in the files."""
        return self._weights.names()

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor, from the file's header."""
        return self._weights.shape(name)

    def read_rows(self, name: str, first: int, out: npt.NDArray[np.float32]) -> None:
        """Read some rows, of whatever type the file has."""
        np.copyto(out, self._weights.rows(name, first, len(out)))

    def tokenizer(self) -> Tokenizer:
        """Return what ``tokenizer.json`` describes."""
        return self._tokenizer

    @property
    def bos_token_id(self) -> int | None:
        """From ``generation_config.json``, else ``config.json``, else ``tokenizer_config.json``."""
        ids = self._token_ids("bos")
        return ids[0] if ids else None

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """As :attr:`bos_token_id`; the tokenizer's own end, with which chat models end a turn, is always among them."""
        return self._token_ids("eos")

    def chat_template(self) -> ChatTemplate | None:
        """``chat_template.jinja``, else ``tokenizer_config.json``; both may have another one for tools."""
        path = self.path / "chat_template.jinja"
        if path.is_file():
            beside = self.path / "additional_chat_templates" / "tool_use.jinja"
            default, for_tools = _read_text(path), _read_text(beside) if beside.is_file() else None
        else:
            path = self.path / "tokenizer_config.json"
            default, for_tools = _templates(self._tokenizer_config.get("chat_template"))
        if default is None:
            return None
        return ChatTemplate(default, tool_source=for_tools, special_tokens=self._special_tokens(), origin=str(path))

    def close(self) -> None:
        """Let go of the mappings."""
        self._weights.close()

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        path = self.path / "tokenizer.json"
        if not path.is_file():
            raise InvalidModelFile(
                f"{path}: the folder has no tokenizer.json; "
                "save it with AutoTokenizer.from_pretrained(...).save_pretrained(folder)"
            )
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises bare Exception for whatever it cannot read
            raise InvalidModelFile(f"{path}: not a tokenizer: {error}; get the file again") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _tokenizer_config(self) -> dict[str, object]:
        return _read_json(self.path / "tokenizer_config.json", missing={})

    def _special_tokens(self) -> dict[str, str]:
        named = {key: _token_text(value) for key, value in self._tokenizer_config.items() if key.endswith("_token")}
        return {key: text for key, text in named.items() if text is not None}

    def _token_ids(self, which: str) -> tuple[int, ...]:
        key = f"{which}_token_id"
        generation = _read_json(self.path / "generation_config.json", missing={})
        given = generation.get(key, self._config.get(key))
        ids = [given] if isinstance(given, int) else given if isinstance(given, list) else []
        text = self._special_tokens().get(f"{which}_token")
        if text is not None and (self.path / "tokenizer.json").is_file():
            ids = [*ids, self._tokenizer.token_to_id(text)]
        return tuple(dict.fromkeys(token for token in ids if isinstance(token, int)))


_LOCAL = "sliding_attention"
"""Where kinds of layers have their own rope settings, those of the ones with a window."""


def _with_plain_rope(config: Mapping[str, object]) -> dict[str, object]:
    """Bring the ways in which versions of ``transformers`` write rope settings to one."""
    plain = dict(config)
    scaling = plain.pop("rope_scaling", None)
    parameters = plain.pop("rope_parameters", None)
    if _LOCAL in _as_dict(parameters):
        local = dict(_as_dict(_as_dict(parameters)[_LOCAL]))
        parameters = _as_dict(parameters).get("full_attention")
        if "rope_theta" in local:
            plain["rope_local_base_freq"] = local.pop("rope_theta")
        if local not in ({}, {"rope_type": "default"}):
            plain["local_rope_scaling"] = local
    scaling = {**_as_dict(scaling), **_as_dict(parameters)}
    if "rope_theta" in scaling:
        plain["rope_theta"] = scaling.pop("rope_theta")
    kind = scaling.pop("type", None)
    scaling.setdefault("rope_type", kind or "default")
    if scaling != {"rope_type": "default"}:  # a default with fields of its own is for the family to refuse
        plain["rope_scaling"] = scaling
    return plain


def _as_dict(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _templates(value: object) -> tuple[str | None, str | None]:
    """The default template and the one for tools, out of a string or a list of named ones."""
    if isinstance(value, str):
        return value, None
    if not isinstance(value, list):
        return None, None
    named = {entry["name"]: entry["template"] for entry in value if isinstance(entry, dict) and len(entry) > 1}
    return named.get("default"), named.get("tool_use")


def _token_text(value: object) -> str | None:
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) else None


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidModelFile(f"{path}: cannot be read as text: {error}; get the file again") from error


def _read_json(path: Path, missing: dict[str, object] | None = None) -> dict[str, object]:
    if missing is not None and not path.exists():
        return missing
    try:
        value = json.loads(_read_text(path))
    except json.JSONDecodeError as error:
        raise InvalidModelFile(f"{path}: not JSON: {error}; get the file again") from error
    if not isinstance(value, dict):
        raise InvalidModelFile(f"{path}: a JSON object is expected, not {type(value).__name__}; get the file again")
    return value
