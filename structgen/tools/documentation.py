"""What a docstring says about a function and its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from typing import NamedTuple

from docstring_parser import Docstring, ParseError
from docstring_parser.google import DEFAULT_SECTIONS, GoogleParser, Section, SectionType
from docstring_parser.numpydoc import NumpydocParser
from docstring_parser.rest import parse as parse_sphinx

__all__ = ["Documentation", "read_docstring"]

_GOOGLE_SECTIONS: Sequence[Section] = [
    *DEFAULT_SECTIONS,
    *(
        Section(title, "param", SectionType.MULTIPLE)
        for title in ("Keyword Args", "Keyword Arguments", "Other Args", "Other Arguments", "Other Parameters")
    ),
]
"""The parser's own sections leave out the ones that keyword-only parameters are documented under."""


class Documentation(NamedTuple):
    """A docstring, taken apart."""

    description: str
    """The summary and the prose after it; ``""`` when there is none."""
    parameters: dict[str, str]
    """What is said about each parameter, by its name without asterisks."""


def read_docstring(docstring: str | None, parameter_names: Collection[str]) -> Documentation:
    """Take a NumPy-, Google- or Sphinx-style docstring apart.

    The style is the one in which most of the function's own parameters are described, so that a colon or a rule
    in the prose cannot decide it.

    Parameters
    ----------
    docstring : str or None
        As written; its indentation does not matter.
    parameter_names : Collection[str]
        The function's parameters. What is said about any other name is left out.
    """
    text = inspect.cleandoc(docstring or "")  # equal on every Python: 3.13's compiler strips indentation itself
    readings = [_reading(parsed, parameter_names) for parsed in _parses(text)]
    best = max(readings, key=lambda reading: len(reading.parameters), default=None)
    if best is None or not best.parameters:
        return Documentation(_prose(text, readings), {})
    return best


def _parses(text: str) -> list[Docstring]:
    parses: list[Docstring] = []
    for parse in (GoogleParser(list(_GOOGLE_SECTIONS)).parse, NumpydocParser().parse, parse_sphinx):
        try:
            parses.append(parse(text))
        except ParseError:  # not in this style; the others, or the plain text, have it
            continue
    return parses


def _reading(parsed: Docstring, parameter_names: Collection[str]) -> Documentation:
    parameters: dict[str, str] = {}
    for entry in parsed.params:
        for name in entry.arg_name.split(","):  # NumPy style documents "x, y : int" together
            bare = name.strip().lstrip("*\\")
            if bare in parameter_names and entry.description:
                parameters[bare] = entry.description.strip()
    between = "\n\n" if parsed.blank_after_short_description else "\n"
    prose = (parsed.short_description, parsed.long_description)
    return Documentation(between.join(part.strip() for part in prose if part), parameters)


def _prose(text: str, readings: Sequence[Documentation]) -> str:
    """The shortest description that a style which found sections leaves, else the whole text."""
    return min((reading.description for reading in readings if reading.description), key=len, default=text)
