"""From a schema to the rules of its grammar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from structgen.errors import (
    EmptyLanguage,
    GrammarLimitExceeded,
    InvalidGrammar,
    UnsatisfiableSchema,
    UnsupportedSchema,
)
from structgen.grammars.expr import Rule
from structgen.grammars.json_schema.algebra import Algebra
from structgen.grammars.json_schema.assertions import Formats
from structgen.grammars.json_schema.location import Places
from structgen.grammars.json_schema.plans import Planner
from structgen.grammars.json_schema.writing import Writer
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["compile_json_schema", "schema_rule"]


def compile_json_schema(
    schema: Any,
    vocabulary: TokenVocabulary,
    default_dialect: str | None = None,
    registry: Any = None,
    property_order: str = "schema",
    numbers: str = "canonical",
    formats: str = "assert",
    whitespace: str | tuple[str, str] = "flexible",
    *,
    strict_formats: bool = False,
) -> TokenAutomaton:
    """The automaton of the JSON texts that ``schema`` allows, in the documented layout.

    """
    rule = schema_rule(
        schema,
        default_dialect=default_dialect,
        registry=registry,
        property_order=property_order,
        numbers=numbers,
        formats=formats,
        strict_formats=strict_formats,
    )
    try:
        return TokenAutomaton(rule, vocabulary)
    except EmptyLanguage as error:
        raise UnsatisfiableSchema("", "no JSON value can meet it: the schema is unsatisfiable") from error


def schema_rule(
    schema: Any,
    default_dialect: str | None = None,
    registry: Any = None,
    property_order: str = "schema",
    numbers: str = "canonical",
    formats: str = "assert",
    strict_formats: bool = False,
) -> Rule:
    """The grammar of `compile_json_schema`, without a vocabulary."""
    _check_option("numbers", numbers, ("canonical", "any"))
    _check_option("formats", formats, ("assert", "annotate"))
    _check_option("property_order", property_order, ("schema", "any"))
    try:
        places = Places(schema, default_dialect, registry)
        planner = Planner(Algebra(Formats(formats == "assert", strict_formats)))
        writer = Writer(planner, numbers, ordered=property_order == "schema")
        return writer.write(places.root)
    except RecursionError as error:
        raise GrammarLimitExceeded("the schema is nested too deeply, or holds itself; flatten it") from error


def _check_option(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidGrammar(f"{name} is {' or '.join(map(repr, known))}, not {value!r}")
