"""Formats that hold no other format: texts, JSON, patterns, grammars, special tokens, prose."""

from __future__ import annotations

import re

from structgen.grammars.expr import call, literal, special_token
from structgen.grammars.structural_tag.dispatching import write_region
from structgen.grammars.structural_tag.fields import Fields, encoded, refuse
from structgen.grammars.structural_tag.regions import Region
from structgen.grammars.structural_tag.writing import Context, FormatWriter, WriteFormat, Written
from structgen.plugins import registry

__all__ = ["PARTS", "REFUSED"]

_FRONT_ENDS = {"ebnf": "ebnf", "gbnf": "gbnf", "lark": "lark"}
"""By what a grammar calls its syntax."""
_IMPORT, _SHIPPED = re.compile(r"%import[\s\\]*(\w*)"), ("common", "unicode", "python", "lark")
"""What a grammar in Lark's syntax imports from, empty for a file beside it; and what comes with `lark`."""
_UNCOUNTED = "no state of the automaton counts it; leave it out"


def _const_string(_writer: FormatWriter, fields: Fields, _context: Context) -> Written:
    return Written(literal(encoded(fields.text("value"), fields.at("value"))))


def _json_schema(writer: FormatWriter, fields: Fields, _context: Context) -> Written:
    pointer, schema = fields.at("json_schema"), fields.take("json_schema")
    fields.only("style", "json", why="JSON is the only style")
    fields.only("excludes", [], why="a pattern in the schema says what a string may hold")
    spaces = fields.only("max_whitespace_cnt", None, 0, why="white space is that of the documented layout, or none")
    order = "any" if fields.flag("any_order") else "schema"
    rule = writer.bodies.schema(schema, pointer, order, "flexible" if spaces is None else "compact")
    return Written(call(rule))


def _regex(writer: FormatWriter, fields: Fields, _context: Context) -> Written:
    return Written(call(writer.bodies.pattern(fields.text("pattern"), fields.at("pattern"))))


def _grammar(writer: FormatWriter, fields: Fields, _context: Context) -> Written:
    text, syntax = fields.text("grammar"), fields.text("syntax", "ebnf")
    if syntax not in _FRONT_ENDS:
        refuse(fields.at("syntax"), f"there is no syntax {syntax!r}; there is {', '.join(_FRONT_ENDS)}")
    front_end = _FRONT_ENDS[syntax]
    if front_end not in registry("structgen.grammars").names():
        refuse(fields.at("syntax"), f"no front end {front_end!r} is installed, which {syntax!r} needs")
    if front_end == "lark" and not set(_IMPORT.findall(text)) <= set(_SHIPPED):
        refuse(fields.at("grammar"), f"a tag reads no files; its grammar may import from {', '.join(_SHIPPED)}")
    return Written(call(writer.bodies.grammar(text, front_end, fields.at("grammar"))))


def _token(writer: FormatWriter, fields: Fields, _context: Context) -> Written:
    return Written(special_token(writer.tokens.one(fields.take("token"), fields.at("token"))))


def _any_text(_writer: FormatWriter, fields: Fields, context: Context) -> Written:
    excludes = tuple(fields.texts("excludes"))
    fields.only("max_tokens", None, why=_UNCOUNTED)
    fields.only("max_chars", None, why=_UNCOUNTED)
    return write_region(Region(excludes=excludes), fields, context)


def _any_tokens(writer: FormatWriter, fields: Fields, context: Context) -> Written:
    excluded = writer.tokens.several(fields.items("exclude_tokens", needed=False))
    fields.only("max_tokens", None, why=_UNCOUNTED)
    tokens = writer.tokens.others([*excluded, *context.ends.tokens])
    return write_region(Region(tokens=tokens), fields, context)


PARTS: dict[str, WriteFormat] = {
    "const_string": _const_string,
    "json_schema": _json_schema,
    "regex": _regex,
    "grammar": _grammar,
    "token": _token,
    "any_text": _any_text,
    "any_tokens": _any_tokens,
}

REFUSED = {
    "exclude_token": "it counts tokens of text, and one text has many tokens; write any_text, regex or any_tokens",
    "qwen_xml_parameter": "a schema is held as JSON; write a tag for each parameter",
}
"""Formats that XGrammar has, and why they are not here."""
