"""What one subschema asserts of values that have nothing inside: literals, numbers and strings."""

from __future__ import annotations

from typing import Any, NamedTuple

from structgen.errors import InvalidRegex, InvalidSchema, UnsupportedRegex, UnsupportedSchema
from structgen.grammars import language
from structgen.grammars.json_schema import dialects
from structgen.grammars.json_schema.formats import format_language
from structgen.grammars.json_schema.json_values import is_array, is_object, same_json
from structgen.grammars.json_schema.location import Location
from structgen.grammars.json_schema.numbers import NumberSet
from structgen.grammars.json_schema.unsupported import Unsupported
from structgen.grammars.json_schema.ways import ALL, ARRAYS, FALSE, NULL, NUMBERS, OBJECTS, STRINGS, TRUE
from structgen.grammars.language import Language
from structgen.grammars.regex.ecma import ecma_language

__all__ = ["Formats", "Values", "of_values", "pattern_language", "read_numbers", "read_strings", "read_values"]

_TYPES = {
    "null": NULL,
    "boolean": FALSE | TRUE,
    "integer": NUMBERS,
    "number": NUMBERS,
    "string": STRINGS,
    "array": ARRAYS,
    "object": OBJECTS,
}


class Formats(NamedTuple):
    """What ``format`` means."""

    assertion: bool = True
    strict: bool = False
    """Refuse unknown formats."""


class Values(NamedTuple):
    """What ``type``, ``enum`` and ``const`` leave."""

    types: int = ALL
    numbers: NumberSet = NumberSet.ALL
    strings: Language = language.ALL
    containers: tuple[Any, ...] | None = None
    """The arrays and objects; ``None``: any of the types."""


_ANY_VALUES = Values()


def read_values(location: Location) -> Values:
    """What ``type``, ``enum`` and ``const`` of this subschema leave."""
    if not location.read() & dialects.VALUES:
        return _ANY_VALUES
    keywords = location.keywords
    found = _ANY_VALUES
    if "type" in keywords:
        found = _of_type(keywords["type"], location.dialect.draft)
    if "enum" in keywords:
        found = _both(found, of_values(keywords["enum"]))
    if "const" in keywords:
        found = _both(found, of_values([keywords["const"]]))
    return found


def _of_type(named: str | list[str], draft: int) -> Values:
    if isinstance(named, str):
        return _BY_TYPE[draft == 4][named]
    types = 0
    for name in named:
        types |= _TYPES[name]
    whole = "integer" in named and "number" not in named
    return Values(types, _integers(draft) if whole else NumberSet.ALL)


def _integers(draft: int) -> NumberSet:
    return NumberSet.plain_integers() if draft == 4 else NumberSet.integers()


_BY_TYPE = tuple(
    {name: Values(bits, _integers(draft) if name == "integer" else NumberSet.ALL) for name, bits in _TYPES.items()}
    for draft in (6, 4)
)


def of_values(values: list[Any]) -> Values:
    """Exactly these values; what JSON cannot write is left out."""
    strings = [value for value in values if isinstance(value, str)]
    if len(strings) == len(values):
        return Values(STRINGS if values else 0, NumberSet.NOTHING, Language.finite(strings), ())
    types = STRINGS if strings else 0
    numbers: list[int | float] = []
    containers: list[Any] = []
    for value in values:
        if value is None:
            types |= NULL
        elif isinstance(value, bool):
            types |= TRUE if value else FALSE
        elif isinstance(value, (int, float)):
            types |= NUMBERS
            numbers.append(value)
        elif is_array(value) or is_object(value):
            types |= ARRAYS if is_array(value) else OBJECTS
            containers.append(value)
    return Values(types, NumberSet.only(numbers), Language.finite(strings), tuple(containers))


def _both(one: Values, other: Values) -> Values:
    types = one.types & other.types
    return Values(
        types,
        one.numbers & other.numbers,
        one.strings & other.strings,
        _common(one.containers, other.containers),
    )


def _common(one: tuple[Any, ...] | None, other: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    if one is None or other is None:
        return other if one is None else one
    return tuple(value for value in one if any(same_json(value, its) for its in other))


def read_numbers(location: Location) -> NumberSet:
    """What the keywords about numbers leave."""
    if not location.read() & dialects.NUMBER:
        return NumberSet.ALL
    keywords = location.keywords
    found = NumberSet.ALL
    for name, inclusive, exclusive in (
        ("inimum", NumberSet.at_least, NumberSet.above),
        ("aximum", NumberSet.at_most, NumberSet.below),
    ):
        bound, strict = keywords.get(f"m{name}"), keywords.get(f"exclusiveM{name}")
        if bound is not None:
            found &= exclusive(bound) if strict is True else inclusive(bound)
        if strict is not None and not isinstance(strict, bool):
            found &= exclusive(strict)
    if "multipleOf" in keywords:
        found &= NumberSet.multiple_of(keywords["multipleOf"])
    return found


def read_strings(location: Location, formats: Formats, unsupported: Unsupported) -> tuple[Language, bool]:
    """What the keywords about strings leave, and whether that is exact; else it is more.

    Raises
    ------
    UnsupportedSchema
        A pattern that is not regular, or an unknown format where those are refused.
    InvalidSchema
        A malformed pattern.
    """
    if not location.read() & dialects.STRING:
        return language.ALL, True
    keywords, is_exact = location.keywords, True
    high = keywords.get("maxLength")
    found = Language.length(int(keywords.get("minLength", 0)), None if high is None else int(high))
    if "pattern" in keywords:
        pattern = pattern_language(keywords["pattern"], f"{location.pointer}/pattern", "pattern", unsupported)
        found, is_exact = (found, False) if pattern is None else (found & pattern, True)
    if "format" in keywords:
        found &= _format(keywords["format"], location, formats)
    return found, is_exact


def pattern_language(pattern: str, pointer: str, keyword: str, unsupported: Unsupported) -> Language | None:
    """The strings in which an ECMA-262 pattern is found, errors with their place; ``None`` where it is left out."""
    try:
        return ecma_language(pattern)
    except UnsupportedRegex as error:
        unsupported.meet(pointer, keyword, str(error))
        return None
    except InvalidRegex as error:
        raise InvalidSchema(pointer, str(error)) from error


def _format(name: str, location: Location, formats: Formats) -> Language:
    if not (formats.assertion or location.dialect.asserts_format):
        return language.ALL
    found = format_language(name, location.dialect.name)
    if found is None and formats.strict:
        raise UnsupportedSchema(
            f"{location.pointer}/format", "format", f"{name!r} is no known format; leave it out, or allow unknown ones"
        )
    return language.ALL if found is None else found
