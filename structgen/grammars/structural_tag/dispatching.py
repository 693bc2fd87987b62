"""Prose with tags in it: what interrupts the prose, and what must follow then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

from structgen.grammars.expr import Expr, Rule, call, sequence
from structgen.grammars.structural_tag.fields import Fields, refuse
from structgen.grammars.structural_tag.regions import Marker, Region, Trigger
from structgen.grammars.structural_tag.tags import Tag, marker_of, read_structures, read_tags
from structgen.grammars.structural_tag.writing import Context, FormatWriter, WriteFormat, Written

__all__ = ["DISPATCHING", "write_region", "write_structures"]


def write_region(region: Region, fields: Fields, context: Context) -> Written:
    """A region as a rule of its own."""
    expr = region.expr(context.ends, is_last=context.is_last)
    return Written(call(Rule("text", lambda: expr, fields.pointer)), has_end=context.is_last)


def write_structures(writer: FormatWriter, fields: Fields) -> Expr:
    """The older form of the whole: ``structures`` and their ``triggers``."""
    triggers = [_trigger(writer, one, pointer) for one, pointer in fields.items("triggers")]
    region = Region(_by_trigger(triggers, read_structures(writer, fields), fields.at("triggers")))
    return write_region(region, fields, Context()).expr


def _triggered_tags(writer: FormatWriter, fields: Fields, context: Context) -> Written:
    triggers = [_trigger(writer, one, pointer) for one, pointer in fields.items("triggers")]
    region = Region(excludes=tuple(fields.texts("excludes")))
    return _with_tags(writer, fields, context, triggers, region)


def _token_triggered_tags(writer: FormatWriter, fields: Fields, context: Context) -> Written:
    triggers = writer.tokens.several(fields.items("trigger_tokens"))
    region = Region(tokens=_free_tokens(writer, fields, context, triggers))
    return _with_tags(writer, fields, context, triggers, region)


def _with_tags(
    writer: FormatWriter, fields: Fields, context: Context, triggers: Sequence[Marker], region: Region
) -> Written:
    """A region with the tags that ``fields`` name."""
    region = replace(region, at_least_one=fields.flag("at_least_one"), stop_after_first=fields.flag("stop_after_first"))
    tags = read_tags(writer, fields)
    if region.stop_after_first and context.is_last:
        tags = [one._replace(rest=sequence(one.rest, context.ends.expr)) for one in tags]
    return write_region(replace(region, triggers=_by_trigger(triggers, tags, fields.pointer)), fields, context)


def _by_trigger(triggers: Sequence[Marker], tags: Iterable[Tag], pointer: str) -> list[Trigger]:
    """The tags, each for all triggers that it begins with."""
    found: list[Trigger] = []
    known = set(triggers)
    for begin, rest, place in tags:
        its = [Trigger(one, begin, rest) for one in _beginnings(begin) if one in known]
        if not its:
            refuse(place, "this tag begins with none of the triggers")
        found += its
    used = {one.marker for one in found}
    for number, one in enumerate(triggers):
        if one not in used:
            refuse(pointer, f"no tag begins with trigger number {number}; what may not occur at all goes in excludes")
    return found


def _beginnings(begin: Marker) -> list[Marker]:
    return [begin] if isinstance(begin, int) else [begin[: size + 1] for size in range(len(begin))]


def _dispatch(writer: FormatWriter, fields: Fields, context: Context) -> Written:
    loops = "loop" not in fields or fields.flag("loop")
    rules = _rules(writer, fields, context, lambda given, pointer: _trigger(writer, given, pointer), loops=loops)
    region = Region(_by_pattern(rules, fields), excludes=tuple(fields.texts("excludes")), stop_after_first=not loops)
    return write_region(region, fields, context)


def _token_dispatch(writer: FormatWriter, fields: Fields, context: Context) -> Written:
    loops = "loop" not in fields or fields.flag("loop")
    rules = _rules(writer, fields, context, writer.tokens.one, loops=loops)
    tokens = _free_tokens(writer, fields, context, [one.begin for one in rules])
    return write_region(Region(_by_pattern(rules, fields), tokens=tokens, stop_after_first=not loops), fields, context)


def _by_pattern(rules: Sequence[Tag], fields: Fields) -> list[Trigger]:
    return _by_trigger(list(dict.fromkeys(one.begin for one in rules)), rules, fields.pointer)


def _rules(
    writer: FormatWriter, fields: Fields, context: Context, read: Callable[[Any, str], Marker], *, loops: bool
) -> list[Tag]:
    """The field ``rules``, a tag for each: its pattern, and what follows."""
    rules: list[Tag] = []
    for value, pointer in fields.items("rules"):
        pair = cast("Sequence[Any]", value) if isinstance(value, (list, tuple)) else ()
        if len(pair) != 2:
            refuse(pointer, "expected a list of a pattern and a format")
        pattern, content = pair
        rest = _after(writer, content, f"{pointer}/1", context, loops=loops)
        rules.append(Tag(read(pattern, f"{pointer}/0"), rest, pointer))
    return rules


def _after(writer: FormatWriter, value: object, pointer: str, context: Context, *, loops: bool) -> Expr:
    """What follows a pattern; where nothing follows that in turn, with the end of the tag around it."""
    if loops or not context.is_last:
        return writer.write(value, pointer, replace(context, is_last=False)).expr
    return writer.write_ended(value, pointer, context.ends)


def _free_tokens(writer: FormatWriter, fields: Fields, context: Context, triggers: Iterable[Marker]) -> tuple[int, ...]:
    """The special tokens that may stand in the prose."""
    excluded = writer.tokens.several(fields.items("exclude_tokens", needed=False))
    return writer.tokens.others([*(one for one in triggers if isinstance(one, int)), *excluded, *context.ends.tokens])


def _trigger(writer: FormatWriter, value: object, pointer: str) -> Marker:
    marker = marker_of(writer, value, pointer)
    return refuse(pointer, "a trigger is not empty") if marker == b"" else marker


DISPATCHING: dict[str, WriteFormat] = {
    "triggered_tags": _triggered_tags,
    "token_triggered_tags": _token_triggered_tags,
    "dispatch": _dispatch,
    "token_dispatch": _token_dispatch,
}
