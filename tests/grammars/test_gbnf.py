"""GBNF: its syntax, every kind of recursion against the language worked out by force, and what is refused."""

from __future__ import annotations

import itertools
import random

import pytest
from vocabularies import BYTES, bytewise, drawn_text

from structgen.errors import EmptyLanguage, GrammarLimitExceeded, InvalidGrammar
from structgen.grammars import DEAD, TokenVocabulary, compile_gbnf

VOCABULARY = bytewise()


def accepts(grammar: str, text: str) -> bool:
    return compile_gbnf(grammar, VOCABULARY).accepts(text)


@pytest.mark.parametrize(
    ("grammar", "taken", "refused"),
    [
        (r'root ::= "a\n\x41\u00e9\U0001F600\"\\"', ['a\nAé😀"\\'], ["a", 'a\nAé😀"']),
        ("root ::= [a-c_-]+", ["abc_-", "-"], ["", "d", "ab d"]),
        (r"root ::= [^\]a\-]", ["b", "😀", "\n"], ["]", "a", "-", ""]),
        (r"root ::= [\[\]^é-ü]+", ["[^]", "ö"], ["a", "ý"]),
        ("root ::= .", ["x", "é", "\n", "😀"], ["", "xx"]),
        ('root ::= "a"{2}', ["aa"], ["a", "aaa"]),
        ('root ::= "a"{2,}', ["aa", "aaaaa"], ["a"]),
        ('root ::= "a"{ 1 , 3 }', ["a", "aaa"], ["", "aaaa"]),
        ('root ::= "a"{0,0} "b"', ["b"], ["ab"]),
        ('root ::= ("a" | "b")* "c"?', ["", "abc", "ba"], ["cc", "ca"]),
        ('root ::= "a" | ', ["a", ""], ["b"]),
        ('root ::= (\n  "a" # one\n  | "b"\n)\n', ["a", "b"], ["ab"]),
        ('root ::= "a" p |\np ::= "b" |\n', ["", "a", "ab"], ["b"]),
        ('root ::= "a"\n  | "b"\n\n# more\nother ::= "c"', ["a", "b"], ["c"]),
        ('root ::=\n  my-rule my_rule\r\nmy-rule ::= "x"\r\nmy_rule ::= "y"', ["xy"], ["x", "yx"]),
        ('root ::= ("a"\n *\n "b" {2})', ["bb", "aabb"], ["ab"]),
        ('\ufeffroot ::= "a"{0003}', ["aaa"], ["a"]),
        ('root ::= "("  root ")" | "x"', ["x", "((x))"], ["(x", "()"]),
    ],
)
def test_what_a_grammar_says_holds(grammar, taken, refused):
    assert all(accepts(grammar, text) for text in taken)
    assert not any(accepts(grammar, text) for text in refused)


def test_sums_and_products_as_they_are_written_in_books():
    grammar = """
        root ::= sum
        sum ::= product | sum [+-] product
        product ::= atom | product [*/] atom
        atom ::= [0-9]+ | "-" atom | "(" sum ")"
    """
    for text in ("1", "1+2-3", "1*2+3/(4-5)", "-(1+2)*3", "((7))"):
        assert accepts(grammar, text)
    for text in ("", "+", "1+", "1+*2", "(1", "1)", "()"):
        assert not accepts(grammar, text)


def language(bodies: dict[str, list[list[str]]], longest: int) -> set[str]:
    """Every text of ``root`` of at most so many characters: the least sets that hold what the rules say."""
    texts: dict[str, set[str]] = {name: set() for name in bodies}
    while True:
        after = {
            name: {
                text
                for alternative in alternatives
                for parts in itertools.product(*(texts.get(part, {part}) for part in alternative))
                if len(text := "".join(parts)) <= longest
            }
            for name, alternatives in bodies.items()
        }
        if after == texts:
            return texts["root"]
        texts = after


def drawn_grammar(source: random.Random) -> dict[str, list[list[str]]]:
    """Few rules that call each other in every place, the first too, with empty alternatives."""
    names = ["root", "p", "q", "r"][: source.randint(1, 4)]
    symbols = [*names, "a", "b", "a", "b"]
    return {
        name: [[source.choice(symbols) for _ in range(source.choice([0, 1, 1, 2, 2, 3]))] for _ in range(3)]
        for name in names
    }


def written(bodies: dict[str, list[list[str]]]) -> str:
    def symbol(part: str) -> str:
        return part if part in bodies else f'"{part}"'

    return "\n".join(f"{name} ::= {' | '.join(' '.join(map(symbol, one)) for one in bodies[name])}" for name in bodies)


@pytest.mark.parametrize("seed", range(150))
def test_random_grammars_hold_the_language_worked_out_by_force(seed):
    bodies = drawn_grammar(random.Random(seed))
    known = language(bodies, longest=5)
    texts = ["".join(one) for size in range(6) for one in itertools.product("ab", repeat=size)]
    try:
        automaton = compile_gbnf(written(bodies), bytewise(b"aa", b"ab", b"ba", b"bab"))
    except EmptyLanguage:
        assert not known
        return
    assert {text for text in texts if automaton.accepts(text)} == known


@pytest.mark.parametrize(
    "grammar",
    [
        'root ::= root "a" | "b"',
        'root ::= "a" root | "b"',
        'root ::= root root | "a" | ""',
        'root ::= p\np ::= q "a" | ""\nq ::= p "b" | root "c"',
        "root ::= root | root? root* p\np ::= [ab] root{0,2}",
    ],
)
def test_masks_never_lead_astray(grammar):
    """Random texts under the masks end, and are what the grammar takes byte by byte."""
    automaton = compile_gbnf(grammar, bytewise(b"aa", b"ab", b"ba", b"bca"))
    for seed in range(20):
        text = drawn_text(automaton, random.Random(seed), free=12)
        assert compile_gbnf(grammar, VOCABULARY).accepts(text)


def test_long_texts_of_left_recursion_take_no_stack():
    automaton = compile_gbnf('root ::= root "+" item | item\nitem ::= [0-9] | "(" root ")"', VOCABULARY)
    with automaton.matcher() as matcher:
        state = matcher.start
        seen = set()
        for byte in b"1+" * 20_000:
            state = matcher.advance(state, byte)
            seen.add(state)
        assert state != DEAD
        assert len(seen) < 10


def test_special_tokens_are_named_by_text_or_number():
    vocabulary = TokenVocabulary([*BYTES, b"", b"", b""], [256], {257: "<|call|>", 258: "<think>"})
    automaton = compile_gbnf('root ::= <think> "a"* <[257]>', vocabulary)
    with automaton.matcher() as matcher:
        state = matcher.start
        for token in (258, ord("a"), 257):
            assert not matcher.is_accepting(state)
            state = matcher.advance(state, token)
        assert matcher.is_accepting(state)
        assert matcher.advance(matcher.start, ord("<")) == DEAD


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        ('root ::= "a" other', r"line 1, column 14: there is no rule 'other'"),
        ('root ::= "a"\nroot ::= "b"', r"line 2, column 1: the rule 'root' is defined twice"),
        ('rule ::= "a"', r"no rule 'root' to begin with; it has rule"),
        ("", r"no rule 'root'"),
        ('root ::= ("a"', r"line 1, column 10: this parenthesis is not closed"),
        ('root ::= "a")', r"line 1, column 13: unexpected '\)'"),
        ('root ::= "a', r"""line 1, column 10: unexpected '"'"""),
        (r'root ::= "\q"', r"column 11: the escape \\q is not known"),
        (r"root ::= [\UFFFFFFFF]", r"no code point"),
        ("root ::= [b-a]", r"the range b-a runs backwards"),
        ("root ::= []", r"a class without characters"),
        (r'root ::= "\uD800"', r"half of a surrogate pair"),
        ('root ::= "a"{3,2}', r"counts down"),
        ('root ::= "a"{x}', r"is not \{n\}"),
        ("root = 'a'", r"line 1, column 6: unexpected '='"),
        ("root ::= <|nothing|>", r"no special token"),
        ("root ::= <[7]>", r"no special token"),
        ('root "a"', r"expected ::=, not"),
        ("root ::= # \u2028 one line\n  !", r"line 2, column 3"),
        ("root ::= <[" + "1" * 5000 + "]>", r"no special token"),
    ],
)
def test_what_is_malformed_is_refused_with_its_place(grammar, message):
    with pytest.raises(InvalidGrammar, match=message):
        compile_gbnf(grammar, VOCABULARY)


@pytest.mark.parametrize("grammar", ["root ::= root", 'root ::= "a" root', "root ::= p root\np ::= [a] p"])
def test_a_grammar_without_texts_is_refused(grammar):
    with pytest.raises(EmptyLanguage):
        compile_gbnf(grammar, VOCABULARY)


@pytest.mark.parametrize(
    "grammar",
    [
        "root ::= " + "(" * 5000 + '"a"' + ")" * 5000,
        'root ::= "a"' + "*" * 5000,
        'root ::= ("a"{1000}){1000}',
        'root ::= "a"{1000000}',
        'root ::= "a"{99999999999999999999}',
        "root ::= " + "(" * 99 + '"a"' + ("?*" * 45 + ")") * 99,
    ],
    ids=["groups", "stars", "product", "count", "huge count", "both"],
)
def test_what_would_blow_up_is_a_limit(grammar):
    with pytest.raises(GrammarLimitExceeded):
        compile_gbnf(grammar, VOCABULARY)


def test_a_grammar_is_text():
    with pytest.raises(InvalidGrammar, match="bytes"):
        compile_gbnf(b"root ::= [a]", VOCABULARY)  # pyright: ignore[reportArgumentType]


def test_it_is_saved_and_compiled_again():
    automaton = compile_gbnf("begin ::= [ab]+", VOCABULARY, start="begin")
    assert automaton.recipe.compile(VOCABULARY).accepts("abba")
