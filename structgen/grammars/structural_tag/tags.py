"""Tags: a beginning, a body and an end; alone or several in a row, and reasoning, which is one of its own kind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from structgen.grammars.expr import (
    EPSILON,
    Expr,
    Rule,
    alternation,
    call,
    literal,
    optional,
    repetition,
    sequence,
    special_token,
)
from structgen.grammars.structural_tag.fields import Fields, encoded, refuse
from structgen.grammars.structural_tag.regions import Ends, Marker, Region, branches
from structgen.grammars.structural_tag.writing import Context, FormatWriter, WriteFormat, Written

__all__ = ["TAGS", "Tag", "marker_of", "read_structures", "read_tags"]

_AFTER_REASONING = repetition(literal(b"\n"), 0, 2)
"""As models write it before the answer."""


class Tag(NamedTuple):
    """A tag."""

    begin: Marker
    """A text, which may be empty, or a special token."""
    rest: Expr
    """Its body and its end."""
    pointer: str


def read_tags(writer: FormatWriter, fields: Fields) -> list[Tag]:
    """The tags of the field ``tags``."""
    tags: list[Tag] = []
    for value, pointer in fields.items("tags"):
        inner = Fields(value, pointer)
        inner.only("type", "tag", why="only tags stand here")
        tags.append(_read_tag(writer, inner))
        inner.done("a tag")
    return tags


def read_structures(writer: FormatWriter, fields: Fields) -> list[Tag]:
    """The tags of the field ``structures`` of the older form: their bodies are schemas."""
    tags: list[Tag] = []
    for value, pointer in fields.items("structures"):
        inner = Fields(value, pointer)
        begin, ends = marker_of(writer, inner.take("begin"), inner.at("begin")), _ends(writer, inner, None)
        schema = inner.take("schema")
        if isinstance(schema, str):
            schema = _parsed(schema, inner.at("schema"))
        body = writer.bodies.schema(schema, inner.at("schema"), "schema", "flexible")
        inner.done("a structure")
        tags.append(_named(writer, begin, sequence(call(body), ends.expr), pointer))
    return tags


def marker_of(writer: FormatWriter, value: object, pointer: str) -> Marker:
    """A text, or the special token that ``{"type": "token", "token": ...}`` names."""
    if isinstance(value, str):
        return encoded(value, pointer)
    fields = Fields(value, pointer)
    fields.only("type", "token", why="a mark is a string or a token")
    token = writer.tokens.one(fields.take("token"), fields.at("token"))
    fields.done("a token")
    return token


def _read_tag(writer: FormatWriter, fields: Fields) -> Tag:
    begin, ends = marker_of(writer, fields.take("begin"), fields.at("begin")), _ends(writer, fields, None)
    rest = writer.write_ended(fields.take("content"), fields.at("content"), ends)
    return _named(writer, begin, rest, fields.pointer)


def _named(writer: FormatWriter, begin: Marker, rest: Expr, pointer: str) -> Tag:
    """The tag, its rest a rule that is lowered when it is reached."""
    name = writer.tokens.name(begin) if isinstance(begin, int) else begin.decode()
    return Tag(begin, call(Rule(name or "tag", lambda: rest, pointer)), pointer)


def _ends(writer: FormatWriter, fields: Fields, default: str | None) -> Ends:
    """What the field ``end`` names: a text, a special token, or several texts."""
    value = fields.take("end") if default is None or "end" in fields else default
    several = cast("Sequence[Any]", value) if isinstance(value, (list, tuple)) else [value]
    if not several:
        refuse(fields.at("end"), "the list is empty; give at least one")
    markers = [marker_of(writer, one, fields.at("end")) for one in several]
    texts = [one for one in markers if isinstance(one, bytes)]
    tokens = [one for one in markers if isinstance(one, int)]
    return Ends(tuple(filter(None, texts)), tuple(tokens), may_be_empty=b"" in texts)


def _parsed(text: str, pointer: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        refuse(pointer, f"not JSON: {error}")


def _opened(tags: Sequence[Tag]) -> Expr:
    """Any of the tags."""
    tokens = [sequence(special_token(one.begin), one.rest) for one in tags if isinstance(one.begin, int)]
    return alternation(*tokens, branches([(one.begin, one.rest) for one in tags if isinstance(one.begin, bytes)]))


def _tag(writer: FormatWriter, fields: Fields, _context: Context) -> Written:
    return Written(_opened([_read_tag(writer, fields)]))


def _tags_with_separator(writer: FormatWriter, fields: Fields, _context: Context) -> Written:
    tags = _opened(read_tags(writer, fields))
    one = call(Rule("tags", lambda: tags, fields.at("tags")))
    separator = literal(encoded(fields.text("separator"), fields.at("separator")))
    more = EPSILON if fields.flag("stop_after_first") else repetition(sequence(separator, one), 0, None)
    several = sequence(one, more)
    return Written(several if fields.flag("at_least_one") else optional(several))


def _reasoning(writer: FormatWriter, fields: Fields, _context: Context) -> Written:
    begin = fields.take("begin") if "begin" in fields else "<think>"
    thoughts = Region().expr(_ends(writer, fields, "</think>"), is_last=True)
    rest = call(Rule("reasoning", lambda: sequence(thoughts, _AFTER_REASONING), fields.pointer))
    return Written(_opened([Tag(marker_of(writer, begin, fields.at("begin")), rest, fields.pointer)]))


TAGS: dict[str, WriteFormat] = {
    "tag": _tag,
    "tags_with_separator": _tags_with_separator,
    "reasoning": _reasoning,
}
