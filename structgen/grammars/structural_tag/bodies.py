"""What stands between the beginning and the end of a tag: schemas, patterns and grammars as rules of a larger one."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import cast

from structgen.errors import EmptyLanguage, GrammarError, SchemaError, UnsatisfiableSchema
from structgen.grammars.automaton.bases import known_facts
from structgen.grammars.expr import Rule, call
from structgen.grammars.json_schema.compile import schema_rule
from structgen.grammars.regex.compile import pattern_rule
from structgen.grammars.structural_tag.fields import refuse
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.vocabulary import TokenVocabulary
from structgen.plugins import registry

__all__ = ["Bodies"]

_KEPT = 2048
"""So many schemas, and so many patterns, are kept as rules, whatever they are part of."""


class Bodies:
    """The bodies of one specification.

    Every method raises what the body's own front end does, with the place in the specification.

    Parameters
    ----------
    vocabulary : TokenVocabulary
        The model's tokens.
    """

    def __init__(self, vocabulary: TokenVocabulary) -> None:
        self._vocabulary = vocabulary

    def schema(self, schema: object, pointer: str, property_order: str, whitespace: str) -> Rule:
        """The rule of the JSON values of a schema, the options as `compile_json_schema` has them."""
        text = _as_text(schema, pointer)
        empty = UnsatisfiableSchema(pointer, "no JSON value can meet it: the schema is unsatisfiable")
        return self._checked(lambda: _schema_body(text, property_order, whitespace), pointer, empty)

    def pattern(self, pattern: str, pointer: str) -> Rule:
        """The rule of the texts that a pattern matches as a whole."""
        return self._checked(lambda: _pattern_body(pattern), pointer, _no_text(pointer))

    def grammar(self, text: str, front_end: str, pointer: str) -> Rule:
        """The rule of the texts of a grammar that is written for another front end."""
        compile_grammar = cast("Callable[..., TokenAutomaton]", registry("structgen.grammars").load(front_end))
        return self._checked(lambda: _shared(compile_grammar(text, self._vocabulary).start), pointer, _no_text(pointer))

    def _checked(self, compiled: Callable[[], Rule], pointer: str, empty: GrammarError) -> Rule:
        """The rule, unless no text matches it."""
        try:
            rule = compiled()
            facts = known_facts(rule, self._vocabulary.lengths, self._vocabulary.interiors)
        except SchemaError as error:
            raise error.below(pointer) from error
        except GrammarError as error:
            raise type(error)(f"structural tag, at {pointer}: {error}") from error
        if not facts[rule].productive:
            raise empty
        return rule


@lru_cache(_KEPT)
def _schema_body(text: str, property_order: str, whitespace: str) -> Rule:
    return _shared(schema_rule(json.loads(text), property_order=property_order, whitespace=whitespace))


@lru_cache(_KEPT)
def _pattern_body(pattern: str) -> Rule:
    return _shared(pattern_rule(pattern))


def _as_text(schema: object, pointer: str) -> str:
    try:
        return json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError) as error:
        refuse(pointer, f"the schema is no JSON: {error}")


def _shared(rule: Rule) -> Rule:
    return Rule(rule.name, lambda: call(rule), rule.pointer, is_shared=True)


def _no_text(pointer: str) -> EmptyLanguage:
    return EmptyLanguage(f"structural tag, at {pointer}: no text matches")
