"""Made-up tools as agents have them: names, parameters and arguments, the same ones for the same number."""

from __future__ import annotations

import json
import random
from typing import Any

__all__ = ["Tool", "answer", "tools"]

Tool = dict[str, Any]
"""``name`` and ``parameters``, a JSON Schema."""

VERBS = "search get create update delete list send book cancel schedule convert translate summarise fetch find track"
NOUNS = (
    "flight hotel weather order invoice customer ticket message event file document account payment shipment product "
    "review playlist recipe route stock contact reminder device"
)
FIELDS = (
    "query city date limit currency language units user_id start_time end_time status category tags items address "
    "email amount priority notes sort_by format recipients latitude longitude name title count page"
)
WORDS = (
    "low medium high open closed pending celsius fahrenheit asc desc json csv pdf usd eur gbp en de fr es daily weekly "
    "monthly public private draft active"
)
TEXTS = (
    "the next train to Stockholm",
    "Ann Smith",
    "quarterly report",
    "see the notes from Monday's meeting",
    "12 Main Street, Springfield",
    "is it cold?",
    "Zürich",
)


def tools(count: int, seed: int = 0) -> list[Tool]:
    """So many tools of different names, of three to six parameters each."""
    source, found = random.Random(seed), dict[str, Tool]()
    while len(found) < count:
        name = "_".join([source.choice(VERBS.split()), *source.sample(NOUNS.split(), source.randint(1, 2))])
        found[name] = {"name": name, "parameters": _object(source, source.randint(3, 6), 0)}
    return list(found.values())


def _object(source: random.Random, count: int, depth: int) -> dict[str, Any]:
    names = source.sample(FIELDS.split(), count)
    schema = {
        "type": "object",
        "properties": {name: _schema(source, depth) for name in names},
        "required": [name for name in names if source.random() < 0.6],
    }
    return schema | ({"additionalProperties": False} if source.random() < 0.5 else {})


def _schema(source: random.Random, depth: int) -> dict[str, Any]:
    kinds = ["text"] * 7 + ["choice"] * 3 + ["integer"] * 3 + ["number"] * 2 + ["boolean"] * 2 + ["list"] * 3
    kind = source.choice(kinds if depth > 1 else [*kinds, "object"])
    if kind == "choice":
        return {"type": "string", "enum": source.sample(WORDS.split(), source.randint(2, 6))}
    if kind == "list":
        return {"type": "array", "items": _schema(source, depth + 1)}
    if kind == "object":
        return _object(source, source.randint(2, 3), depth + 1)
    if kind == "integer" and source.random() < 0.5:
        return {"type": "integer", "minimum": 0, "maximum": source.choice([10, 100, 1000])}
    return {"type": "string" if kind == "text" else kind, "description": "What it says"}


def answer(tool: Tool, source: random.Random) -> str:
    """A turn of an assistant that calls a tool twice, prose around the calls."""
    values = (json.dumps(_value(tool["parameters"], source), ensure_ascii=False) for _ in range(2))
    first, second = (f"<function={tool['name']}>{value}</function>" for value in values)
    return f"Let me look that up for you.\n{first}\nOne more, if 3 < 4:\n{second}\nThat is all I could find."


def _value(schema: dict[str, Any], source: random.Random) -> Any:
    if "enum" in schema:
        return source.choice(schema["enum"])
    if schema["type"] == "object":
        required = schema["required"]
        return {
            name: _value(its, source)
            for name, its in schema["properties"].items()
            if name in required or source.random() < 0.5
        }
    if schema["type"] == "array":
        return [_value(schema["items"], source) for _ in range(source.randint(1, 3))]
    if schema["type"] == "integer":
        return source.randint(0, schema.get("maximum", 5000))
    if schema["type"] == "number":
        return round(source.uniform(0, 100), 2)
    return source.random() < 0.5 if schema["type"] == "boolean" else source.choice(TEXTS)
