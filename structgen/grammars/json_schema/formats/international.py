r"""Host names and mailboxes beyond ASCII (IDNA2008: RFC 5890 to 5893; RFC 6531), as far as an automaton can hold them.

Whether a label is valid depends on how long it is when encoded, which no automaton can count exactly. Held are labels
of at most 11 characters of the most common scripts, written without combining marks but for Devanagari: of such a
label no character needs more than five digits in Punycode, but for two that may need six (a delta of 288,886 needs a
step of 24,000 code points), so it stays below 63. A name with such labels has at most three. Encoded labels
(``xn--...``) are left out.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import reduce

from structgen.grammars.json_schema.formats.addresses import LONGEST_NAME, PLAIN_LABEL
from structgen.grammars.json_schema.formats.mail import LITERAL, LONGEST_ADDRESS, local_part
from structgen.grammars.language import Language
from structgen.grammars.regex.ecma import ecma_language

__all__ = ["idn_email", "idn_host"]

_DOTS = r".\u3002\uFF0E\uFF61"
_END = f"(?:[{_DOTS}]|$)"
_START = f"(?:^|[{_DOTS}])"
_MOST = 10
"""Characters of a label after the first."""


def _is_letter(char: str) -> bool:
    """Whether it is a letter that neither folding its case nor normalizing it changes, or one of the exceptions."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", char).casefold())
    return char in "ßς" or (unicodedata.category(char) in ("Ll", "Lo", "Lm", "Nl") and folded == char)


def _letters(*ranges: tuple[int, int]) -> str:
    """The letters in these ranges, for a class."""
    spans: list[list[int]] = []
    for point in (point for first, last in ranges for point in range(first, last + 1) if _is_letter(chr(point))):
        if spans and spans[-1][1] == point - 1:
            spans[-1][1] = point
        else:
            spans.append([point, point])
    return "".join(rf"\u{{{first:X}}}-\u{{{last:X}}}" for first, last in spans)


_GREEK = _letters((0x386, 0x3CE))
_KANA_AND_HAN = _letters((0x3005, 0x3005), (0x3007, 0x3007), (0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x9FEF))
_OTHERS = _letters((0xDF, 0x17F), (0x430, 0x45F), (0x561, 0x586), (0x904, 0x939), (0x10D0, 0x10FA), (0xAC00, 0xD7A3))
_LEFT_TO_RIGHT = "a-z" + _OTHERS + _GREEK + _KANA_AND_HAN
_MARKS, _VIRAMA = r"\u0901-\u0903\u093E-\u094C", r"\u094D"
_HEBREW = r"\u05D0-\u05EA"
_JOINING = r"\u0626\u0628\u062A-\u062E\u0633-\u063A\u0641-\u0647\u064A"
"""Arabic letters that join with both neighbours."""
_JOINED = _JOINING + r"\u0627\u062F-\u0632\u0648"
"""Those that join with the one before."""
_RIGHT_TO_LEFT = _HEBREW + _JOINED + r"\u0620-\u0625\u0629\u0649\u0671-\u0674\u0679-\u06D3\u06FD\u06FE"

_NEVER = (
    f"{_START}-",
    f"-{_END}",
    f"{_START}[^{_DOTS}][^{_DOTS}]--",
    f"{_START}[{_MARKS}{_VIRAMA}]",
    r"(?:^|[^l])\u00B7|\u00B7(?:[^l]|$)",
    rf"\u0375(?:[^{_GREEK}]|$)",
    rf"(?:^|[^{_HEBREW}])[\u05F3\u05F4]",
    rf"{_START}[^{_DOTS}{_KANA_AND_HAN}]*\u30FB[^{_DOTS}{_KANA_AND_HAN}]*{_END}",
    rf"(?:^|[^{_VIRAMA}])\u200D|(?:^|[^{_VIRAMA}{_JOINING}])\u200C|[{_JOINING}]\u200C(?:[^{_JOINED}]|$)",
    rf"[0-9\u06F0-\u06F9][^{_DOTS}]*[\u0660-\u0669]|[\u0660-\u0669][^{_DOTS}]*[0-9\u06F0-\u06F9]",
)
"""What no name has in it: the rules of RFC 5891 and 5892 that look at several characters, and of digits in RFC 5893."""


def idn_host() -> Language:
    """The names of hosts."""
    inside = rf"{_LEFT_TO_RIGHT}{_MARKS}{_VIRAMA}0-9\u06F0-\u06F9\u00B7\u0375\u0F0B\u200C\u200D\u30FB"
    label = f"[{inside}-]{{1,{_MOST + 1}}}"
    # Beside a label from right to left each other one begins with a letter (RFC 5893).
    right = rf"[{_RIGHT_TO_LEFT}][{_RIGHT_TO_LEFT}\u05F3\u05F4\u200C0-9\u0660-\u0669\u06F0-\u06F9-]{{0,{_MOST}}}"
    left = f"[{_LEFT_TO_RIGHT}][{_LEFT_TO_RIGHT}0-9-]{{0,{_MOST}}}"
    beyond = ecma_language(f"^(?:{_name(label, '{0,2}')}|{_name(f'{left}|{right}', '{0,2}')})$")
    names = reduce(_without, _NEVER, beyond)
    return _either(names, ecma_language(f"^{_name(PLAIN_LABEL, '*')}$")) & Language.length(0, LONGEST_NAME)


def idn_email() -> Language:
    """Mailboxes; 64 octets of the local part are 16 characters where one of them is not of ASCII."""
    label = rf"{PLAIN_LABEL}|[{_LEFT_TO_RIGHT}][{_LEFT_TO_RIGHT}0-9\u0300-\u036F]{{0,{_MOST}}}"
    domain = rf"{_name(label, '{0,2}')}|{_name(PLAIN_LABEL, '*')}|{LITERAL}"
    length = r'(?=[\0-!#-?A-\x7F]{1,64}@|[^"@]{1,16}@|")'
    local = local_part(r"\u0080-\u{10FFFF}", octets=4)
    return ecma_language(f"^{length}{local}@(?:{domain})$") & Language.length(0, LONGEST_ADDRESS)


def _name(label: str, more: str) -> str:
    return rf"(?:{label})(?:[{_DOTS}](?:{label})){more}"


def _without(names: Language, pattern: str) -> Language:
    return _only(names - ecma_language(pattern))


def _either(one: Language, other: Language) -> Language:
    return _only((_only(one.negations()) & _only(other.negations())).negations())


def _only(parts: Iterable[Language]) -> Language:
    (part,) = parts
    return part
