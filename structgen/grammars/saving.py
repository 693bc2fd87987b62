"""Recipes in files: what an automaton was compiled from, and for which vocabulary.

The tables are not written: compiling takes about a millisecond, and they fill with use. A file is JSON::

    {"format": "structgen automaton 1", "structgen": "0.1.0", "front_end": "json_schema", "source": ..., "options": {},
     "vocabulary": {"tokens": 128256, "sha256": "..."}, "sha256": "..."}

where the last sum is that of everything before it.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from pathlib import Path
from typing import Any, cast

from structgen._version import __version__
from structgen.errors import InvalidGrammar
from structgen.grammars.recipe import Recipe, taken
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["fingerprint", "read_recipe", "write_recipe"]

_FIELDS = {"front_end": str, "options": dict, "vocabulary": dict}
_FORMAT = "structgen automaton 1"


def fingerprint(vocabulary: TokenVocabulary) -> str:
    """A sum over what every token is: equal for vocabularies that have the same tokens at the same ids."""
    trie = vocabulary.trie
    digest = hashlib.sha256(trie.starts.tobytes())
    digest.update(trie.text.tobytes())
    digest.update(json.dumps([sorted(vocabulary.eos_token_ids), sorted(vocabulary.special_tokens.items())]).encode())
    return digest.hexdigest()


def write_recipe(path: str | os.PathLike[str], recipe: Recipe, vocabulary: TokenVocabulary) -> None:
    """Write a recipe; the file is there whole or not at all.

    Raises
    ------
    InvalidGrammar
        The source or an option is no plain data.
    OSError
        The file cannot be written.
    """
    source, options = recipe.source_and_options()
    content: dict[str, Any] = {
        "format": _FORMAT,
        "structgen": __version__,
        "front_end": recipe.front_end,
        "source": source,
        "options": options,
        "vocabulary": {"tokens": len(vocabulary), "sha256": fingerprint(vocabulary)},
    }
    content["sha256"] = _sum_of(content)
    _replace(Path(path), json.dumps(content, indent=1) + "\n")


def read_recipe(path: str | os.PathLike[str], vocabulary: TokenVocabulary) -> Recipe:
    """Read a recipe for ``vocabulary``.

    Raises
    ------
    InvalidGrammar
        The file cannot be read, is cut, changed or something else, or was written for other tokens.
    """
    content = _content(path)
    written_for = content["vocabulary"]
    if written_for != {"tokens": len(vocabulary), "sha256": fingerprint(vocabulary)}:
        raise InvalidGrammar(
            f"{os.fspath(path)}: compiled for another vocabulary, of {written_for['tokens']:,} tokens where this one "
            f"has {len(vocabulary):,}; load it with the vocabulary that it was saved with, or compile it anew"
        )
    return Recipe(content["front_end"], taken(content["source"], content["options"]))


def _content(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What the file holds, its sum checked."""
    name = os.fspath(path)
    try:
        content: object = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidGrammar(f"{name}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidGrammar(f"{name}: no saved automaton, or a truncated one: {error}; save it again") from error
    found = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
    if not str(found.get("format", "")).startswith("structgen automaton "):
        raise InvalidGrammar(f"{name}: no saved automaton; `TokenAutomaton.save` writes them")
    if found["format"] != _FORMAT:
        raise InvalidGrammar(
            f"{name}: its format is {found['format']!r} and this version of structgen reads {_FORMAT!r}; save it again"
        )
    written = found.pop("sha256", None)
    if written != _sum_of(found):
        raise InvalidGrammar(f"{name}: changed or damaged since it was saved; save it again")
    for field, kind in _FIELDS.items():
        if not isinstance(found.get(field), kind):
            raise InvalidGrammar(f"{name}: no saved automaton: {field!r} is missing or malformed; save it again")
    if not isinstance(found["vocabulary"].get("tokens"), int) or "source" not in found:
        raise InvalidGrammar(f"{name}: no saved automaton: a field is missing or malformed; save it again")
    return found


def _sum_of(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _replace(path: Path, text: str) -> None:
    """Write ``path`` by way of a file beside it, which takes its place when all of it is on the disk."""
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with beside.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
