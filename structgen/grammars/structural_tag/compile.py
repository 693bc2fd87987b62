"""From a structural tag to its automaton."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from typing_extensions import Unpack

from structgen.errors import GrammarLimitExceeded, InvalidGrammar
from structgen.grammars.expr import Expr, Rule
from structgen.grammars.limits import Limits
from structgen.grammars.recipe import front_end
from structgen.grammars.structural_tag.combinations import COMBINATIONS
from structgen.grammars.structural_tag.dispatching import DISPATCHING, write_structures
from structgen.grammars.structural_tag.fields import Fields
from structgen.grammars.structural_tag.parts import PARTS, REFUSED
from structgen.grammars.structural_tag.tags import TAGS
from structgen.grammars.structural_tag.writing import Context, FormatWriter
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["compile_structural_tag"]

_KINDS = PARTS | COMBINATIONS | TAGS | DISPATCHING


@front_end("structural_tag")
def compile_structural_tag(
    spec: Mapping[str, Any] | str, vocabulary: TokenVocabulary, **limits: Unpack[Limits]
) -> TokenAutomaton:
    """The automaton of the texts that a structural tag describes: prose, tags, and what stands inside of tags.

    Parameters
    ----------
    spec : mapping or str
        ``{"type": "structural_tag", "format": ...}`` as XGrammar and vLLM take it, or the older form,
        ``{"structures": [{"begin": ..., "schema": ..., "end": ...}], "triggers": [...]}``; or JSON text of one of
        them. The formats are described in `structgen.grammars.structural_tag`.
    vocabulary : TokenVocabulary
        The model's tokens.
    **limits
        On time, states and memory; see `Limits`.

    Raises
    ------
    InvalidGrammar
        The specification is malformed or asks for what is not supported; the message has the JSON pointer.
    SchemaError
        A schema in it is refused as by `compile_json_schema`; its pointer is that within the specification.
    GrammarError
        A pattern or a grammar in it is refused as by its own front end; the message has the JSON pointer.
    EmptyLanguage
        No text matches.
    GrammarLimitExceeded
        It is nested too deeply, repeats something over 10,000 times, or a limit is passed.
    """
    try:
        writer = FormatWriter(vocabulary, _KINDS, REFUSED)
        expr = _written(writer, Fields(_parsed(spec) if isinstance(spec, str) else spec, ""))
        return TokenAutomaton(Rule("the structural tag", lambda: expr), vocabulary)
    except RecursionError as error:
        raise GrammarLimitExceeded("the structural tag is nested too deeply; flatten it") from error


def _written(writer: FormatWriter, fields: Fields) -> Expr:
    fields.only("type", "structural_tag", why="the whole is a structural_tag")
    if "structures" in fields:
        expr = write_structures(writer, fields)
    else:
        expr = writer.write(fields.take("format"), fields.at("format"), Context()).expr
    fields.done("a structural tag")
    return expr


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InvalidGrammar(f"structural tag, {where}: not JSON: {error.msg}") from error
    except ValueError as error:
        raise InvalidGrammar(f"structural tag: not JSON: {error}") from error


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
