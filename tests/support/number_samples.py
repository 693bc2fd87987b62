"""Numbers and their spellings at random, and what the canonical layout is, in regular expressions."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

INTEGER = re.compile(r"0|-?[1-9]\d{0,19}")
PLAIN = re.compile(r"-?(0|[1-9]\d{0,19})\.(0|\d{0,19}[1-9])")
SCIENTIFIC = re.compile(r"-?([1-9])(\.\d{0,19}[1-9])?e([+-])(0?[1-9]|[1-9]\d|[1-9]\d\d)")
RFC_8259 = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")


def accepts(dfa, text):
    state = 0
    for byte in text.encode():
        state = dfa.transitions[state, byte]
        if state < 0:
            return False
    return bool(dfa.accepting[state])


def is_canonical(text, numbers):
    """Whether ``text`` is laid out as a canonical number of this set is."""
    if INTEGER.fullmatch(text):
        return True
    found, step = SCIENTIFIC.fullmatch(text), numbers.parts.step
    if numbers.is_whole or not found:
        return not numbers.is_whole and bool(PLAIN.fullmatch(text))
    if step is not None and step >= Fraction("0.0001"):
        return False
    if abs(Decimal(text)) > Decimal("1.7976931348623157e308"):
        return False
    return abs(Decimal(text)) >= Decimal("5e-324") and not (found[2] and text.endswith("e-324"))


def is_moderate(text):
    """Whether every set tells the digits of ``text`` apart."""
    mantissa, _, exponent = text.lower().lstrip("-").partition("e")
    before, _, after = mantissa.partition(".")
    leading = len(after) - len(after.lstrip("0")) if before == "0" else 0
    return (
        abs(int(exponent or 0)) <= 300
        and len(exponent.lstrip("+-")) <= 3
        and len(before) <= 8
        and len(after.rstrip("0")) <= 17
        and leading <= 8
    )


def walk(dfa, choose, limit=40):
    """A text that ``dfa`` accepts; ``choose`` picks one of a sequence."""
    state, text = 0, bytearray()
    while True:
        following = np.flatnonzero(dfa.transitions[state] >= 0)
        if dfa.accepting[state] and (not len(following) or choose([True, False, False])):
            return text.decode()
        if len(text) > limit:
            following = [b for b in following if dfa.distances[dfa.transitions[state, b]] < dfa.distances[state]]
            if dfa.accepting[state]:
                return text.decode()
        byte = int(choose(list(following)))
        text.append(byte)
        state = dfa.transitions[state, byte]


@st.composite
def spellings(draw, value):
    """A spelling of ``value``, any that RFC 8259 allows."""
    exponent = draw(st.sampled_from([0, 0, 0, 1, -1, 2, -2, 3, -3, 7, -7]))
    mantissa, scale = abs(value) / Fraction(10) ** exponent, 0
    while (mantissa * 10**scale).denominator != 1:
        scale += 1
    digits = str(int(mantissa * 10**scale)).rjust(scale + 1, "0")
    after = digits[len(digits) - scale :] + draw(st.sampled_from(["", "", "0", "00"]))
    sign = "-" if value < 0 or (value == 0 and draw(st.booleans())) else ""
    text = sign + digits[: len(digits) - scale] + (f".{after}" if after else "")
    if exponent or draw(st.booleans()):
        plus = "-" if exponent < 0 else draw(st.sampled_from(["", "+"]))
        zeros = draw(st.sampled_from(["", "0"]))
        text += f"{draw(st.sampled_from('eE'))}{plus}{zeros}{abs(exponent)}"
    return text


def common_spellings(value):
    """As Python and JavaScript write it, and as a plain decimal."""
    found = {repr(float(value))} if Fraction(repr(float(value))) == value else set()
    if value.denominator == 1:
        found.add(str(value.numerator))
    return found
