"""Formats made of formats: one after the other, one of several, some times."""

from __future__ import annotations

from dataclasses import replace

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.expr import EPSILON, NEVER, Rule, alternation, call, repetition, sequence
from structgen.grammars.structural_tag.fields import Fields, refuse
from structgen.grammars.structural_tag.writing import Context, FormatWriter, WriteFormat, Written

__all__ = ["COMBINATIONS"]

_MOST_TIMES = 10_000


def _sequence(writer: FormatWriter, fields: Fields, context: Context) -> Written:
    *first, (last, pointer) = fields.items("elements")
    inner = replace(context, is_last=False)
    exprs = [writer.write(one, its, inner).expr for one, its in first]
    written = writer.write(last, pointer, context)
    return Written(sequence(*exprs, written.expr), written.has_end)


def _or(writer: FormatWriter, fields: Fields, context: Context) -> Written:
    choices = [writer.write(one, pointer, context) for one, pointer in fields.items("elements")]
    if not any(one.has_end for one in choices):
        return Written(alternation(*(one.expr for one in choices)))
    end = context.ends.expr
    return Written(alternation(*(one.expr if one.has_end else sequence(one.expr, end) for one in choices)), True)


def _optional(writer: FormatWriter, fields: Fields, context: Context) -> Written:
    return _times(writer, fields, context, 0, 1)


def _star(writer: FormatWriter, fields: Fields, context: Context) -> Written:
    return _times(writer, fields, context, 0, None)


def _plus(writer: FormatWriter, fields: Fields, context: Context) -> Written:
    return _times(writer, fields, context, 1, None)


def _repeat(writer: FormatWriter, fields: Fields, context: Context) -> Written:
    low, high = fields.whole("min"), fields.whole("max")
    if low < 0 or high < -1 or -1 < high < low:
        refuse(fields.pointer, f"min={low} and max={high} are no bounds; -1 is no upper bound")
    if max(low, high) > _MOST_TIMES:
        raise GrammarLimitExceeded(f"structural tag, at {fields.pointer}: over {_MOST_TIMES:,} times")
    return _times(writer, fields, context, low, None if high < 0 else high)


def _times(writer: FormatWriter, fields: Fields, context: Context, low: int, high: int | None) -> Written:
    """The format ``content``, from ``low`` to ``high`` times."""
    value, pointer = fields.take("content"), fields.at("content")
    if high == 0:
        return Written(EPSILON)
    last = writer.write(value, pointer, context)
    if not last.has_end:
        part = call(Rule("content", lambda: last.expr, pointer))
        return Written(repetition(part, low, high))
    inner = writer.write(value, pointer, replace(context, is_last=False)).expr
    part = call(Rule("content", lambda: inner, pointer))
    before = repetition(part, max(low - 1, 0), None if high is None else high - 1)
    none = NEVER if low else context.ends.expr
    return Written(alternation(sequence(before, last.expr), none), True)


COMBINATIONS: dict[str, WriteFormat] = {
    "sequence": _sequence,
    "or": _or,
    "optional": _optional,
    "star": _star,
    "plus": _plus,
    "repeat": _repeat,
}
