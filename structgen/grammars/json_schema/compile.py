"""From a schema to the rules of its grammar."""

from __future__ import annotations

from typing import Any

from typing_extensions import Unpack

from structgen.errors import EmptyLanguage, GrammarLimitExceeded, InvalidGrammar, UnsatisfiableSchema, UnsupportedSchema
from structgen.grammars.expr import Expr, Rule, alternation, call
from structgen.grammars.json_schema import text
from structgen.grammars.json_schema.location import open_document
from structgen.grammars.json_schema.shapes import FRACTION, INTEGER, Algebra, Conjunction, Shape
from structgen.grammars.limits import Limits
from structgen.grammars.recipe import front_end
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["compile_json_schema"]


@front_end("json_schema")
def compile_json_schema(
    schema: Any,
    vocabulary: TokenVocabulary,
    default_dialect: str | None = None,
    registry: Any = None,
    property_order: str = "schema",
    numbers: str = "canonical",
    formats: str = "assert",
    **limits: Unpack[Limits],
) -> TokenAutomaton:
    """The automaton of the JSON texts that ``schema`` allows, in the documented layout.

    Keywords held now: ``type``, ``properties``, ``required``, ``items``, ``enum``, ``const``, ``anyOf``, ``$ref`` and
    ``additionalProperties: false``, in any combination. Every other assertion of the specification is refused; other
    words are annotations.

    Layout: between tokens at most ``" "`` or a line feed and up to 64 spaces; keys in the order of ``properties``,
    then of ``$ref`` and ``anyOf`` by first mention, then undeclared required keys. An object holds no keys but these,
    also where the schema would allow more.

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
    property_order : {"schema"}
        Order of an object's keys.
    numbers : {"canonical", "any"}
        ``"canonical"``: as common writers give them, at most 20 digits before and after the point. ``"any"``: every
        spelling of a number; integers are refused then.
    formats : {"assert", "annotate"}
        Whether ``format`` is an assertion, which is refused, or an annotation.
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
    _check_option("numbers", numbers, ("canonical", "any"))
    _check_option("formats", formats, ("assert", "annotate"))
    _check_option("property_order", property_order, ("schema",))
    try:
        root = open_document(schema, default_dialect, registry)
        writer = _Writer(Algebra(formats), numbers)
        return TokenAutomaton(Rule("the schema", lambda: writer.value((root,))), vocabulary)
    except EmptyLanguage as error:
        raise UnsatisfiableSchema("", "no JSON value can meet it: the schema is unsatisfiable") from error
    except RecursionError as error:
        raise GrammarLimitExceeded("the schema is nested too deeply, or holds itself; flatten it") from error


def _check_option(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidGrammar(f"{name} is {' or '.join(map(repr, known))}, not {value!r}")


class _Writer:
    """Writes the expressions of conjunctions; objects and arrays become rules of their own."""

    def __init__(self, algebra: Algebra, numbers: str) -> None:
        self._algebra, self._numbers = algebra, numbers
        self._rules: dict[Conjunction, Rule] = {}

    def value(self, conjunction: Conjunction) -> Expr:
        """Any value that meets ``conjunction``."""
        rule = self._rules.get(conjunction)
        if rule is not None:
            return call(rule)
        shapes = self._algebra.expand(conjunction)
        if not any(_has_inside(shape) for shape in shapes):
            return alternation(*(self._shape(shape, conjunction) for shape in shapes))
        pointer = conjunction[0].pointer if conjunction else ""
        rule = Rule(
            pointer.rpartition("/")[2] or "value",
            lambda: alternation(*(self._shape(shape, conjunction) for shape in shapes)),
            pointer,
        )
        self._rules[conjunction] = rule
        return call(rule)

    def _shape(self, shape: Shape, conjunction: Conjunction) -> Expr:
        if shape.values is not None:
            return alternation(*(text.value(value) for value in shape.values))
        parts: list[Expr] = []
        if "null" in shape.kinds:
            parts.append(text.NULL)
        if "boolean" in shape.kinds:
            parts.append(text.BOOLEAN)
        if "string" in shape.kinds:
            parts.append(text.STRING)
        if INTEGER in shape.kinds:
            parts.append(self._number(shape, conjunction))
        if "array" in shape.kinds:
            parts.append(text.array(self.value(shape.items)))
        if "object" in shape.kinds:
            parts.append(self._object(shape, conjunction))
        return alternation(*parts)

    def _number(self, shape: Shape, conjunction: Conjunction) -> Expr:
        if FRACTION in shape.kinds:
            return text.NUMBER if self._numbers == "canonical" else text.ANY_NUMBER
        if self._numbers == "any":
            raise UnsupportedSchema(
                f"{_pointer(conjunction)}/type",
                "type",
                'integers in any spelling cannot be held; use numbers="canonical"',
            )
        return text.INTEGER

    def _object(self, shape: Shape, conjunction: Conjunction) -> Expr:
        if not shape.properties and not shape.required and not shape.additional:
            raise UnsupportedSchema(
                _pointer(conjunction),
                "additionalProperties",
                "this version writes declared keys only and none is declared here; "
                "declare them, say additionalProperties: false, or give a type that is no object",
            )
        keys = dict.fromkeys((*dict(shape.properties), *shape.required))
        members = [(text.member(key, self.value(shape.property_schema(key))), key in shape.required) for key in keys]
        return text.object_of(members)


def _pointer(conjunction: Conjunction) -> str:
    return conjunction[0].pointer if conjunction else ""


def _has_inside(shape: Shape) -> bool:
    return shape.values is None and bool(shape.kinds & {"array", "object"})
