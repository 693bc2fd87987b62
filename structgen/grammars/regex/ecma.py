"""The language of a pattern as JSON Schema has it: ECMA-262's syntax, and a match anywhere."""

from __future__ import annotations

from functools import lru_cache

from structgen.errors import GrammarLimitExceeded
from structgen.grammars.language import Language
from structgen.grammars.regex.ecma_parser import parse
from structgen.grammars.regex.searching import searching_language

__all__ = ["ecma_language"]


@lru_cache(maxsize=4096)
def ecma_language(pattern: str) -> Language:
    r"""The strings in which ``pattern`` matches somewhere: ECMA-262 with the flag ``u``.

    Parameters
    ----------
    pattern : str
        As in JSON Schema; anchored only where it says so.

    Raises
    ------
    InvalidRegex
        The pattern is malformed, or has a backreference.
    GrammarLimitExceeded
        It needs too many states, or is nested too deeply.
    """
    try:
        return searching_language(parse(pattern))
    except RecursionError:
        raise GrammarLimitExceeded("the pattern is nested too deeply") from None
