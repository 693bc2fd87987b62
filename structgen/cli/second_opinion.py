"""What can be said of a refused JSON text beside the place where it left the grammar."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from structgen.errors import StructgenError

__all__ = ["LAYOUT_ONLY", "second_opinion"]

LAYOUT_ONLY = "the value is valid, but not written as structgen writes: order of keys, white space, spelling"
_BOM = b"\xef\xbb\xbf"


def second_opinion(schema: Any, options: Mapping[str, object], text: bytes, near: str | None) -> str | None:
    """What is wrong with the value of ``text``; `LAYOUT_ONLY` where nothing is, ``None`` where that cannot be said.

    Parameters
    ----------
    schema : dict or bool
        The schema.
    options : mapping
        Those of `compile_json_schema`.
    near : str or None
        JSON pointer of the value in which the text left the grammar: of several faults the one there is told.
    """
    if text.startswith(_BOM):
        return "a byte order mark comes before the JSON; save the file without it"
    twice: list[str] = []

    def members(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
        found: dict[str, object] = {}
        for key, value in pairs:
            if key in found:
                twice.append(key)
            found[key] = value
        return found

    try:
        value = json.loads(text.decode(), object_pairs_hook=members)
    except UnicodeDecodeError as error:
        return f"not UTF-8 at byte {error.start}"
    except (ValueError, RecursionError):
        return None
    wrong = _wrong(schema, options, text, near)
    if wrong != LAYOUT_ONLY:
        return wrong
    if twice:
        return f"the key {twice[0]!r} comes twice in one object"
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "half of a surrogate pair stands alone in it, which no text can have"
    return LAYOUT_ONLY


def _wrong(schema: Any, options: Mapping[str, object], text: bytes, near: str | None) -> str | None:
    from structgen.grammars.json_schema.validation import SchemaValidator

    dialect, formats = options.get("default_dialect"), options.get("formats") != "annotate"
    try:
        validator = SchemaValidator(
            schema, dialect if isinstance(dialect, str) else None, options.get("registry"), formats=formats
        )
        refusal = validator.refusal(text, near)
    except StructgenError:  # a second opinion is not worth an error of its own
        return None
    if refusal is None:
        return LAYOUT_ONLY
    return f"{refusal.why}{f' (at {refusal.path})' if refusal.path else ''}"
