r"""Regular expressions of ECMA-262 as strings: a subset of them that an automaton can hold.

Patterns nest, and some of their rules compare one part with another, as no automaton can do without a bound. Held are
groups up to three deep; looks, in which there are groups, outside of groups only; one named group, likewise; in a
class, ranges of digits or letters that begin or end where these do (``0-5``, ``c-z``); counts ``{m,n}`` of which ``m``
has one digit, or ``n`` has more digits. References to groups are left out, and ``\0``.
"""

from __future__ import annotations

__all__ = ["REGEX"]

_CODE = r"[fnrtv]|c[A-Za-z]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[\^$\\.*+?()\[\]{}|/]"
_PROPERTY = r"[pP]\{(?:L[ulmot]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfo]?)\}"
_ESCAPE = rf"\\(?:[dDwWsS]|{_CODE}|{_PROPERTY})"

_RANGE = "|".join(f"{first}-[{first}-{last}]|[{first}-{last}]-{last}" for first, last in ("09", "az", "AZ"))
_MEMBER = rf"(?:[^\\\]-]|{_RANGE}|\\(?:[dDwWsSb-]|{_CODE}|{_PROPERTY}))"
_CLASS = rf"\[\^?-?{_MEMBER}*-?\]"

_ASCENDING = "|".join(f"{low},[{low}-9]" for low in range(10))
_COUNT = rf"\d+,?|{_ASCENDING}|\d,[1-9]\d{{1,3}}|[1-9]\d,[1-9]\d{{2,3}}"
_QUANTIFIER = rf"(?:(?:[*+?]|\{{(?:{_COUNT})\}})\??)?"

_ATOM = rf"[^\^$\\.*+?()\[\]{{}}|]|\.|{_ESCAPE}|{_CLASS}"
_ASSERTION = r"[\^$|]|\\[bB]"  # and the bar between alternatives, which may be empty


def _pattern(depth: int, looks: str = "") -> str:
    atom = _ATOM + (rf"|\((?:\?:)?{_pattern(depth - 1)}\)" if depth else "")
    return f"(?:(?:{atom}){_QUANTIFIER}|{_ASSERTION}{looks})*"


_INSIDE = _pattern(1)
_LOOKS = rf"|\(\?<?[=!]{_INSIDE}\)"
REGEX = rf"{_pattern(3, _LOOKS)}(?:\(\?<[A-Za-z_$][\w$]*>{_INSIDE}\){_QUANTIFIER}{_pattern(1)})?"
