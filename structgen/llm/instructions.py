"""How a model is told what its answer must be: short, plain, and in words that small models follow."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

__all__ = ["describe_choices", "describe_pattern", "describe_schema"]


def describe_choices(choices: Sequence[str]) -> str:
    """Name the texts that the answer is one of."""
    return "Answer with exactly one of: " + ", ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)


def describe_pattern(pattern: str) -> str:
    """Name the pattern that the answer matches."""
    return f"Answer with a text that matches the regular expression {pattern}"


def describe_schema(schema: Mapping[str, object]) -> str:
    """Describe JSON of this schema, descriptions included."""
    return "Answer in JSON:\n" + json.dumps(schema, ensure_ascii=False)
