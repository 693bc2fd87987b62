"""From a schema to the rules of its grammar."""

from __future__ import annotations

from typing import Any

from typing_extensions import Unpack

from structgen.errors import (
    EmptyLanguage,
    GrammarLimitExceeded,
    InvalidGrammar,
    UnsatisfiableSchema,
)
from structgen.grammars.expr import Rule
from structgen.grammars.json_schema.algebra import Algebra
from structgen.grammars.json_schema.assertions import Formats
from structgen.grammars.json_schema.location import Places
from structgen.grammars.json_schema.plans import Planner
from structgen.grammars.json_schema.writing import Writer
from structgen.grammars.limits import Limits
from structgen.grammars.recipe import front_end
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["compile_json_schema", "schema_rule"]


@front_end("json_schema")
def compile_json_schema(
    schema: Any,
    vocabulary: TokenVocabulary,
    default_dialect: str | None = None,
    registry: Any = None,
    property_order: str = "schema",
    numbers: str = "canonical",
    formats: str = "assert",
    whitespace: str = "flexible",
    strict_formats: bool = False,
    **limits: Unpack[Limits],
) -> TokenAutomaton:
    """The automaton of the JSON texts that ``schema`` allows, in the documented layout.

    Every keyword of the five drafts is held, in any combination and with the specification's meaning; what cannot be
    held exactly is refused. Words that are no keywords are annotations.

    Layout: between tokens at most ``" "`` or a line feed and up to 64 spaces; keys in the order of ``properties``,
    then of in-place applicators by first mention, then undeclared required keys, then others; no key twice.

    Parameters
    ----------
    schema : dict or bool
        JSON Schema of draft 4, 6, 7, 2019-09 or 2020-12; ``$schema`` chooses.
    vocabulary : TokenVocabulary
        The model's tokens.
    default_dialect : str, optional
        URI of the meta-schema where ``$schema`` says nothing; 2020-12 by default.
    registry : mapping of str to schema, or referencing.Registry, optional
        Documents that ``$ref`` may name, by URI.
    property_order : {"schema", "any"}
        Order of an object's keys: as above, or any.
    numbers : {"canonical", "any"}
        ``"canonical"``: as common writers give them, at most 20 digits before and after the point (before it, any
        number of digits where counting them too takes more than 50,000 states). ``"any"``: every spelling of a number
        (of at most 40 digits where values are restricted).
    formats : {"assert", "annotate"}
        Whether ``format`` is an assertion or an annotation. Formats that no specification names are annotations.
    whitespace : {"flexible", "compact"}
        White space between tokens as above, or none.
    strict_formats : bool
        Whether unknown formats are refused.
    **limits
        On time, states and memory; see `Limits`.

    Raises
    ------
    UnsupportedSchema
        A keyword that cannot be held exactly; the error names its JSON pointer.
    InvalidSchema
        The schema is malformed.
    UnsatisfiableSchema
        No text can match.
    GrammarLimitExceeded
        The schema has too many combinations of alternatives, or is nested too deeply; or a limit is passed.
    InvalidGrammar
        An option has none of its values.
    """
    rule = schema_rule(
        schema,
        default_dialect=default_dialect,
        registry=registry,
        property_order=property_order,
        numbers=numbers,
        formats=formats,
        whitespace=whitespace,
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
    whitespace: str = "flexible",
    strict_formats: bool = False,
) -> Rule:
    """The grammar of `compile_json_schema`, without a vocabulary."""
    _check_option("numbers", numbers, ("canonical", "any"))
    _check_option("formats", formats, ("assert", "annotate"))
    _check_option("property_order", property_order, ("schema", "any"))
    _check_option("whitespace", whitespace, ("flexible", "compact"))
    try:
        places = Places(schema, default_dialect, registry)
        planner = Planner(Algebra(Formats(formats == "assert", strict_formats)))
        writer = Writer(planner, numbers, ordered=property_order == "schema", spaced=whitespace == "flexible")
        rule = writer.write(places.root)
        places.forget()
        return rule
    except RecursionError as error:
        raise GrammarLimitExceeded("the schema is nested too deeply, or holds itself; flatten it") from error


def _check_option(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidGrammar(f"{name} is {' or '.join(map(repr, known))}, not {value!r}")
