"""Random schemas of every draft, small and dense: all keywords meet each other on few keys and values."""

from __future__ import annotations

from random import Random

import jsonschema

DIALECTS = {
    4: ("http://json-schema.org/draft-04/schema#", jsonschema.Draft4Validator),
    6: ("http://json-schema.org/draft-06/schema#", jsonschema.Draft6Validator),
    7: ("http://json-schema.org/draft-07/schema#", jsonschema.Draft7Validator),
    2019: ("https://json-schema.org/draft/2019-09/schema", jsonschema.Draft201909Validator),
    2020: ("https://json-schema.org/draft/2020-12/schema", jsonschema.Draft202012Validator),
}

KEYS = ["a", "b", "c", "ab", "x1"]
SCALARS = [None, True, False, 0, 1, 2, -1, 1.5, 3, "", "a", "b", "ab", "x1", "abc"]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
PATTERNS = ["^a", "b$", "^[ab]+$", "x", "^.$"]


def random_value(random: Random, depth: int = 0) -> object:
    kind = random.random()
    if depth > 2 or kind < 0.5:
        return random.choice(SCALARS)
    if kind < 0.75:
        return [random_value(random, depth + 1) for _ in range(random.randint(0, 3))]
    return {key: random_value(random, depth + 1) for key in random.sample(KEYS, random.randint(0, 3))}


def random_schema(random: Random, draft: int) -> dict:
    """A schema that refers to its own definitions, one of which is recursive."""
    schema = _schema(random, draft, random.randint(1, 3))
    nested = {"$ref": "#/definitions/nested"}
    schema["definitions"] = {
        "scalar": _leaf(random, draft),
        "small": _schema(random, draft, 1),
        "nested": {"type": ["array", "object", "null"], "items": nested, "additionalProperties": nested},
    }
    return schema


def _leaf(random: Random, draft: int) -> object:
    choices = [
        {"type": random.choice(TYPES)},
        {"type": random.sample(TYPES, 2)},
        {"enum": [random_value(random, 1) for _ in range(random.randint(1, 3))]},
        {random.choice(["minimum", "maximum"]): random.choice([0, 1, 1.5])},
        {"multipleOf": random.choice([2, 1, 1.5])},
        {random.choice(["minLength", "maxLength"]): random.choice([0, 1, 2])},
        {"pattern": random.choice(PATTERNS)},
    ]
    if draft == 4:
        choices += [{}, {"not": {}}, {"minimum": 1, "exclusiveMinimum": random.choice([True, False])}]
    else:
        choices += [True, False, {"const": random_value(random, 1)}, {"exclusiveMaximum": 2}]
    return random.choice(choices)


def _schema(random: Random, draft: int, depth: int) -> dict:
    found: dict = {}
    for _ in range(random.choice([1, 1, 2, 2, 3])):
        found.update(_keyword(random, draft, depth))
    return found


def _keyword(random: Random, draft: int, depth: int) -> dict:
    def inner():
        return _schema(random, draft, depth - 1) if depth > 1 else _leaf(random, draft)

    def several(most: int):
        return [inner() for _ in range(random.randint(1, most))]

    def tuples():
        listed, rest = ("prefixItems", "items") if draft == 2020 else ("items", "additionalItems")
        return {listed: several(2)} | ({rest: random.choice([draft == 4, inner()])} if random.random() < 0.6 else {})

    def leaf():
        one = _leaf(random, draft)
        return one if isinstance(one, dict) else {"allOf": [one]}

    makers = [
        leaf,
        leaf,
        lambda: {"properties": {key: inner() for key in random.sample(KEYS, random.randint(1, 3))}},
        lambda: {"properties": {key: inner() for key in random.sample(KEYS, random.randint(1, 3))}},
        lambda: {"required": random.sample(KEYS, random.randint(1, 2))},
        lambda: {"patternProperties": {one: inner() for one in random.sample(PATTERNS, random.randint(1, 2))}},
        lambda: {"additionalProperties": random.choice([False, inner()])},
        lambda: {random.choice(["minProperties", "maxProperties"]): random.choice([0, 1, 2])},
        lambda: {"items": inner()},
        tuples,
        lambda: {random.choice(["minItems", "maxItems"]): random.choice([0, 1, 2])},
        lambda: {random.choice(["allOf", "anyOf", "oneOf"]): several(3)},
        lambda: {"oneOf": several(3)},
        lambda: {"not": inner()},
        lambda: {"$ref": "#/definitions/" + random.choice(["scalar", "small", "nested"])},
    ]
    if draft >= 6:
        names = [{"pattern": random.choice(PATTERNS)}, {"enum": random.sample(KEYS, 2)}, {"maxLength": 1}, inner()]
        makers += [lambda: {"propertyNames": random.choice(names)}, lambda: {"contains": inner()}]
    if draft >= 7:
        makers.append(lambda: {"if": inner(), "then": inner(), "else": inner()})
        makers.append(lambda: {"if": inner(), random.choice(["then", "else"]): inner()})
    if draft <= 7:
        makers.append(lambda: {"dependencies": {random.choice(KEYS): random.choice([random.sample(KEYS, 1), inner()])}})
    else:
        makers += [
            lambda: {"dependentRequired": {random.choice(KEYS): random.sample(KEYS, 1)}},
            lambda: {"dependentSchemas": {random.choice(KEYS): inner()}},
            lambda: {"contains": inner(), "minContains": random.choice([0, 1, 2])},
            lambda: {"contains": inner(), "maxContains": random.choice([1, 2])},
        ]
    if draft == 2020:  # the validator that these are compared with evaluates too much in 2019-09
        makers += [
            lambda: {"unevaluatedProperties": random.choice([False, inner()])},
            lambda: {"unevaluatedItems": random.choice([False, inner()])},
        ]
    return random.choice(makers)()
