"""XGrammar's EBNF: what XGrammar accepts, where it holds it, and what is refused."""

from __future__ import annotations

import random

import pytest
from vocabularies import BYTES, bytewise, drawn_text, reads

from structgen.errors import InvalidGrammar
from structgen.grammars import TokenVocabulary, compile_ebnf, compile_structural_tag

VOCABULARY = bytewise(b"<t", b"<t>", b"ab", b"> ", b"</")
WRONG = ["", "x", "y", "<t>", "</t>", "a", "aba", "ab<", "é", "<"]
RULES = '\nb ::= "x"\nc ::= "y"+'
GRAMMARS = [
    'root ::= "a"\n"b"\nb.c ::= "x"',
    "root ::= [^]",
    r'root ::= "\x1F600" "\e\?' + "\\'" + r'" "\x41g" "\u00e9é"',
    r"root ::= [a-c\-\.\]]+ [x-]",
    "root ::= ( ) [-x]{0} ()",
    'root ::= root "a" | "a" # left\n   | "b"',
    'root ::= ("a" |\n\n "b" #x\n){2,3}\n',
    'root::="a"',
    'root ::= TagDispatch(("<t>", b), ("<tt>", c))' + RULES,
    'root ::= TagDispatch(("<t>", b), ("<t>", c), loop_after_dispatch=false)' + RULES,
    'root ::= TagDispatch(\n  ("<t>", b),\n  excludes=("</t>",)\n) "</t>"' + RULES,
    'root ::= (TagDispatch(("<t>", b)) "z" | "q")' + RULES,
    'root ::= TagDispatch(("aba", b), ("ab<", c))' + RULES,
    "root ::= TagDispatch()",
]


def their_verdict(xgrammar, compiled, text: str) -> bool:
    matcher = xgrammar.GrammarMatcher(compiled)
    return matcher.accept_string(text) and matcher.accept_token(255)


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_it_means_what_xgrammar_says_it_means(grammar: str):
    xgrammar = pytest.importorskip("xgrammar", reason="compares with XGrammar, of the extra 'bench'")
    tokens = xgrammar.TokenizerInfo([bytes([byte]) for byte in range(1, 256)] + [b"</s>"], stop_token_ids=[255])
    compiled = xgrammar.GrammarCompiler(tokens).compile_grammar(grammar)
    automaton, source = compile_ebnf(grammar, VOCABULARY), random.Random(0)
    verdicts: set[bool] = set()
    for seed in range(150):
        text = drawn_text(automaton, random.Random(seed), free=seed % 12).decode()
        if seed % 2:
            place = source.randint(0, len(text))
            text = text[:place] + source.choice(WRONG) + text[place + source.randint(0, 2) :]
        if "\0" in text:  # which is a token of its own for XGrammar
            continue
        expected = their_verdict(xgrammar, compiled, text)
        assert automaton.accepts(text) is expected, text
        verdicts.add(expected)
    assert True in verdicts
    assert False in verdicts or grammar.endswith("TagDispatch()")


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        ('root ::= a "c"\na ::= "b" (= "d")', "line 2, column 11: a lookahead assertion is a hint for XGrammar"),
        ("root[temperature=0.7] ::= [a]", "line 1, column 5: options of a rule, such as a sampling temperature"),
        ('root ::= "a" b ::= "c"', "line 1, column 14: the rule 'b' does not begin at the start of a line"),
        ("root ::= .", "line 1, column 10: there is no rule '.'"),
        ('root ::= "a"\nx', "line 2, column 1: there is no rule 'x'"),
        (r'root ::= "\d"', r"column 11: the escape \\d is not known"),
        (r'root ::= "\."', r"column 11: the escape \\. is not known"),
        (r"root ::= [\d]", r"column 11: the escape \\d is not known"),
        (r'root ::= "\x110000"', "is no code point"),
        ("root ::= ExcludeToken(257)", "column 10: any token but some is no text"),
        ("root ::= Token()", "column 15: expected at least 1 number"),
        ("root ::= Token(97)", "column 16: 97 is no special token"),
        ("root ::= Token(256)", "column 16: 256 is no special token"),
        ("root ::= Token(" + "1" * 5000 + ")", "is no special token"),
        ('root ::= TagDispatch(("<t>", b)' + RULES, "column 21: this parenthesis is not closed"),
        ('root ::= TagDispatch(("<t>", b, c))' + RULES, "column 21: expected pairs of a literal and a rule"),
        ("root ::= TagDispatch((b, b))" + RULES, "expected a literal here"),
        ('root ::= TagDispatch(("", b))' + RULES, "column 23: a trigger or what is excluded is not empty"),
        ('root ::= TagDispatch(("a", d))' + RULES, "column 28: there is no rule 'd'"),
        ('root ::= TagDispatch(("a", b), loop=true)' + RULES, "there is no argument 'loop'"),
        ('root ::= TagDispatch(("a", b), loop_after_dispatch="x")' + RULES, "loop_after_dispatch is true or false"),
        ('root ::= TagDispatch(("a", b), excludes="x")' + RULES, "excludes is a list in parentheses"),
        ('root ::= TagDispatch(("<t>", b), excludes=("<",))' + RULES, 'the trigger "<t>" begins with what is excluded'),
        ('root ::= TagDispatch(("ab", b), ("b", c))' + RULES, 'column 23: the trigger "ab" ends with the trigger "b"'),
    ],
)
def test_what_is_not_held_or_malformed_is_refused_with_its_place(grammar: str, message: str):
    vocabulary = TokenVocabulary([*BYTES, b"", b""], [256], {257: "<|x|>"})
    with pytest.raises(InvalidGrammar, match=message):
        compile_ebnf(grammar, vocabulary)


def test_special_tokens_are_named_by_number():
    vocabulary = TokenVocabulary([*BYTES, b"", b"", b"", b""], [256], {257: "<|x|>", 258: "<|y|>", 259: "<|z|>"})
    one = compile_ebnf('root ::= Token(257, 258) "a"', vocabulary)
    assert reads(one, [257, *b"a"])
    assert reads(one, [258, *b"a"])
    assert not reads(one, [259, *b"a"])
    assert reads(compile_ebnf('root ::= <|z|> "a"', vocabulary), [259, *b"a"])
    grammar = 'root ::= TokenTagDispatch((257, b), loop_after_dispatch=false, excludes=(259,))\nb ::= "q"'
    dispatch = compile_ebnf(grammar, vocabulary)
    assert reads(dispatch, [*b"any", 258, *b"text"])
    assert reads(dispatch, [*b"any", 258, 257, *b"q"])
    assert not reads(dispatch, [257, *b"q", *b"more"])
    assert not reads(dispatch, [259])
    assert not reads(dispatch, [257, *b"x"])


def test_a_structural_tag_holds_ebnf():
    grammar = {"type": "grammar", "grammar": 'root ::= "a"\n"b"'}
    tag = {"type": "structural_tag", "format": {"type": "tag", "begin": "<", "content": grammar, "end": ">"}}
    assert compile_structural_tag(tag, VOCABULARY).accepts("<ab>")


def test_another_rule_may_be_the_start():
    assert compile_ebnf('root ::= "a"\nother ::= root "b"', VOCABULARY, start="other").accepts("ab")
