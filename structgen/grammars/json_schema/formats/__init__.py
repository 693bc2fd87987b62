"""The formats of JSON Schema as languages of strings."""

from __future__ import annotations

from functools import cache

from structgen.grammars.json_schema.formats.table import KEYS, read
from structgen.grammars.language import Language

__all__ = ["format_language"]

_BEFORE_PUNYCODE = frozenset({"draft3", "draft4", "draft6"})
"""Drafts whose host names are those of RFC 1034, in which ``xn--`` is like any other letters."""


@cache
def format_language(name: str, dialect: str) -> Language | None:
    """The strings of a format, ``None`` where it is unknown and thus only annotates.

    A format of a later draft is known in the earlier ones as well: they leave other names to whoever uses them, and
    whoever writes ``date`` means this one. What an automaton of reasonable size cannot tell is left out, so all that
    is held is valid:

    - ``time``, ``date-time``: leap seconds with offsets of whole quarters of an hour only,
    - ``hostname``, ``email`` and their kin: labels in Punycode (``xn--...``), but for host names before draft 7,
    - ``email``: a quoted local part of more than 33 characters with escapes,
    - ``idn-hostname``, ``idn-email``: see `international`,
    - ``regex``: see `patterns`.

    Parameters
    ----------
    name : str
        The value of ``format``.
    dialect : str
        The draft: ``draft4``, ``draft6``, ``draft7``, ``draft2019-09`` or ``draft2020-12``.
    """
    if name not in KEYS:
        return None
    return read("hostname before Punycode" if name == "hostname" and dialect in _BEFORE_PUNYCODE else name)
