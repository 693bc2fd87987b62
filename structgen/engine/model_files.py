"""What marks a model's files, for those who fetch them and those who read them; imports neither torch nor numpy."""

from __future__ import annotations

import json
from pathlib import Path

from structgen.errors import InvalidModelFile

__all__ = ["GGUF_MAGIC", "SHARD_INDEX", "read_shard_index"]

GGUF_MAGIC = b"GGUF"
"""The first bytes of a GGUF file."""

SHARD_INDEX = "model.safetensors.index.json"
"""The file of a Hugging Face folder that says which of several safetensors files has which tensor."""


def read_shard_index(path: Path) -> dict[str, str]:
    """Return the file name of each tensor's shard, by the tensor's name.

    Shards lie beside their index: of a path, only the last part counts.

    Raises
    ------
    InvalidModelFile
        The index cannot be read, or is none.
    """
    try:
        places = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
        return {name: Path(shard).name for name, shard in places.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidModelFile(f"{path}: not an index of shards: {error!r}; get the file again") from error
