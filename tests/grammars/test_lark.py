"""Grammars in Lark's syntax: what `lark` itself parses, and nothing else, is the language."""

from __future__ import annotations

import itertools
import logging
import random
import sys
import time
from pathlib import Path
from typing import Any

import lark
import pytest
from random_lark import random_grammar
from vocabularies import BYTES, bytewise, drawn_text, longest_first, reads

from structgen.errors import EmptyLanguage, GrammarLimitExceeded, InvalidGrammar, UnsupportedGrammar
from structgen.grammars import DEAD, TokenAutomaton, TokenVocabulary, compile_lark
from structgen.grammars.lark import loading

VOCABULARY = bytewise()
PIECES = bytewise(b"aa", b"ab", b"ba", b"bca", b"b ", b" a", b"cc", b"if", b"iff", b' "', b'":', b"12", b"/*", b"*/")
GRAMMARS = Path(lark.__file__).parent / "grammars"
PARSERS: dict[str, dict[str, Any]] = {
    "lalr": {"parser": "lalr"},
    "earley": {"parser": "earley", "lexer": "dynamic_complete"},
}


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger=lark.logger.name)  # it warns of terminals that overlap


def parses(parser: lark.Lark, text: str) -> bool:
    try:
        parser.parse(text)
    except lark.exceptions.UnexpectedInput:
        return False
    except RuntimeError as error:  # of Lark's Earley parser, where a text ends in what is ignored in several ways
        if "multiple start symbol items" not in str(error):
            raise
    return True


TEXTS = ["".join(one) for size in range(6) for one in itertools.product("abc ", repeat=size)]


@pytest.mark.parametrize("seed", range(120))
def test_random_grammars_take_what_larks_lalr_parser_takes(seed):
    check_grammar(random_grammar(seed, looks=seed % 2 == 1), "lalr", TEXTS)


@pytest.mark.parametrize("seed", range(24))
def test_random_grammars_take_what_larks_earley_parser_takes(seed):
    check_grammar(random_grammar(seed, looks=seed % 2 == 1), "earley", TEXTS[:341])


PATTERNS = [
    r"/\w+/",
    r"/\d+/",
    r"/[^\W\d]+/",
    r"/ä/i",
    r'"Ä"i',
    r"/./",
    r"/./s",
    r"/.+?\n/s",
    r"/b$/m",
    r"/b$/",
    r"/\w+\b/",
    r"/\w+\b./s",
    r"/i/i",
    r'"ı"',
    r"/\s+/",
    r"/[a-ä]+/",
    r'"\n"',
    r"/[ä-ü]/i",
    r"/(?i:A)b/",
    r"/(?s:.)b/",
    r"/a(?!\n)/",
    r"/\n(?=b)/",
    r"/a|ä|aä/",
    r"/(a|ab)(c|bcd)?/",
    r"/a\Z/",
    r"/a{2,3}?b?/",
    r"/(?:a*)*b/",
    r"/(?:a|)*b/",
    r"/(?:|a)+b?a/",
    r"/(?:a??b??)*c/",
    r"/(?:a*?)*?ab*/",
    r"/(?:(?:a|b)*?c?){1,2}b/",
]


@pytest.mark.parametrize("seed", range(30))
def test_terminals_match_as_re_matches_them(seed):
    """Classes and flags beyond ASCII, ends of lines and words, loops whose rounds may be empty, in any company."""
    source = random.Random(seed)
    chosen = source.sample(PATTERNS, source.randint(1, 3))
    lines = [f"T{number}: {pattern}" for number, pattern in enumerate(chosen)]
    grammar = "\n".join([f"start: ({'|'.join(f'T{number}' for number in range(len(chosen)))})+", *lines])
    texts = ["".join(source.choices("abcäÄ\n 1iı", k=source.randint(0, 5))) for _ in range(300)]
    check_grammar(grammar, source.choice(list(PARSERS)), texts)


def check_grammar(grammar: str, parser: str, texts: list[str]) -> None:
    try:
        theirs = lark.Lark(grammar, **PARSERS[parser])
    except lark.exceptions.LarkError:
        with pytest.raises(InvalidGrammar):
            compile_lark(grammar, VOCABULARY, parser=parser)
        return
    try:
        automaton = compile_lark(grammar, PIECES, parser=parser)
    except EmptyLanguage:
        assert not any(parses(theirs, text) for text in texts)
        return
    except UnsupportedGrammar as error:
        if "looks" not in str(error):
            raise
        return
    for text in texts:
        taken = parses(theirs, text)
        assert automaton.accepts(text) is taken, text
        if taken:
            assert reads(automaton, longest_first(text.encode(), PIECES)), text
    for seed in range(6):  # what the masks let through can always be ended, and Lark parses it
        text = drawn_text(automaton, random.Random(seed), free=10).decode()
        assert parses(theirs, text), text


@pytest.mark.parametrize(
    ("grammar", "taken", "refused"),
    [
        pytest.param(
            'start: "if" NAME | NAME "!"\nNAME: /[a-z]+/\n%ignore " "',
            ["if x", "iffy!", "x !", "if if"],
            ["ifx", "if!", "if"],
            id="a keyword is no name, and a name that begins with one is a name",
        ),
        pytest.param(
            'start: "set" KEY "=" NAME\nKEY: /[a-z]+/\nNAME: /[a-z]+/\n%ignore " "',
            ["set set=set", "set x = y", "setx=y"],
            ["set =y", "sex=y"],
            id="a keyword is a name where the parser takes no keyword",
        ),
        pytest.param(
            'start: (A | B | C)+\nA: "a"\nB: "ab"\nC: "abbc"',
            ["a", "ab", "aab", "abbc", "abab"],
            ["abb", "b", "abbb"],
            id="a longer text that does not come to its end leaves the shorter one",
        ),
        pytest.param(
            'start: (NUMBER | DOT)+\nNUMBER: /[0-9]+(\\.[0-9]+)?/\nDOT: "."',
            ["1", "1.5", "1.", "1..5", ".1.5."],
            ["", "a"],
            id="a longest match is taken back",
        ),
        pytest.param(
            'start: A B\nA: /a|ab/\nB: "c"',
            ["ac"],
            ["abc"],
            id="the first alternative of a pattern, though a later one is longer",
        ),
        pytest.param(
            'start: (COMMENT | "/" | WORD)+\nCOMMENT: "/*" /(.|\\n)*?/ "*/"\nWORD: /[a-z*]+/',
            ["/**/", "/* a */x", "/x", "/*x", "//*/"],
            ["/* a"],
            id="a comment ends where it first can, and what is none is operators",
        ),
        pytest.param(
            'start: WORD CALL?\nWORD: /[a-z]+(?!\\()/\nCALL: "("',
            ["ab", "a"],
            ["ab(", "(", "a("],
            id="a lookahead across the border of a token",
        ),
        pytest.param(
            "start: A REST\nA: /a+(?=b)/\nREST: /b+$/",
            ["ab", "aabb"],
            ["a", "abbb "],
            id="a lookahead that the next token fulfils",
        ),
        pytest.param(
            'start: LOW+ "." | SHORT "!"\nLOW: /[a-z]+/\nSHORT.1: /x/',
            ["a.", "x!", "ax.", "axx."],
            ["xa.", "x.", "xx!"],
            id="priority comes before length",
        ),
        pytest.param('start: A+\nA: "Ab"i', ["ab", "ABaB"], ["a"], id="a text that ignores case"),
        pytest.param(
            'start: "a" "b"\n%ignore /\\s+/\n%ignore /#[^\\n]*/',
            ["ab", " a b ", "\n#x\na#\nb #", "ab#"],
            ["a", "a#b", "a b c"],
            id="ignored before, between and after",
        ),
        pytest.param(
            'start: STRING\nSTRING: /"[^"]*"/\n%ignore " "',
            ['" "', ' "a b" '],
            ['"a" b"'],
            id="ignored inside of a token is the token",
        ),
        pytest.param(
            "start: ESCAPED_STRING*\n%import common.ESCAPED_STRING\n%ignore /,/",
            ['"a"', '"a\\"b","c"', '"\\\\"', ""],
            ['"\\"', '"a"b"', '"'],
            id="a lookbehind",
        ),
        pytest.param(
            'start: _sep{item, ","}\n_sep{x, s}: x (s x)*\nitem: "a" -> one | "b" -> two',
            ["a", "a,b"],
            ["", "a,", "ab"],
            id="templates and aliases",
        ),
        pytest.param(
            '%import common.INT\n%override INT: /[1-3]+/\nstart: item+\nitem: INT "."\n%extend item: "x"',
            ["12.", "x1.x"],
            ["4.", "1"],
            id="imports overridden, rules extended",
        ),
        pytest.param('start: "é"~2..3 /[α-ω]/', ["ééω", "éééα"], ["éω", "éé", "ééa"], id="characters beyond ASCII"),
        pytest.param('start: a\na: | a "x" a', ["", "x", "xx"], ["y"], id="an ambiguous rule"),
    ],
)
def test_what_lark_does_with_a_text_holds(grammar, taken, refused):
    for parser in PARSERS:
        try:
            automaton = compile_lark(grammar, PIECES, parser=parser)
        except (InvalidGrammar, UnsupportedGrammar):  # a collision, or a lookahead
            continue
        theirs = lark.Lark(grammar, **PARSERS[parser])
        for text in (*taken, *refused):
            assert automaton.accepts(text) is parses(theirs, text), (parser, text)
    automaton = compile_lark(grammar, PIECES)
    assert [text for text in taken if not automaton.accepts(text)] == []
    assert [text for text in refused if automaton.accepts(text)] == []


def test_the_parser_is_lalr_where_it_can_be():
    keywords = 'start: "if" NAME | NAME "!"\nNAME: /[a-z]+/\n%ignore " "'
    assert not compile_lark(keywords, VOCABULARY).accepts("ifx")
    assert compile_lark(keywords, VOCABULARY, parser="earley").accepts("ifx")
    either = 'start: one | two\none: "a"\ntwo: "a" | "b"'
    assert compile_lark(either, VOCABULARY).accepts("a")
    with pytest.raises(InvalidGrammar, match=r"not LALR\(1\): Reduce/Reduce collision .* <one : A>"):
        compile_lark(either, VOCABULARY, parser="lalr")


def test_a_conflict_that_lark_decides_is_decided_so_where_its_parser_is_asked_for():
    """Lark reads the ``b`` as the end of ``pair`` wherever it can, and then misses the one that must follow."""
    grammar = 'start: pair "b"\npair: "a" | "a" "b"'
    texts = ["ab", "abb", "a"]
    assert [text for text in texts if compile_lark(grammar, VOCABULARY, parser="lalr").accepts(text)] == ["abb"]
    assert [text for text in texts if parses(lark.Lark(grammar, parser="lalr"), text)] == ["abb"]
    assert [text for text in texts if compile_lark(grammar, VOCABULARY).accepts(text)] == ["ab", "abb"]


def test_a_collision_is_decided_by_priority():
    grammar = 'start: one "!" | two "?" | one "." | two "."\none.2: "a"\ntwo: "a" | "b"'
    theirs = lark.Lark(grammar, parser="lalr")
    automaton = compile_lark(grammar, VOCABULARY, parser="lalr")
    for text in ("a!", "a?", "a.", "b.", "b?", "b!"):
        assert automaton.accepts(text) is parses(theirs, text), text


def test_what_lark_would_reduce_forever_is_not_accepted():
    """Lark's parser does not come to an end with any text of this grammar."""
    with pytest.raises(EmptyLanguage):
        compile_lark('start: p\np.1: p | "a"', VOCABULARY, parser="lalr")
    assert compile_lark('start: p\np.1: p | "a"', VOCABULARY).accepts("a")


def test_a_rule_to_begin_with_can_be_chosen():
    grammar = 'start: item+\nitem: "a" | "b"'
    assert compile_lark(grammar, VOCABULARY, start="item").accepts("a")
    assert not compile_lark(grammar, VOCABULARY, start="item").accepts("ab")


def test_what_no_token_could_follow_is_not_begun():
    """``if`` alone is the keyword, after which neither a mark can come nor, with nothing between them, a name."""
    grammar = 'start: "if" "(" NAME ")" | NAME "!"\nNAME: /[fi]+/'
    with compile_lark(grammar, VOCABULARY).matcher() as matcher:
        after = {text: matcher.advance_bytes(matcher.start, text) for text in (b"i", b"if", b"iff")}
        assert {text: matcher.explain(state).next_bytes for text, state in after.items()} == {
            b"i": b"!fi",
            b"if": b"(fi",
            b"iff": b"!fi",
        }
    dead = compile_lark('start: "if" NAME "?" | NAME "!"\nNAME: /[fi]+/', VOCABULARY)
    assert dead.check("if?").at == 2


@pytest.mark.parametrize("parser", ["lalr", "earley"])
def test_special_tokens_are_symbols_of_their_own(parser):
    vocabulary = TokenVocabulary([*BYTES, b"", b"", b""], [256], {257: "<|call|>", 258: "<think>"})
    grammar = 'start: <think> WORD* <[257]> "<|call|>" // not <this>\nWORD: /[a-z<]+/ # nor <that>\n%ignore " "'
    automaton = compile_lark(grammar, vocabulary, parser=parser)
    assert reads(automaton, [258, *b"ab c", 257, *b"<|call|>"])
    assert reads(automaton, [258, *b" ", 257, *b" <|call|> "])
    assert not reads(automaton, [*b"<think>", 257, *b"<|call|>"])
    assert not reads(automaton, [258, *b"<|call|>", 257])
    assert not reads(automaton, [258, 257, 257])


def test_a_state_is_explained_by_its_rules():
    grammar = 'start: pair+\npair: NAME "=" value ";"\nvalue: INT\nNAME: /[a-z]+/\nINT: /[0-9]+/\n%ignore " "'
    with compile_lark(grammar, VOCABULARY).matcher() as matcher:
        inside = {text: matcher.advance_bytes(matcher.start, text) for text in (b"ab ", b"ab = 1")}
        places = {text: {name for name, _ in matcher.explain(state).places} for text, state in inside.items()}
        assert "pair" in places[b"ab "]
        assert "value" not in places[b"ab "]
        assert "value" in places[b"ab = 1"]


def test_a_special_token_ends_the_token_before_it():
    """The digits need not be followed by anything that ends them; a lookahead for a character is in vain."""
    vocabulary = TokenVocabulary([*BYTES, b"", b""], [256], {257: "<|x|>"})
    automaton = compile_lark("start: INT <|x|> INT | WORD <|x|>\nINT: /[0-9]+/\nWORD: /[a-z](?=.)/", vocabulary)
    assert reads(automaton, [*b"12", 257, *b"34"])
    assert not reads(automaton, [*b"a", 257])


@pytest.mark.parametrize("parser", ["lalr", "earley"])
def test_json_values_stand_in_a_grammar(parser):
    schema = """{"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"],
              "additionalProperties": false}"""
    grammar = f'start: (call ";")*\ncall: NAME "(" %json {schema} ")" | call "." NAME\nNAME: /[a-z]+/\n%ignore " "'
    automaton = compile_lark(grammar, PIECES, parser=parser)
    for text in ("", 'f({"x": 1});', 'f ( {"x":-20} ) . a.b; g({"x":0});'):
        assert automaton.accepts(text), text
    for text in ("f();", 'f({"y": 1});', 'f({"x": 1.5});', 'f({"x": 1}{"x": 1});'):
        assert not automaton.accepts(text), text
    for seed in range(10):
        assert automaton.accepts(drawn_text(automaton, random.Random(seed), free=20))


def test_a_json_value_does_not_go_on_with_the_token_before_it():
    automaton = compile_lark(
        'start: NAME %json {"type": ["boolean", "array"]}\nNAME: /[a-z]+/\n%ignore " "', VOCABULARY
    )
    assert automaton.accepts("a true")
    assert automaton.accepts("a []")
    assert not automaton.accepts("atrue")


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        ('start: "a"\n  %json {"type" 1}', "x.lark, line 2, column 3: after %json no JSON Schema: Expecting ':'"),
        ('start: A\nA: %json {"type": "null"}', "line 2, column 4: %json stands in the terminal A; use it in rules"),
    ],
)
def test_a_schema_that_cannot_be_read_is_refused(grammar, message):
    with pytest.raises(InvalidGrammar, match=message):
        compile_lark(grammar, VOCABULARY, name="x.lark")


def test_a_special_token_that_there_is_not_is_refused():
    with pytest.raises(InvalidGrammar, match=r"x.lark, line 2, column 4: <\|x\|> is no special token"):
        compile_lark("start: a\na: <|x|>", VOCABULARY, name="x.lark")
    vocabulary = TokenVocabulary([*BYTES, b"", b""], [256], {257: "<|x|>"})
    with pytest.raises(InvalidGrammar, match=r"line 2, column 8: <\|x\|> stands in the terminal A"):
        compile_lark('start: A\nA: "a" <|x|>', vocabulary)


@pytest.mark.parametrize("parser", ["lalr", "earley"])
def test_long_texts_take_no_more_states(parser):
    grammar = 'start: sum\nsum: sum "+" item | item\nitem: /[0-9]+/ | "(" sum ")"\n%ignore " "'
    with compile_lark(grammar, VOCABULARY, parser=parser).matcher() as matcher:
        state, seen = matcher.start, set()
        for byte in b"12 + " * 4_000:
            state = matcher.advance(state, byte)
            seen.add(state)
        assert DEAD not in seen
        assert len(seen) < 20


def test_texts_may_be_nested_deeply():
    grammar = 'start: "(" start ")" | "x"'
    automaton = compile_lark(grammar, VOCABULARY)
    assert automaton.accepts("(" * 10_000 + "x" + ")" * 10_000)
    assert not automaton.accepts("(" * 10_000 + "x" + ")" * 9_999)


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        ('start: "a" b', r"x.lark, line 1, column 12: Rule 'b' used but not defined"),
        ('start: "a"\nother "b"', r"x.lark, line 2, column 7: unexpected '\"b\"'; expected colon, dot"),
        ('start: ("a"', r"x.lark, line \d+, column \d+: unexpected '\\n'; expected .*rpar"),
        ('start: "a"\nstart: "b"', r"line 2, column 1: Rule 'start' defined more than once"),
        ("start: A\nA: /[/", r"line 2, column 1: the terminal 'A' is malformed: unterminated character set"),
        ("start: A\nA: /a*/", r"line 2, column 1: the terminal 'A' may be empty"),
        ("%import nowhere.A\nstart: A", r"nowhere"),
        ("A: B\nB: A\nstart: A", r"Recursion in terminal 'A'"),
        ('begin: "a"', r"start"),
        (3, "a grammar is a string, not int"),
    ],
)
@pytest.mark.parametrize("parser", ["lalr", "earley", "auto"])
def test_a_malformed_grammar_says_where_and_what(grammar, message, parser):
    with pytest.raises(InvalidGrammar, match=message):
        compile_lark(grammar, VOCABULARY, parser=parser, name="x.lark")


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        (r"start: A" + "\n" + r"A: /(a)\1/", r"the terminal A: a backreference"),
        (r"start: A" + "\n" + r"A: /(?<!x)a/", r"the terminal A looks back beyond its own beginning"),
        (r"start: A" + "\n" + r"A: /b*(?<!xy)a/", r"the terminal A looks back at more than one character"),
    ],
)
def test_what_cannot_be_held_is_refused_by_name(grammar, message):
    with pytest.raises(UnsupportedGrammar, match=message):
        compile_lark(grammar, VOCABULARY)


def test_an_unknown_parser_is_refused():
    with pytest.raises(InvalidGrammar, match="'cyk'"):
        compile_lark('start: "a"', VOCABULARY, parser="cyk")


def test_a_limit_ends_a_compile():
    with pytest.raises(GrammarLimitExceeded):
        compile_lark("start: /(a|b)*a(a|b){14}/", VOCABULARY, timeout=0.2)


def test_larks_own_grammar_of_grammars_holds():
    """The grammar of Lark's grammars, which is LALR(1) and full of terminals that overlap."""
    text = (GRAMMARS / "lark.lark").read_text()
    automaton = compile_lark(text, VOCABULARY)
    parser = lark.Lark(text, parser="lalr")
    for sample in ('start: "a"\n', text, "%ignore WS\n", "start: a*\n| b\n", "start a\n"):
        assert automaton.accepts(sample) is parses(parser, sample), sample


@pytest.mark.parametrize(
    "text",
    [
        "1 + f(x, *y)[2:3]",
        "lambda x: x if x not in y else [a for a in b if c]",
        r"""'a\'b' "" r"\"" """,
        "'" * 4,
        "'' 'x'",
        '""" "x" """',
        "notx + not_x",
        "not x",
        "x not",
        "1if x else 2",
        "0xfor x",
        "1_000.5e-3j",
        "a b",
    ],
)
def test_expressions_of_larks_python_grammar_hold(text, python_expressions):
    """Keywords inside of names, strings with prefixes in long and short quotes, and lookaheads to tell them apart."""
    automaton, parser = python_expressions
    assert automaton.accepts(text) is parses(parser, text)


@pytest.fixture(scope="module")
def python_expressions() -> tuple[TokenAutomaton, lark.Lark]:
    grammar = (GRAMMARS / "python.lark").read_text()
    automaton = compile_lark(grammar, VOCABULARY, start="test", parser="lalr")
    return automaton, lark.Lark(grammar, start="test", parser="lalr")


@pytest.mark.parametrize(
    "grammar",
    [
        'start: t{"a"}\nt{x}: "(" t{w{x}} ")" | x\nw{y}: "[" y "]"',
        "start: " + " ".join(['["a"]'] * 40),
        "start: T0\n" + "\n".join(f"T{one}: T{one + 1} T{one + 1}" for one in range(24)) + '\nT24: "a"',
    ],
    ids=["a template without end", "optional parts", "terminals that double"],
)
def test_a_grammar_that_lark_itself_writes_out_for_ever_stops_in_time(grammar):
    began = time.monotonic()
    with pytest.raises(GrammarLimitExceeded, match=r"timeout=0\.5 s"):
        compile_lark(grammar, VOCABULARY, timeout=0.5)
    assert time.monotonic() - began < 5
    assert sys.gettrace() is None


def test_a_limit_that_is_passed_in_a_visitor_within_another_is_one():
    class Inner(lark.Transformer):
        def inner(self, _):
            raise GrammarLimitExceeded("late")

    class Outer(lark.Transformer):
        def outer(self, _):
            Inner().transform(lark.Tree("inner", []))

    with pytest.raises(GrammarLimitExceeded, match="late"), loading._reading("the grammar", "text"):
        Outer().transform(lark.Tree("outer", []))


@pytest.mark.parametrize("start", [["start"], None, 5])
def test_the_start_is_a_name(start):
    with pytest.raises(InvalidGrammar, match="start is the name of a rule"):
        compile_lark('start: "a"', VOCABULARY, start=start)


@pytest.mark.parametrize("grammar", ['start: "ab".."z"', 'start: "".."z"'])
def test_what_lark_refuses_without_a_word_has_one(grammar):
    with pytest.raises(InvalidGrammar, match="the grammar: this range is malformed"):
        compile_lark(grammar, VOCABULARY)


@pytest.mark.parametrize("parser", PARSERS)
def test_a_state_inside_a_terminal_is_explained_by_its_name(parser):
    """Where several rules have it; else by the rule."""
    grammar = """
        start: pair | "(" pair ")" | "!" STRING
        pair: KEY "=" (KEY | STRING)
        STRING: /'[^']*'/
        KEY: /k[0-9]+/
    """
    automaton = compile_lark(grammar, VOCABULARY, parser=parser)
    with automaton.matcher() as matcher:
        inside = {text: matcher.advance_bytes(matcher.start, text) for text in (b"(k1='a", b"(k", b"(k1=")}
        names = {text: {name for name, _ in matcher.explain(state).places} for text, state in inside.items()}
    assert names[b"(k1='a"] == {"STRING"}
    assert names[b"(k1="] == {"KEY", "STRING"}
    assert "regular" not in set().union(*names.values())
    assert str(automaton.check("k1='a")) == (
        "byte 5 (line 1, column 6): the text ends too soon; expected any character; under STRING"
    )
