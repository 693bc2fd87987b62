"""From a schema to the rules of its grammar."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, cast

from typing_extensions import Unpack

from structgen.errors import (
    EmptyLanguage,
    GrammarLimitExceeded,
    InvalidGrammar,
    UnsatisfiableSchema,
    UnsupportedSchema,
)
from structgen.grammars.expr import Rule
from structgen.grammars.json_layout import layout_named
from structgen.grammars.json_schema.algebra import Algebra
from structgen.grammars.json_schema.assertions import Formats
from structgen.grammars.json_schema.location import Places
from structgen.grammars.json_schema.openai_strict import check_openai_strict
from structgen.grammars.json_schema.plans import Planner
from structgen.grammars.json_schema.unsupported import Unsupported
from structgen.grammars.json_schema.validation import SchemaValidator
from structgen.grammars.json_schema.writing import Writer
from structgen.grammars.limits import Limits
from structgen.grammars.recipe import front_end
from structgen.grammars.relaxation import SchemaRelaxed
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
    whitespace: str | tuple[str, str] = "flexible",
    strict_formats: bool = False,
    on_unsupported: str = "error",
    profile: str | None = None,
    **limits: Unpack[Limits],
) -> TokenAutomaton:
    """The automaton of the JSON texts that ``schema`` allows, in the documented layout.

    Every keyword of the five drafts is held, in any combination and with the specification's meaning; what cannot be
    held exactly is refused: above all ``uniqueItems`` where elements are neither strings alone nor one of at most 24
    values, and backreferences in patterns. Words that are no keywords are annotations.

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
        Whether ``format`` is an assertion or an annotation. Formats that no specification names are annotations. Of
        a few, ``regex`` and international host names above all, an automaton holds a part only, and what it accepts
        is valid: `structgen.grammars.json_schema.formats.format_language` says which.
    whitespace : {"flexible", "compact", "indent:N"} or (str, str)
        White space between tokens: as above; none; as ``json.dumps(value, indent=N)`` has it; or as
        ``json.dumps(value, separators=whitespace)``, which are a comma and a colon with white space around them.
    strict_formats : bool
        Whether unknown formats are refused.
    on_unsupported : {"error", "validate"}
        What is done where a keyword cannot be held exactly: the schema is refused, or the grammar leaves that keyword
        out, warns with `SchemaRelaxed`, and a validator stands behind it. The grammar is then wider than the schema,
        never narrower: masks hold a text to the grammar only, while ``accepts``, ``check`` and ``sample`` of the
        automaton ask the validator too. ``automaton.relaxed`` says what was left out; where nothing had to be, it is
        empty and the automaton is the same as with ``"error"``.
    profile : {"openai-strict"}, optional
        A subset that the schema must lie in, or is refused: that of OpenAI's strict mode (see `check_openai_strict`).
    **limits
        On time, states and memory; see `Limits`.

    Raises
    ------
    UnsupportedSchema
        A keyword that cannot be held exactly, or is not in the profile; the error names its JSON pointer. With
        ``on_unsupported="validate"``, the profile aside, only a dialect, a format that ``strict_formats`` refuses, or
        a pattern that the validator cannot take either.
    InvalidSchema
        The schema is malformed.
    UnsatisfiableSchema
        No text can match.
    GrammarLimitExceeded
        The schema has too many combinations of alternatives, or is nested too deeply; or a limit is passed.
    InvalidGrammar
        An option has none of its values.
    """
    _check_option("on_unsupported", on_unsupported, ("error", "validate"))
    if profile is not None:
        _check_option("profile", profile, ("openai-strict",))
        check_openai_strict(schema)
    build = partial(
        schema_rule, schema, default_dialect, registry, property_order, numbers, formats, whitespace, strict_formats
    )
    try:
        try:
            return TokenAutomaton(build(), vocabulary)
        except UnsupportedSchema:
            if on_unsupported == "error":
                raise
        unsupported = Unsupported(relaxing=True)
        rule = build(unsupported)
        validator = SchemaValidator(schema, default_dialect, registry, formats=formats == "assert")
        automaton = TokenAutomaton(rule, vocabulary, validate=validator.refusal, relaxed=unsupported.relaxed)
    except EmptyLanguage as error:
        raise UnsatisfiableSchema("", "no JSON value can meet it: the schema is unsatisfiable") from error
    warnings.warn("; ".join(map(str, automaton.relaxed)), SchemaRelaxed, stacklevel=3)
    return automaton


def schema_rule(
    schema: Any,
    default_dialect: str | None = None,
    registry: Any = None,
    property_order: str = "schema",
    numbers: str = "canonical",
    formats: str = "assert",
    whitespace: str | tuple[str, str] = "flexible",
    strict_formats: bool = False,
    unsupported: Unsupported | None = None,
) -> Rule:
    """The grammar of `compile_json_schema`, without a vocabulary.

    Parameters
    ----------
    unsupported : Unsupported, optional
        What is done with keywords that cannot be held; by default they are refused.
    """
    _check_option("numbers", numbers, ("canonical", "any"))
    _check_option("formats", formats, ("assert", "annotate"))
    _check_option("property_order", property_order, ("schema", "any"))
    if default_dialect is not None and not isinstance(cast("object", default_dialect), str):
        raise InvalidGrammar(f"default_dialect is the URI of a meta-schema, not {default_dialect!r}")
    layout = layout_named(whitespace)
    try:
        places = Places(schema, default_dialect, registry)
        algebra = Algebra(Formats(formats == "assert", strict_formats), unsupported or Unsupported(relaxing=False))
        writer = Writer(Planner(algebra), numbers, ordered=property_order == "schema", layout=layout)
        rule = writer.write(places.root)
        places.forget()
        return rule
    except RecursionError as error:
        raise GrammarLimitExceeded("the schema is nested too deeply, or holds itself; flatten it") from error


def _check_option(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidGrammar(f"{name} is {' or '.join(map(repr, known))}, not {value!r}")
