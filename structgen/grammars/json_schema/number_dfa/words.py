"""Automata of a few words: the spellings of numbers that a schema names."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from structgen.grammars.byte_dfa import ByteDfa
from structgen.grammars.json_schema.decimals import Digits, Exact, digits_of
from structgen.grammars.json_schema.number_parts import ANYHOW, MARKED, PLAIN

__all__ = ["canonical_words", "usual_words", "words_dfa"]


def canonical_words(value: Exact, as_float: bool, writing: int) -> set[str]:
    """``value`` as common writers give it; whole, with a point only where a schema has it so or it must."""
    if isinstance(value, int) and not as_float and writing != MARKED:
        return {str(value)}
    if value == 0:
        return _written({"0", "0.0", "-0.0"}, writing)
    digits, sign = digits_of(abs(value)), "-" * (value < 0)
    return _written({sign + word for word in (_python(digits), _javascript(digits), _plain(digits))}, writing)


def usual_words(value: Exact, writing: int) -> set[str]:
    """The spellings of ``value`` that are met at all: plain, with one more zero, with an exponent after one digit."""
    if value == 0:
        return _written({"0", "-0", "0.0", "-0.0", "0e0", "0E0", "0.0e0"}, writing)
    digits, sign = digits_of(abs(value)), "-" * (value < 0)
    plain = _plain(digits)
    words = {plain, plain + ("0" if "." in plain else ".0")}
    for scientific in (_scientific(digits, 1), _scientific(digits, 2)):
        for one in (scientific, scientific.replace("e+", "e")):
            words |= {one, one.upper()}
    return _written({sign + word for word in words}, writing)


def _written(words: set[str], writing: int) -> set[str]:
    return {word for word in words if writing == ANYHOW or (writing == PLAIN) == word.lstrip("-").isdigit()}


def _python(number: Digits) -> str:
    if not -4 <= number.exponent < 16:
        return _scientific(number, 2)
    plain = _plain(number)
    return plain if "." in plain else f"{plain}.0"


def _javascript(number: Digits) -> str:
    return _plain(number) if -7 < number.exponent < 21 else _scientific(number, 1)


def _scientific(number: Digits, length: int) -> str:
    first, *rest = map(str, number.digits)
    fraction = f".{''.join(rest)}" if rest else ""
    return f"{first}{fraction}e{'-' if number.exponent < 0 else '+'}{abs(number.exponent):0{length}}"


def _plain(number: Digits) -> str:
    digits, before = "".join(map(str, number.digits)), number.exponent + 1
    if before <= 0:
        return f"0.{'0' * -before}{digits}"
    digits = digits.ljust(before, "0")
    return f"{digits[:before]}.{digits[before:]}" if digits[before:] else digits


def words_dfa(words: Iterable[str]) -> ByteDfa:
    """The minimal automaton of ``words``, of which there is at least one."""
    nodes: list[dict[int, int]] = [{}]
    ends: set[int] = set()
    for word in words:
        node = 0
        for byte in word.encode():
            following = nodes[node].get(byte)
            if following is None:
                following = nodes[node][byte] = len(nodes)
                nodes.append({})
            node = following
        ends.add(node)
    return _merged(nodes, ends)


def _merged(nodes: list[dict[int, int]], ends: set[int]) -> ByteDfa:
    """With one state for all nodes that the same words follow; a node's followers come after it."""
    states: dict[tuple[bool, tuple[tuple[int, int], ...]], int] = {}
    state_of = [0] * len(nodes)
    for node in range(len(nodes) - 1, -1, -1):
        key = (node in ends, tuple(sorted((byte, state_of[its]) for byte, its in nodes[node].items())))
        state_of[node] = states.setdefault(key, len(states))
    last = len(states) - 1  # the root's, as it was made last
    transitions = np.full((len(states), 256), -1, np.int32)
    accepting = np.zeros(len(states), np.bool_)
    for (is_end, row), state in states.items():
        accepting[last - state] = is_end
        for byte, its in row:
            transitions[last - state, byte] = last - its
    return ByteDfa(transitions, accepting)
