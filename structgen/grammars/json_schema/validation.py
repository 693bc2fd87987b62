"""The validator behind a relaxed grammar: the package ``jsonschema``, made to read numbers, patterns, formats as we do.

Left to itself it computes with floats, for which 0.07 is no multiple of 0.01, searches patterns in Python's dialect,
and knows only the formats that other packages bring it.
"""

from __future__ import annotations

import functools
import importlib
import json
import re
from collections.abc import Iterator
from decimal import Context, Decimal, localcontext
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from structgen.errors import GrammarLimitExceeded, InvalidRegex, UnsupportedRegex, UnsupportedSchema
from structgen.grammars.json_schema.dialects import DIALECTS
from structgen.grammars.json_schema.documents import Documents
from structgen.grammars.json_schema.formats import format_language
from structgen.grammars.json_schema.json_values import child_pointer, is_array, is_object
from structgen.grammars.json_schema.sources import source_of
from structgen.grammars.regex import ecma_as_python
from structgen.grammars.relaxation import Refusal

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

__all__ = ["SchemaValidator"]

_DIGITS = 2_000
"""Of a quotient in ``multipleOf``: more than any two floats need."""
_CLASSES = {
    4: "Draft4Validator",
    6: "Draft6Validator",
    7: "Draft7Validator",
    2019: "Draft201909Validator",
    2020: "Draft202012Validator",
}
_VALUES = frozenset(("const", "default", "enum", "examples"))
_MAPS = frozenset(("$defs", "definitions", "dependencies", "dependentSchemas", "properties"))
_DECIMAL = re.compile(r"Decimal\('([^']*)'\)")


class SchemaValidator:
    """Says of a JSON text whether its value is valid under a schema.

    Parameters
    ----------
    schema : dict or bool
        The schema, well-formed.
    default_dialect, registry
        As for `compile_json_schema`.
    formats : bool
        Whether ``format`` is an assertion.

    Raises
    ------
    UnsupportedSchema
        A pattern that Python's `re` cannot be given, or a dialect of the caller's own.
    """

    def __init__(
        self, schema: Any, default_dialect: str | None = None, registry: Any = None, *, formats: bool = True
    ) -> None:
        dialect = Documents(schema, default_dialect, registry).root.dialect
        if dialect.uri not in DIALECTS:
            raise UnsupportedSchema("/$schema", "$schema", f"no validator knows the dialect {dialect.uri!r}")
        reading = _Reading()
        own, documents = reading.schema(schema, ""), _registry(registry, dialect.uri, reading)
        checker = _Formats(dialect.name) if formats or dialect.asserts_format else None
        self._validator: Any = _class_of(dialect.draft)(own, registry=documents, format_checker=checker)
        self._originals = reading.originals

    def refusal(self, text: bytes, near: str | None = None) -> Refusal | None:
        """What is wrong with the value of ``text``, which is JSON; ``None``: nothing.

        Parameters
        ----------
        text : bytes
            The text.
        near : str, optional
            JSON pointer into the value: of several faults one as near to it as there is.

        Raises
        ------
        GrammarLimitExceeded
            The value is nested too deeply.
        """
        best_match: Any = importlib.import_module("jsonschema.exceptions").best_match
        try:
            value = json.loads(text, parse_float=Decimal)
            with localcontext(Context(prec=_DIGITS)):
                errors = self._validator.iter_errors(value)
                error = best_match(errors if near is None else _nearest(list(errors), near.split("/")[1:]))
                return None if error is None else self._refusal(error)
        except RecursionError as error:
            raise GrammarLimitExceeded("the value is nested too deeply to be validated") from error

    def _refusal(self, error: ValidationError) -> Refusal:
        why = _DECIMAL.sub(r"\1", error.message)
        for pattern, original in self._originals.items():
            why = why.replace(repr(pattern), repr(original))
        places = (self._originals.get(str(place), place) for place in error.absolute_schema_path)
        return Refusal(child_pointer("", *error.absolute_path), child_pointer("", *places), str(error.validator), why)


def _nearest(errors: list[ValidationError], near: list[str]) -> list[ValidationError]:
    """The errors whose values have the longest path in common with ``near``."""

    def common(error: ValidationError) -> int:
        path = child_pointer("", *error.absolute_path).split("/")[1:]
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(path, near, strict=False)))

    most = max(map(common, errors), default=0)
    return [error for error in errors if common(error) == most]


class _Reading:
    """Rewrites schemas for the validator: floats as the decimals that they are written as, patterns for `re`.

    Attributes
    ----------
    originals : dict of str to str
        Patterns as they were, by what they have become.
    """

    def __init__(self) -> None:
        self.originals: dict[str, str] = {}

    def schema(self, schema: Any, pointer: str) -> Any:
        """``schema`` rewritten."""
        if is_array(schema):
            return [self.schema(its, f"{pointer}/{place}") for place, its in enumerate(schema)]
        if not is_object(schema):
            return Decimal(repr(schema)) if isinstance(schema, float) else schema
        return {key: self._keyword(key, its, child_pointer(pointer, key)) for key, its in schema.items()}

    def _keyword(self, keyword: str, value: Any, pointer: str) -> Any:
        if keyword in _VALUES:
            return _decimals(value)
        if keyword == "pattern" and isinstance(value, str):
            return self._pattern(value, keyword, pointer)
        if keyword == "patternProperties" and is_object(value):
            return {
                self._pattern(pattern, keyword, place): self.schema(its, place)
                for pattern, its in value.items()
                for place in (child_pointer(pointer, pattern),)
            }
        if keyword in _MAPS and is_object(value):
            return {name: self.schema(its, child_pointer(pointer, name)) for name, its in value.items()}
        return self.schema(value, pointer)

    def _pattern(self, pattern: str, keyword: str, pointer: str) -> str:
        try:
            found = ecma_as_python(pattern, len(self.originals))
        except UnsupportedRegex as error:
            raise UnsupportedSchema(pointer, keyword, str(error)) from error
        except InvalidRegex:  # where no reference leads, nobody reads it
            return pattern
        self.originals[found] = pattern
        return found


class _Formats:
    """A format checker that knows the formats that the grammar knows."""

    def __init__(self, dialect: str) -> None:
        self._dialect = dialect

    def check(self, value: object, name: str) -> None:
        """Raise ``FormatError`` where ``value`` is a string that is not of the format."""
        from jsonschema.exceptions import FormatError

        language = format_language(name, self._dialect) if isinstance(value, str) else None
        if language is not None and isinstance(value, str) and not language.contains(value):
            raise FormatError(f"{value!r} is not a {name!r}")


@functools.cache
def _class_of(draft: int) -> Any:
    validators: Any = importlib.import_module("jsonschema.validators")
    base = getattr(validators, _CLASSES[draft])

    def is_whole(checker: object, value: object) -> bool:
        if isinstance(value, Decimal):
            return draft > 4 and value == value.to_integral_value()
        return isinstance(value, int) and not isinstance(value, bool)

    types = base.TYPE_CHECKER.redefine("integer", is_whole)
    return validators.extend(base, {"uniqueItems": _unique_items}, type_checker=types)


def _unique_items(validator: Any, unique: object, value: object, schema: object) -> Iterator[ValidationError]:
    """In place of the package's own, which for ``[[1], [true], [1]]`` finds no two equal elements."""
    from jsonschema.exceptions import ValidationError

    if unique is True and is_array(value) and len({*map(_hashable, value)}) < len(value):
        yield ValidationError(f"{value!r} has non-unique elements")


def _hashable(value: Any) -> object:
    """Equal for equal JSON values: numbers by value, and no number is a boolean."""
    if is_array(value):
        return ("array", *map(_hashable, value))
    if is_object(value):
        return "object", frozenset((key, _hashable(its)) for key, its in value.items())
    return isinstance(value, bool), value


def _decimals(value: Any) -> Any:
    if is_array(value):
        return [*map(_decimals, value)]
    if is_object(value):
        return {key: _decimals(its) for key, its in value.items()}
    return Decimal(repr(value)) if isinstance(value, float) else value


def _registry(registry: Any, default_dialect: str, reading: _Reading) -> Any:
    """The specification's meta-schemas and the caller's documents, rewritten when they are asked for."""
    known: Any = importlib.import_module("jsonschema_specifications").REGISTRY
    referencing: Any = importlib.import_module("referencing")
    default = importlib.import_module("referencing.jsonschema").specification_with(default_dialect)
    fetch, names = source_of(registry)

    def resource(uri: str) -> Any:
        schema = fetch(uri)
        if schema is None:
            raise referencing.exceptions.NoSuchResource(ref=uri)
        return referencing.Resource.from_contents(reading.schema(schema, f"{uri}#"), default_specification=default)

    return referencing.Registry(retrieve=resource).combine(known).with_resources((uri, resource(uri)) for uri in names)
