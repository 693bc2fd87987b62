"""Indented grammars: what Lark parses with an `Indenter` behind its lexer, and nothing else."""

from __future__ import annotations

import random

import lark
import pytest
from lark.indenter import Indenter, PythonIndenter
from vocabularies import bytewise, drawn_text, longest_first, reads

from structgen.errors import EmptyLanguage, InvalidGrammar, UnsupportedGrammar
from structgen.grammars import TokenAutomaton, compile_lark

PIECES = bytewise(b"\n ", b"\n  ", b"  ", b"   ", b":\n", b"\n\t", b"ab", b" a", b"\n\n", b"(a", b"\r\n", b"# a")


class Lines(Indenter):
    """Of the grammars below."""

    NL_type = "_NL"
    OPEN_PAREN_types = ("LPAR",)
    CLOSE_PAREN_types = ("RPAR",)
    INDENT_type = "_INDENT"
    DEDENT_type = "_DEDENT"
    tab_len = 4


TERMINALS = r"""
%declare _INDENT _DEDENT
NAME: /[a-z]+/
LPAR: "("
RPAR: ")"
COMMENT: /#[^\n]*/
%ignore /[ \t]+/
"""
RULES = {
    "trees": "start: _NL? tree*\ntree: item _NL [_INDENT tree+ _DEDENT]\nitem: NAME | LPAR NAME* RPAR",
    "suites": """start: (_NL | line)*
        line: NAME _NL | NAME ":" suite ["!" suite]
        suite: NAME _NL | _NL _INDENT line+ _DEDENT""",
    "two levels": "start: a+\na: NAME _NL _INDENT b+ _DEDENT\nb: NAME _NL _INDENT (NAME _NL)+ _DEDENT",
    "ends without a break": 'start: (line | _NL)*\nline: NAME [_NL _INDENT line+ _DEDENT] "." | LPAR NAME RPAR',
    "a rest of the line": 'start: (NAME _NL _INDENT (NAME _NL)+ NAME "." _NL _DEDENT NAME "!" _NL)+',
}
NEWLINES = {
    "breaks": r"_NL: /(\r?\n[\t ]*)+/",
    "one break": r"_NL: /\n[\t ]*/",
    "comments": r"_NL: ( /\r?\n[\t ]*/ | COMMENT )+" + "\n%ignore COMMENT",
    "tabs only": r"_NL: /(\n\t*)+/",
    "pairs": r"_NL: /(\n(  )*)+/",
}
CASES = [(rules, newline) for rules in RULES for newline in NEWLINES]


def parses(parser: lark.Lark, text: str) -> bool:
    try:
        parser.parse(text)
    except (lark.exceptions.LarkError, IndexError):  # the latter where a line break has no line feed
        return False
    return True


def text_of(source: random.Random) -> str:
    """A text that is nearly right."""
    columns, lines = [0], list[str]()
    for _ in range(source.randint(0, 6)):
        while len(columns) > 1 and source.random() < 0.35:
            columns.pop()
        indent = " " * columns[-1] if source.random() < 0.9 else source.choice(["\t", " ", "", "     "])
        opens = source.random() < 0.4
        line = source.choice(["a", "ab", "(a b)", "a:", "b!", "a.", "(a\n  b)", "a: b", "# a", ""])
        lines.append(indent + (line + ":" if opens and source.random() < 0.4 else line))
        if opens:
            columns.append(columns[-1] + source.choice([1, 2, 2, 4]))
    text = source.choice(["\n", "\n", "\n\n", "\r\n", "\n  \n"]).join(lines)
    return text + source.choice(["\n", "\n", "", "\n ", "\n# a", "\n  "])


@pytest.fixture(scope="module", params=CASES, ids=" and ".join)
def pair(request: pytest.FixtureRequest) -> tuple[TokenAutomaton, lark.Lark]:
    rules, newline = request.param
    grammar = f"{RULES[rules]}\n{NEWLINES[newline]}\n{TERMINALS}"
    return compile_lark(grammar, PIECES, postlex=Lines), lark.Lark(grammar, parser="lalr", postlex=Lines())


def test_random_texts_are_taken_as_lark_takes_them(pair):
    automaton, theirs = pair
    source = random.Random(1)
    for text in {text_of(source) for _ in range(1500)}:
        taken = parses(theirs, text)
        assert automaton.accepts(text) is taken, text
        if taken:
            assert reads(automaton, longest_first(text.encode(), PIECES)), text


def test_what_the_masks_let_through_can_be_ended_and_parses(pair):
    automaton, theirs = pair
    for seed in range(12):
        text = drawn_text(automaton, random.Random(seed), free=15, limit=4000).decode()
        assert parses(theirs, text), text


TREES = f"{RULES['trees']}\n{NEWLINES['breaks']}\n{TERMINALS}"


def test_lines_are_indented_up_to_a_hundred_columns():
    automaton = compile_lark(TREES, PIECES, postlex=Lines)
    chain = "".join(" " * column + "a\n" for column in range(101))
    assert automaton.accepts(chain)
    assert not automaton.accepts(chain + " " * 101 + "a\n")
    assert automaton.accepts("a\n" + " " * 100 + "b\n")
    assert automaton.check("a\n" + " " * 101 + "b\n").at == 103  # a line of white space has no limit


def test_what_must_hold_a_block_is_not_begun_where_none_can_be():
    """In the deepest column ``!`` could not be followed by the block that it needs."""
    grammar = f'start: line+\nline: NAME "!" _NL _INDENT line+ _DEDENT | NAME _NL\n{NEWLINES["breaks"]}\n{TERMINALS}'
    automaton = compile_lark(grammar, PIECES, postlex=Lines)
    with automaton.matcher() as matcher:
        shallow = matcher.advance_bytes(matcher.start, b"a!\n" + b" " * 99 + b"a")
        deep = matcher.advance_bytes(matcher.start, b"a!\n" + b" " * 100 + b"a")
        assert b"!" in matcher.explain(shallow).next_bytes
        assert b"!" not in matcher.explain(deep).next_bytes


def test_deeply_nested_lines_take_no_more_states():
    automaton = compile_lark(TREES, PIECES, postlex=Lines)
    with automaton.matcher() as matcher:
        state, seen = matcher.start, set()
        for byte in b"a\n  b\n    c\n  d\n" * 500:
            state = matcher.advance(state, byte)
            seen.add(state)
        assert len(seen) < 40


def test_an_indenter_is_saved_with_its_automaton(tmp_path):
    automaton = compile_lark(TREES, PIECES, postlex=Lines())
    automaton.save(tmp_path / "trees.json")
    assert TokenAutomaton.load(tmp_path / "trees.json", PIECES).accepts("a\n  b\n")


@pytest.mark.parametrize(
    ("postlex", "message"),
    [
        (object(), "an Indenter of Lark's, its class or a mapping"),
        ({"NL_type": "_NL"}, "does not say OPEN_PAREN_types, CLOSE_PAREN_types, INDENT_type, DEDENT_type, tab_len"),
        ({"NL": "_NL"}, r"postlex has \['NL'\], which an indenter has not"),
        (type("Own", (PythonIndenter,), {"handle_NL": lambda self, token: iter(())}), "Own has its own handle_NL"),
        (type("Tab", (Lines,), {"tab_len": 0}), "tab_len is a number of columns from 1 on, not 0"),
        (type("Name", (Lines,), {"NL_type": 3}), "NL_type is the name of a terminal, not 3"),
        (type("Names", (Lines,), {"OPEN_PAREN_types": "LPAR"}), "OPEN_PAREN_types is a list of names of terminals"),
        (type("Roles", (Lines,), {"INDENT_type": "_NL"}), "one terminal has several roles"),
    ],
)
def test_another_post_lexer_is_refused(postlex, message):
    with pytest.raises(InvalidGrammar, match=message):
        compile_lark(TREES, PIECES, postlex=postlex)


def test_a_post_lexer_is_for_the_lalr_parser():
    with pytest.raises(InvalidGrammar, match="postlex"):
        compile_lark(TREES, PIECES, parser="earley", postlex=Lines)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("start: open NAME RPAR _NL\nopen: LPAR", "the rule (start|open) opens a bracket that it does not close"),
        ("start: NAME _NL begin NAME _NL _DEDENT\nbegin: _INDENT", "the rule begin has _INDENT without _DEDENT"),
    ],
)
def test_what_is_opened_in_one_rule_and_closed_in_another_is_refused(rules, message):
    with pytest.raises(UnsupportedGrammar, match=message):
        compile_lark(f"{rules}\n{NEWLINES['breaks']}\n{TERMINALS}", PIECES, postlex=Lines)


def test_a_block_that_only_opens_blocks_matches_nothing():
    with pytest.raises(EmptyLanguage):
        compile_lark(f"start: NAME _NL _INDENT start _DEDENT\n{NEWLINES['breaks']}\n{TERMINALS}", PIECES, postlex=Lines)
