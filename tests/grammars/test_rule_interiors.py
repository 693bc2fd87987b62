"""Masks are made of what rules allow above any stack: here each bit is held against a step, on tokens of many rules."""

from __future__ import annotations

import random
import sysconfig
from functools import cache
from pathlib import Path

import lark
import numpy as np
import pytest
from lark.indenter import Indenter, PythonIndenter
from vocabularies import END, allowed, bytewise

from structgen.grammars import DEAD, TokenAutomaton, TokenVocabulary, compile_gbnf, compile_lark
from structgen.grammars.automaton.interior_store import InteriorStore

GRAMMAR = (Path(lark.__file__).parent / "grammars" / "python.lark").read_text()
SOURCE = (Path(sysconfig.get_paths()["stdlib"]) / "bisect.py").read_text()
NESTED = """
class A(B):
    def f(self, *a, k=(1, [2.5, {"x": 'y'}])):
        if self.x == 3 and not y:
            for i in (lambda z: z[1:2])(3): pass
        elif x:
            return not f"{i}", (yield)  # why
\telse:
            pass
x = [y for y in ((z)) if (((y)))]
"""
NESTED = NESTED.replace("\t", "        ")


class Lines(Indenter):
    """Of the grammars below."""

    NL_type = "_NL"
    OPEN_PAREN_types = ("LPAR",)
    CLOSE_PAREN_types = ("RPAR",)
    INDENT_type = "_INDENT"
    DEDENT_type = "_DEDENT"
    tab_len = 4


TREES = r"""
start: _NL? tree*
tree: item _NL [_INDENT tree+ _DEDENT]
item: NAME | LPAR NAME* RPAR
_NL: ( /\r?\n[\t ]*/ | COMMENT )+
%declare _INDENT _DEDENT
NAME: /[a-z]+/
LPAR: "("
RPAR: ")"
COMMENT: /#[^\n]*/
%ignore /[ \t]+/
%ignore COMMENT
"""
TREE_TEXTS = ("a\n  b\n    (c d)\n    e\n  f # x\n\n  # y\ng\n", "a\n\tb\n\t  c\n\td\n(a\n b) # z\n")
SUMS = """
start: sum
sum: product | sum "+" product
product: atom | product "*" atom
atom: "(" sum ")" | "[" [sum ("," sum)*] "]" | NAME | "-" atom
NAME: /[a-z]+/
%ignore " "
"""
SUM_TEXTS = ("((a+b)*[c, d, (e)])+-f*g", "[[[[a]]]]*((((b))))", "- - -(a) + [ ]")
AMBIGUOUS = 'start: a*\na: b? c b? |\nb: "x" | "xx" | b "y"\nc: "(" start ")" | "z"'
AMBIGUOUS_TEXTS = ("xxz(xyz)xyyxx(z)", "((((x z xx))))", "zzz(xz)y")
NULLABLE = 'root ::= a b a\na ::= "x" a "y" | ""\nb ::= a a ("," b)? | "[" root "]" a'
NULLABLE_TEXTS = ("xxyy[xy,xxyy]xy", "x[x[x]y]y,xy", "xxxyyy,,,")


@cache
def pieces(texts: tuple[str, ...], count: int, longest: int) -> TokenVocabulary:
    """Some pieces of texts, and of what texts would be with something left out, besides all bytes."""
    source, found = random.Random(count), dict[bytes, None]()
    for _ in range(20 * count):
        text = source.choice(texts).encode()
        first, length = source.randrange(len(text)), source.randint(2, longest)
        cut, left_out = first + source.randint(1, length), source.choice([0, 0, 1, 2, 7])
        found[(text[first:cut] + text[cut + left_out : first + length + left_out]).rstrip(b"\xff")] = None
    several = [one for one in found if len(one) > 1]
    return bytewise(*several[:count])


def check_along(automaton: TokenAutomaton, texts: tuple[str, ...], every: int = 1) -> int:
    """Hold masks along texts, and after some tokens that leave them, against steps; returns how many."""
    vocabulary, source, count = automaton.vocabulary, random.Random(1), 0
    row = np.empty(vocabulary.masks.rows.shape[1], np.int32)
    with automaton.matcher() as matcher:
        for text in texts:
            for end in range(0, len(text.encode()), every):
                state = matcher.advance_bytes(matcher.start, text.encode()[:end])
                for _ in range(3):
                    if state <= 0:
                        break
                    matcher.fill_mask(state, row)
                    expected = {one for one in range(len(vocabulary)) if matcher.advance(state, one) != DEAD}
                    assert allowed(row) == expected, text[:end]
                    count += 1
                    state = matcher.advance(state, source.choice(sorted(expected - {END}) or [END]))
    return count


@pytest.fixture(scope="module")
def python() -> TokenAutomaton:
    vocabulary = pieces((SOURCE, NESTED), 3000, 14)
    return compile_lark(GRAMMAR, vocabulary, start="file_input", postlex=PythonIndenter(), timeout=500)


def test_every_bit_of_a_mask_of_python_equals_a_step(python):
    assert len(python.vocabulary.trie.large) > 10
    assert check_along(python, (NESTED,), every=5) > 150
    assert check_along(python, (SOURCE,), every=67) > 60


@pytest.mark.parametrize("count", [60, 2000])
def test_every_bit_of_a_mask_of_indented_lines_equals_a_step(count):
    automaton = compile_lark(TREES, pieces(TREE_TEXTS, count, 16), postlex=Lines)
    assert check_along(automaton, TREE_TEXTS) > 100


@pytest.mark.parametrize("count", [60, 2000])
def test_every_bit_of_a_mask_of_nested_rules_equals_a_step(count):
    assert check_along(compile_lark(SUMS, pieces(SUM_TEXTS, count, 12)), SUM_TEXTS) > 100
    ambiguous = compile_lark(AMBIGUOUS, pieces(AMBIGUOUS_TEXTS, count, 12), parser="earley")
    assert check_along(ambiguous, AMBIGUOUS_TEXTS) > 60
    assert check_along(compile_gbnf(NULLABLE, pieces(NULLABLE_TEXTS, count, 12)), NULLABLE_TEXTS) > 60


def test_tokens_of_more_rules_than_interiors_are_nested_are_masked_right():
    vocabulary = bytewise(*(b"(" * n for n in (2, 20, 60)), *(b")" * n for n in (2, 30, 61)), b"-" * 50, b"(-" * 40)
    automaton = compile_lark(SUMS, vocabulary)
    assert check_along(automaton, ("(" * 45 + "a" + ")" * 45, "-" * 30 + "(-" * 30), every=3) > 60


def test_masks_are_right_however_often_the_store_of_interiors_begins_anew(monkeypatch):
    vocabulary = pieces(SUM_TEXTS, 400, 12)
    store = InteriorStore(vocabulary.trie, vocabulary.eos_token_ids, room=20_000)
    with monkeypatch.context() as patch:
        patch.setattr(vocabulary, "_interiors", store)
        check_along(compile_lark(SUMS, vocabulary), SUM_TEXTS)
    assert store.generation > 3


def test_what_masks_are_made_of_does_not_grow_with_the_depth_of_a_text():
    vocabulary = pieces(SUM_TEXTS, 400, 12)
    automaton = compile_lark(SUMS, vocabulary)
    row, known = np.empty(vocabulary.masks.rows.shape[1], np.int32), list[int]()
    with automaton.matcher() as matcher:
        state = matcher.start
        for _ in range(60):
            for byte in b"([a+":
                state = matcher.advance_bytes(state, bytes([byte]))
                matcher.fill_mask(state, row)
            known.append(vocabulary.interiors.nbytes)
    assert known[20] == known[-1]


def test_the_sets_that_interiors_are_made_with_are_forgotten(python):
    text = NESTED.encode()
    row = np.empty(python.vocabulary.masks.rows.shape[1], np.int32)
    with python.matcher() as matcher:
        matcher.advance_bytes(matcher.start, text)
        before = python.stats().states
        for end in range(len(text)):
            matcher.fill_mask(matcher.advance_bytes(matcher.start, text[:end]), row)
        assert python.stats().states - before < 400 * len(text)
