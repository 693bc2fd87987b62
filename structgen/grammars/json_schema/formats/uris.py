"""URIs (RFC 3986), IRIs (RFC 3987) and URI templates (RFC 6570)."""

from __future__ import annotations

from structgen.grammars.json_schema.formats.addresses import IPV6

__all__ = ["PRIVATE", "URI_TEMPLATE", "WIDER", "uri"]

_ESCAPED = "%[0-9A-Fa-f]{2}"
_UNRESERVED = "A-Za-z0-9._~"
_SUB_DELIMITERS = "!$&'()*+,;="

_PLANES = "".join(rf"\u{{{plane:X}0000}}-\u{{{plane:X}FFFD}}" for plane in range(1, 0xE))
WIDER = rf"\u00A0-\uD7FF\uF900-\uFDCF\uFDF0-\uFFEF{_PLANES}\u{{E1000}}-\u{{EFFFD}}"
"""``ucschar`` of RFC 3987."""
PRIVATE = r"\uE000-\uF8FF\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}"


def uri(wider: str = "", private: str = "", relative: bool = False) -> str:
    """The pattern of a URI.

    Parameters
    ----------
    wider, private : str
        Ranges of characters that may be there beyond those of RFC 3986: anywhere, and in the query.
    relative : bool
        Whether references without a scheme are meant too.
    """

    def some(extra: str = "") -> str:
        return f"(?:[{_UNRESERVED}{_SUB_DELIMITERS}{wider}{extra}-]|{_ESCAPED})"

    literal = rf"\[(?:{IPV6}|[Vv][0-9A-Fa-f]+\.[{_UNRESERVED}{_SUB_DELIMITERS}:-]+)\]"
    authority = f"(?:{some(':')}*@)?(?:{literal}|{some()}*)(?::[0-9]*)?"
    character = some(":@")
    rest = f"{character}*(?:/{character}*)*"
    paths = f"//{authority}(?:/{character}*)*|/(?:{character}+(?:/{character}*)*)?|"
    ends = rf"(?:\?{some(':@/?' + private)}*)?(?:#{some(':@/?')}*)?"
    absolute = rf"[A-Za-z][A-Za-z0-9+.-]*:(?:{paths}{character}{rest})?"
    if not relative:
        return absolute + ends
    return f"(?:{absolute}|{paths}{some('@')}+(?:/{character}*)*)?{ends}"


_LITERAL = rf"[!#$&-;=?-\[\]_a-z~{WIDER}{PRIVATE}]|{_ESCAPED}"
_NAME_CHARACTER = f"(?:[A-Za-z0-9_]|{_ESCAPED})"
_NAME = rf"{_NAME_CHARACTER}(?:\.?{_NAME_CHARACTER})*"
_VARIABLE = rf"{_NAME}(?::[1-9]\d{{0,3}}|\*)?"
URI_TEMPLATE = rf"(?:{_LITERAL}|\{{[+#./;?&]?{_VARIABLE}(?:,{_VARIABLE})*\}})*"
"""The operators that RFC 6570 keeps for later are none."""
