"""How a model is told what its answer must be: short, plain, and in words that small models follow.

The grammar holds the model to the form whatever it was told; being told makes the *content* right. With a line that
looks like the answer SmolLM2-135M got 23 of 25 questions right, as with three other wordings around that line; 22 with
the schema as JSON, 20 with its keys in a list and 19 without a word (``benchmarks/prompting.py``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

__all__ = ["describe_choices", "describe_pattern", "describe_schema"]

_WORDS = {"boolean": "true or false", "object": "{...}", "array": "[...]"}


def describe_choices(choices: Sequence[str]) -> str:
    """Name the texts that the answer is one of."""
    return "Answer with exactly one of: " + ", ".join(choices)


def describe_pattern(pattern: str) -> str:
    """Name the pattern that the answer matches."""
    return f"Answer with a text that matches the regular expression {pattern}"


def describe_schema(schema: Mapping[str, object]) -> str:
    """Describe JSON of this schema by a line that looks like it, field descriptions in parentheses.

    Only what helps to find the right content is said: types, keys, choices and descriptions. What else the schema
    asks for is the grammar's business.
    """
    form = _Describer(schema).describe(schema)
    kind = {"{": "object", "[": "array"}.get(form[:1], "value")
    return f"Answer with a JSON {kind} of this form:\n{form}"


class _Describer:
    """Writes schemas of one document; a reference is written out, and inside itself only named."""

    def __init__(self, root: Mapping[str, object]) -> None:
        self._root = root
        self._inside: list[str] = []

    def describe(self, schema: object) -> str:
        if not isinstance(schema, Mapping):
            return "any JSON"
        text = self._form(schema)
        description = schema.get("description")
        return f"{text} ({' '.join(description.split())})" if isinstance(description, str) and description else text

    def _form(self, schema: Mapping[str, object]) -> str:
        if "$ref" in schema:
            return self._reference(str(schema["$ref"]))
        if "const" in schema:
            return _to_json(schema["const"])
        for keyword in ("enum", "anyOf", "oneOf"):
            options = schema.get(keyword)
            if isinstance(options, Sequence) and options:
                words = map(_to_json, options) if keyword == "enum" else map(self.describe, options)
                return " or ".join(dict.fromkeys(words))
        types = schema.get("type", [])
        names = [types] if isinstance(types, str) else types
        words = [self._of_type(str(name), schema) for name in names] if isinstance(names, Sequence) else []
        return " or ".join(words) or ("any JSON" if "properties" not in schema else self._object(schema))

    def _of_type(self, name: str, schema: Mapping[str, object]) -> str:
        if name == "object" and isinstance(schema.get("properties"), Mapping):
            return self._object(schema)
        if name == "array" and "items" in schema:
            return f"[{self.describe(schema['items'])}, ...]"
        return _WORDS.get(name, name)

    def _object(self, schema: Mapping[str, object]) -> str:
        properties = schema["properties"]
        named = properties.items() if isinstance(properties, Mapping) else ()
        return "{" + ", ".join(f"{_to_json(name)}: {self.describe(part)}" for name, part in named) + "}"

    def _reference(self, reference: str) -> str:
        name = reference.rpartition("/")[2].strip("#") or "the whole again"
        if reference in self._inside:
            return name
        target = self._resolve(reference)
        if target is None:
            return name
        self._inside.append(reference)
        text = self.describe(target)
        self._inside.pop()
        return text

    def _resolve(self, reference: str) -> object | None:
        """Return what a JSON pointer in this document points to; the compiler refuses the schema where it cannot."""
        place: object = self._root
        if not reference.startswith("#"):
            return None
        for part in unquote(reference[1:]).split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            place = place.get(key) if isinstance(place, Mapping) else None
        return place


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
