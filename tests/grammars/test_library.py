"""The grammars of the library: what they accept and refuse, that Lark parses the same, and what others say of it."""

from __future__ import annotations

import ast
import csv
import functools
import io
import json
import random
from collections.abc import Callable
from datetime import datetime

import lark
import pytest
from vocabularies import bytewise, drawn_text

from structgen.errors import InvalidGrammar
from structgen.grammars import TokenAutomaton, compile_lark, library

VOCABULARY = bytewise(
    b"SELECT ", b' "', b"select", b'":', b"()", b" in ", b"for ", b"</", b"/>", b"| ", b" if", b"==", b"20"
)

ACCEPTED = {
    "arithmetic": ["1", "-2 ** -3 ^ x", "max(a, 1.5e-3) % (b + c*2)", "f()", "--1"],
    "csv": ["", "a,b\r\nc,d\r\n", 'a,"b ""quoted"", and\nmore"', ",,\n,", "é"],
    "email": ["ann@example.org", "a.b+c@x-y.co.uk", "o'hara@mail.example"],
    "graphql_query": [
        "{ me { name } }",
        "query Q($id: ID!, $n: [Int!] = [1, 2]) @cached { user(id: $id) { ...F, friends(first: $n) { name } } }",
        'mutation { add(text: "a\\u00e9", on: true, at: {x: 1.5e3, y: null}) { id } }',
        "fragment F on User { alias: name ... on Admin @skip(if: false) { query } ... { on } }",
        '{ f(a: """block "quoted" text""", b: "", c: ENUM) } # end',
    ],
    "iso_date": [
        "2024-02-29",
        "2000-02-29",
        "1999-12-31T23:59",
        "0001-01-01T00:00:00.123456Z",
        "2024-04-30T08:30-05:30",
    ],
    "json": ["0", ' {"a": [1, -2.5e+3, true, null, {}], "a": "\\u00e9é\\n"} ', '""', "[]"],
    "json_lines": ['{"a": 1}', '{"a": 1}\n[2]\n', "1\r\n2"],
    "markdown_table": [
        "|a|\n|-|",
        "| a | b |\n| --- | :-: |\n| 1 | 2 |\n",
        "|a|b|\n|:--|--:|\n|1|\n|1|2|3|",
        "|a \\| b|\n|---|",
    ],
    "python_expression": [
        "x",
        "lambda a, b=1: a if b else [*c, d.e(f, *g, h=1, **i)]",
        "{**a, 'b': (1,), 2: {3, 4}} or not x in y is not z",
        "[i ** -j for i, j in k if i if j for l in m][1:2, ::3, ...]",
        "f(x for x in y)(True, None,)",
        "0x_ff + 1_0.5e-3 - 2j * b'a' // r'\\n' @ ~q",
        "a<b==c!=d>=e",
        "()",
        "{k: v for k, v in x}",
    ],
    "pythonic_calls": [
        "[]",
        '[get_weather(city="Oslo", days=3)]',
        "[a.b(), c(x=[1, {'k': None}], y=-2.5, z=True)]",
        "[f(class_=False)]",
    ],
    "semantic_version": ["1.2.3", "0.0.0-alpha.1", "1.0.0-0a.x-y+001.sha", "10.20.30+b"],
    "sql": [
        "SELECT 1",
        "select a.*, count(distinct b) as n from t left join u using (id) where x is not null group by a having n > 1",
        "WITH r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r ORDER BY n DESC LIMIT 10 OFFSET 5;",
        "SELECT CASE WHEN a BETWEEN 1 AND 2 AND b LIKE 'x''y%' THEN CAST(c AS dec(3, 1)) ELSE -d END FROM \"a b\"",
        "SELECT a FROM t, (SELECT b FROM s) q WHERE NOT EXISTS (SELECT 1) AND a NOT IN (1, 2) OR (b || c) = d",
        "select selection, fromage from orders",
    ],
    "xml_element": [
        "<a/>",
        "<a:b c='1' d=\"&lt;x&#10;&#xA;\"  ><!-- a - b -->text &amp; <e />]]</a:b >",
        "<p>]]&gt;</p>",
    ],
}
REFUSED = {
    "arithmetic": ["", "1 +", "(1", "2x", "f(,)", "1 2", "01"],
    "csv": ['"a"b', 'a"b', '"', "a\rb"],
    "email": ["a@b", ".a@b.cc", "a@-b.cc", "a@b.c1", "a b@c.dd", "a@b..cc", "@b.cc"],
    "graphql_query": [
        "{}",
        "query",
        "{ f(a: ) }",
        "{ ... on }",
        "queryQ { a }",
        "fragment on on T { a }}",
        '{ f(a: "\n") }',
    ],
    "iso_date": [
        "2023-02-29",
        "1900-02-29",
        "0000-01-01",
        "2024-04-31",
        "2024-13-01",
        "2024-01-01T24:00",
        "2024-01-01Z",
    ],
    "json": ["", "01", "[1,]", "{'a': 1}", '"\n"', "tru", '{"a"}', "1 2"],
    "json_lines": ["", "\n1", "1\n\n2", '{"a":\n1}', "1 2"],
    "markdown_table": ["|a|", "|a|b|\n|-|", "|a|\n|-|-|", "a\n-", "|a|\n|x|", "|a|\n|-|\nb"],
    "python_expression": [
        "",
        "a b",
        "x if y",
        "f(a=1, b)",
        "f(**a, *b)",
        "f(x for x in y, 1)",
        "1 +",
        "lambda a=1, b: 0",
        "class",
        "1if x else y1 2",
        "(*a)",
        "x ify else z",
        "[*a for a in b]",
        "a = 1",
        "012",
        "'\n'",
        "a\nb",
    ],
    "pythonic_calls": [
        "",
        "f()",
        "[f(1)]",
        "[f(a=b)]",
        "[class()]",
        "[f(if=1)]",
        "[f(a=1,)]",
        "[f(a=1_0)]",
        "[f(a=01)]",
    ],
    "semantic_version": ["1.2", "01.2.3", "1.2.3-01", "1.2.3-", "1.2.3+a+b", "v1.2.3", "1.2.3-a..b"],
    "sql": [
        "",
        "SELECT",
        "SELECT FROM t",
        "SELECT a FROM t WHERE",
        "SELECT a b c",
        "DELETE FROM t",
        "SELECT a BETWEEN 1",
        "SELECT 'a",
        "SELECT a; SELECT b",
        "SELECT 1a",
        "SELECT a FROM where",
        "SELECT *FROMx",
        "\u017felect a",
    ],
    "xml_element": [
        "",
        "<a>",
        "<a b/>",
        "<a b=1/>",
        "a<b/>",
        "<a>&</a>",
        "<a><!-- -- --></a>",
        "<a b='<'/>",
        "<a>]]></a>",
        "< a/>",
    ],
}
WALKS = 25


@functools.cache
def automaton_of(name: str) -> TokenAutomaton:
    return compile_lark(library.text(name), VOCABULARY, parser="lalr")


@functools.cache
def parser_of(name: str) -> lark.Lark:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lark.lexer, "has_interegular", False)  # to warn of terminals that overlap takes it 10 s
        return lark.Lark(library.text(name), parser="lalr")


def parses(name: str, text: str) -> bool:
    try:
        parser_of(name).parse(text)
    except lark.exceptions.UnexpectedInput:
        return False
    return True


def walks(name: str) -> list[str]:
    """Texts of random tokens that the masks allow."""
    return [drawn_text(automaton_of(name), random.Random(seed), free=25).decode() for seed in range(WALKS)]


def test_every_grammar_has_examples():
    assert library.names() == sorted(ACCEPTED) == sorted(REFUSED)
    assert len(library.names()) == 13


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_accepted_is_what_lark_parses(name: str):
    for text in ACCEPTED[name]:
        assert automaton_of(name).check(text).accepted, f"{text!r}: {automaton_of(name).check(text)}"
        assert parses(name, text), text


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_what_lark_does_not_parse(name: str):
    for text in REFUSED[name]:
        assert not automaton_of(name).accepts(text), text
        assert not parses(name, text), text


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_masks_let_through_lark_parses(name: str):
    for text in walks(name):
        assert automaton_of(name).accepts(text), text
        assert parses(name, text), text


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def expression(text: str) -> ast.AST:
    return ast.parse(text.strip(), mode="eval")


def lines(text: str) -> list[object]:
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]


READERS: dict[str, Callable[[str], object]] = {
    "csv": rows_of,
    "iso_date": moment,
    "json": json.loads,
    "json_lines": lines,
    "python_expression": expression,
    "pythonic_calls": expression,
}


@pytest.mark.parametrize("name", READERS)
def test_python_s_own_readers_take_every_text(name: str):
    texts = [*ACCEPTED[name], *walks(name), *(automaton_of(name).sample(seed, max_bytes=120) for seed in range(100))]
    for text in texts:
        READERS[name](text)


@pytest.mark.parametrize("name", READERS)
def test_python_s_own_readers_refuse_what_is_refused(name: str):
    """But for what the grammar leaves out on purpose."""
    left_out = {"json_lines": [""], "iso_date": [], "csv": ["a\rb", 'a"b'], "python_expression": ["[*a for a in b]"]}
    for text in REFUSED[name]:
        if name == "pythonic_calls" or text in left_out.get(name, []):
            continue
        with pytest.raises((ValueError, SyntaxError, csv.Error)):
            READERS[name](text)


def test_a_name_that_is_none_shows_near_ones():
    with pytest.raises(InvalidGrammar, match="no grammar of the library is called 'jsn'; there is json"):
        library.text("jsn")
