"""Structural tags: both forms, what stands in tags, special tokens, what is refused and where."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from vocabularies import BYTES, allowed, drawn_text, longest_first, reads

from structgen.errors import (
    EmptyLanguage,
    GrammarError,
    GrammarLimitExceeded,
    InvalidGrammar,
    InvalidRegex,
    InvalidSchema,
    UnsatisfiableSchema,
    UnsupportedRegex,
    UnsupportedSchema,
)
from structgen.grammars import DEAD, FINISHED, TokenAutomaton, TokenVocabulary, compile_structural_tag

END, CALL, DONE = 256, 257, 258
PIECES = [b"<tool", b"call>", b"<to", b"ol", b">{", b'{"', b"</", b" text", b"text<", b"</tool><tool>"]
VOCABULARY = TokenVocabulary([*BYTES, b"", b"", b"", *PIECES], [END], {CALL: "<tool>", DONE: "<|done|>"})
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "minLength": 1}, "days": {"type": "array", "items": {"enum": [1, 2]}}},
    "required": ["city"],
    "additionalProperties": False,
}

Format = dict[str, Any]


def compiled(format_: Format) -> TokenAutomaton:
    return compile_structural_tag({"type": "structural_tag", "format": format_}, VOCABULARY)


def const(value: str) -> Format:
    return {"type": "const_string", "value": value}


def tag(begin: object, content: Format, end: object) -> Format:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def token(given: object) -> Format:
    return {"type": "token", "token": given}


def schema_of(schema: object, **more: object) -> Format:
    return {"type": "json_schema", "json_schema": schema, **more}


def tools(*schemas: object, **more: object) -> Format:
    tags = [tag(f"<tool>{number}", schema_of(schema), "</tool>") for number, schema in enumerate(schemas)]
    return {"type": "triggered_tags", "triggers": ["<tool>"], "tags": tags, **more}


CALLS = compiled(tools(CITY, {"type": "integer"}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Only text, 3 < 4 and a <too.",
        '<tool>0{"city": "Oslo"}</tool>',
        'Before <tool>0{"city": "Oslo", "days": [1, 2, 1]}</tool> between\n<tool>17</tool><tool>1-3</tool> after',
        "<<tool>15</tool>",
        "<tool<tool>15</tool>",
        "😀é<tool>15</tool>é😀",
    ],
)
def test_prose_stands_before_between_and_after_calls(text):
    assert CALLS.accepts(text)
    assert reads(CALLS, longest_first(text.encode(), VOCABULARY))
    assert reads(CALLS, list(text.encode()))


@pytest.mark.parametrize(
    "text",
    [
        "<tool>",
        "text <tool> text",
        "<tool>2{}</tool>",
        "<tool>15",
        '<tool>0{"city": ""}</tool>',
        '<tool>0{"city": "Oslo", "city": "Rome"}</tool>',
        '<tool>0{"days": [1]}</tool>',
        '<tool>0{"city": "Oslo", "days": [3]}</tool>',
        '<tool>0{"city": "<tool>"}</tool',
    ],
)
def test_a_trigger_is_no_prose_and_a_body_is_held_to_its_schema(text):
    assert not CALLS.accepts(text)


def test_text_in_a_body_may_hold_triggers_and_ends():
    assert CALLS.accepts('<tool>0{"city": "<tool></tool>"}</tool>')


def test_bytes_that_are_no_utf8_are_no_prose():
    assert not any(CALLS.accepts(text) for text in (b"\xff", b"\xc3", b"\xc3<tool>15</tool>", b"\xed\xa0\x80"))


def test_masks_go_across_the_borders_of_prose_tags_and_bodies():
    with CALLS.matcher() as matcher:
        row = np.empty((len(VOCABULARY) + 31) // 32, np.int32)
        matcher.fill_mask(matcher.start, row)
        assert {*map(VOCABULARY.token_bytes, allowed(row))} >= {b"<tool", b"<to", b"text<", b"call>", b"</"}
        state = matcher.advance_bytes(matcher.start, b"some text <tool>17")
        matcher.fill_mask(state, row)
        digits = {b"%d" % digit for digit in range(10)}
        assert {*map(VOCABULARY.token_bytes, allowed(row))} == {*digits, b"<", b"</", b"</tool><tool>"}
        state = matcher.advance_bytes(state, b"</tool><tool")
        assert matcher.forced_bytes(state) == b""
        assert matcher.forced_bytes(matcher.advance_bytes(state, b">0")) == b"{"


def test_the_older_form_means_the_same():
    structures = [
        {"begin": "<tool>0", "schema": CITY, "end": "</tool>"},
        {"begin": "<tool>1", "schema": json.dumps({"type": "integer"}), "end": "</tool>"},
    ]
    automaton = compile_structural_tag({"structures": structures, "triggers": ["<tool>"]}, VOCABULARY)
    for text in ('a <tool>0{"city": "Oslo"}</tool> b', "<tool>15</tool>", "<tool>1x</tool>", "<tool>"):
        assert automaton.accepts(text) == CALLS.accepts(text)
    again = {"type": "structural_tag", "structures": structures, "triggers": ["<tool>"]}
    assert compile_structural_tag(json.dumps(again), VOCABULARY).accepts("<tool>15</tool>")


def test_fields_that_are_null_or_have_their_defaults_are_as_not_there():
    content = schema_of({"type": "integer"}, style="json", any_order=False, max_whitespace_cnt=None, excludes=[])
    prose = {"type": "any_text", "excludes": [], "max_tokens": None, "max_chars": None}
    automaton = compiled({"type": "sequence", "elements": [tag("<", content, ">"), prose]})
    assert automaton.accepts("<15>text")


def test_a_special_token_is_never_its_text():
    tags = [tag(token("<tool>"), const("x"), token(DONE))]
    one = compiled({"type": "triggered_tags", "triggers": [token("<tool>")], "tags": tags})
    row = np.empty((len(VOCABULARY) + 31) // 32, np.int32)
    with one.matcher() as matcher:
        matcher.fill_mask(matcher.start, row)
        assert {CALL, END, ord("<")} <= allowed(row)
        assert DONE not in allowed(row)
        as_text = matcher.advance_bytes(matcher.start, b"<tool>")  # which is prose here
        assert matcher.is_accepting(as_text)
        state = matcher.advance(matcher.start, CALL)
        matcher.fill_mask(state, row)
        assert allowed(row) == {ord("x")}
        state = matcher.advance(state, ord("x"))
        assert matcher.forced_tokens(state) == [DONE]
        assert matcher.advance_bytes(state, b"<|done|>") == DEAD
        state = matcher.advance(state, DONE)
        assert matcher.advance(state, END) == FINISHED
    with CALLS.matcher() as matcher:
        assert matcher.advance(matcher.start, CALL) == DEAD


def test_reasoning_comes_first_and_then_the_grammar():
    for begin in ("<think>", None):
        reasoning = {"type": "reasoning"} if begin else {"type": "reasoning", "begin": ""}
        automaton, opening = compiled({"type": "sequence", "elements": [reasoning, schema_of(CITY)]}), begin or ""
        for space in ("", "\n", "\n\n"):
            assert automaton.accepts(f'{opening}Is it {{"city"}}? </thin</think>{space}{{"city": "Oslo"}}')
        assert not automaton.accepts(f'{opening}</think>\n\n\n{{"city": "Oslo"}}')
        assert not automaton.accepts(f'{opening}</think></think>{{"city": "Oslo"}}')
        assert not automaton.accepts('{"city": "Oslo"}')


def test_a_whole_turn_is_one_automaton():
    turn = {"type": "sequence", "elements": [{"type": "optional", "content": {"type": "reasoning"}}, tools(CITY)]}
    automaton = compiled(turn)
    text = '<think>Which city?</think>\n\nLet me see: <tool>0{"city": "Oslo"}</tool> Done.'
    assert automaton.accepts(text)
    assert automaton.check(text[:-20]).accepted is False


def test_patterns_grammars_and_any_json_are_bodies():
    grammar = 'root ::= sum\nsum ::= sum "+" [0-9]+ | [0-9]+'
    automaton = compiled(
        {
            "type": "or",
            "elements": [
                tag("r:", {"type": "regex", "pattern": "(?i)a+|é"}, "."),
                tag("g:", {"type": "grammar", "grammar": grammar}, "."),
                tag("s:", schema_of(True), "."),
            ],
        }
    )
    for text in ("r:aA.", "r:é.", "g:1+23+4.", 's:[1, {"a": null}].'):
        assert automaton.accepts(text)
    for text in ("r:b.", "g:+1.", "g:.", "s:[1.", "s:."):
        assert not automaton.accepts(text)


def test_a_grammar_that_calls_itself_may_stand_beside_a_schema():
    grammar = 'root ::= "(" root ")" | "x"'
    recursive = {"properties": {"next": {"$ref": "#"}}, "additionalProperties": False, "type": "object"}
    automaton = compiled({"type": "or", "elements": [schema_of(recursive), {"type": "grammar", "grammar": grammar}]})
    assert automaton.accepts("((x))")
    assert automaton.accepts('{"next": {"next": {}}}')
    assert not automaton.accepts('{"next": {"next": 1}}')


def test_special_tokens_may_stand_in_a_grammar():
    automaton = compiled(tag("a", {"type": "grammar", "grammar": "root ::= <|done|> <[257]>*"}, "b"))
    assert reads(automaton, [ord("a"), DONE, CALL, CALL, ord("b")])


def test_white_space_and_order_are_options_of_a_schema():
    schema = {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["a", "b"]}
    automaton = compiled(schema_of(schema, any_order=True, max_whitespace_cnt=0))
    assert automaton.accepts('{"b":2,"a":1}')
    assert not automaton.accepts('{"b": 2, "a": 1}')
    assert not automaton.accepts('{"b":2}')


def test_texts_drawn_under_the_masks_are_accepted():
    for seed in range(30):
        assert CALLS.accepts(drawn_text(CALLS, random.Random(seed), free=seed))


def test_an_answer_can_be_ended_within_its_distance():
    source = random.Random(3)
    for _ in range(20):
        with CALLS.matcher() as matcher:
            state = matcher.advance_bytes(matcher.start, b"text <tool>0{")
            row, left = np.empty((len(VOCABULARY) + 31) // 32, np.int32), matcher.distance(state)
            while not matcher.is_accepting(state):
                assert matcher.fill_mask_within(state, row, left - 1)
                state, left = matcher.advance(state, source.choice(sorted(allowed(row)))), left - 1
            assert left >= 0


def test_what_was_compiled_is_saved_and_compiled_again(tmp_path):
    CALLS.save(tmp_path / "calls")
    again = TokenAutomaton.load(tmp_path / "calls", VOCABULARY)
    assert again.accepts("<tool>15</tool>")
    assert not again.accepts("<tool>1x</tool>")


def test_a_state_says_which_tag_it_is_in():
    with CALLS.matcher() as matcher:
        assert ("text", "/format") in matcher.explain(matcher.start).places
        state = matcher.advance_bytes(matcher.start, b"<tool>15</to")
        assert matcher.explain(state).places == [("<tool>1", "/format/tags/1")]


def test_bodies_are_compiled_when_they_are_reached_and_schemas_once():
    schemas = [{"type": "object", "properties": {f"{kind}{number}": {"type": kind} for kind in ("string", "integer")}}
               for number in range(200)]  # fmt: skip
    vocabulary = TokenVocabulary.from_bytes([*BYTES, b""], [END])
    automaton = compile_structural_tag({"format": tools(*schemas)}, vocabulary)
    known = len(vocabulary.interiors.shared_facts)
    assert automaton.stats().rules < 2.5 * len(schemas)  # each tag and, of those written ahead, what they call
    before = automaton.stats().rules
    assert automaton.accepts('<tool>199{"string199": "a"}</tool>')
    assert before < automaton.stats().rules < before + 10
    compile_structural_tag({"format": tools(*schemas[:0:-1])}, vocabulary)
    assert known == len(vocabulary.interiors.shared_facts) == len(schemas)


def test_prose_takes_whole_branches_of_a_vocabulary_and_no_token_too_many():
    source = random.Random(5)
    alphabet = ["a", "b", "<", "t", ">", " ", "é", "日", "😀"]
    pieces = {"".join(source.choices(alphabet, k=source.randint(1, 6))).encode() for _ in range(4000)}
    pieces |= {piece[:-1] for piece in pieces} | {b"\xff" + piece for piece in pieces if len(piece) < 4}
    vocabulary = TokenVocabulary.from_bytes([*BYTES, b"", *sorted(pieces - {b""})], [END])
    spec = {"type": "triggered_tags", "triggers": ["<t>"], "tags": [tag("<t>", const("é"), "日")], "excludes": ["bé"]}
    automaton = compile_structural_tag({"format": spec}, vocabulary)
    row = np.empty((len(vocabulary) + 31) // 32, np.int32)
    with automaton.matcher() as matcher:
        for begin in (b"", b"a", b"<", b"<t", b"b", b"\xc3", b"b\xf0\x9f", b"<t>", "<t>é".encode()):
            state = matcher.advance_bytes(matcher.start, begin)
            matcher.fill_mask(state, row)
            may_come = {one for one in range(len(vocabulary)) if matcher.advance(state, one) != DEAD}
            assert allowed(row) == may_come, begin


TEXT = {"type": "any_text"}
FAULTS = {
    "a format of another name": ({"type": "text"}, "/format/type: there is no format 'text'; there is const_string, "),
    "no type": ({}, "/format: the field 'type' is missing"),
    "no object": ([], "/format: expected an object, not a list"),
    "a field that is not known": (TEXT | {"exclude": []}, "/format/exclude: a format any_text has no such field"),
    "a field in a tag that is not known": (
        {"type": "triggered_tags", "triggers": ["a"], "tags": [tag("a", TEXT, "b") | {"ends": "c"}]},
        "/format/tags/0/ends: a tag has no such field",
    ),
    "counted tokens": (TEXT | {"max_tokens": 5}, "/format/max_tokens: 5 is not supported: no state of the automaton"),
    "counted characters": (TEXT | {"max_chars": 5}, "/format/max_chars: 5 is not supported: no state"),
    "another style": (schema_of({}, style="qwen_xml"), "/format/style: 'qwen_xml' is not supported: JSON is"),
    "less white space": (schema_of({}, max_whitespace_cnt=2), "/format/max_whitespace_cnt: 2 is not supported: white"),
    "texts that a schema's strings exclude": (
        schema_of({}, excludes=["a"]),
        "/format/excludes: ['a'] is not supported",
    ),
    "tokens of text": ({"type": "exclude_token"}, "/format/type: 'exclude_token' is not supported: it counts tokens"),
    "another syntax": ({"type": "grammar", "grammar": "", "syntax": "peg"}, "/format/syntax: there is no syntax 'peg'"),
    "a list of nothing": ({"type": "or", "elements": []}, "/format/elements: the list is empty; give at least one"),
    "no list": ({"type": "or", "elements": TEXT}, "/format/elements: expected a list, not an object"),
    "no text": ({"type": "const_string", "value": 5}, "/format/value: expected a string, not a number"),
    "half a character": (const("\ud800"), "/format/value: '\\ud800' is no Unicode text"),
    "no boolean": (tools({}, at_least_one=1), "/format/at_least_one: expected true or false, not a number"),
    "bounds that are none": (
        {"type": "repeat", "min": 2, "max": 1, "content": TEXT},
        "/format: min=2 and max=1 are no bounds",
    ),
    "an empty trigger": (
        {"type": "triggered_tags", "triggers": [""], "tags": [tag("a", TEXT, "b")]},
        "/format/triggers/0: a trigger is not empty",
    ),
    "an empty text to exclude": (TEXT | {"excludes": ["a", ""]}, "/format/excludes/1: an empty string"),
    "a tag without a trigger": (
        {"type": "triggered_tags", "triggers": ["a"], "tags": [tag("a", TEXT, "b"), tag("b", TEXT, "b")]},
        "/format/tags/1: this tag begins with none of the triggers",
    ),
    "a trigger without a tag": (
        {"type": "triggered_tags", "triggers": ["a", "c"], "tags": [tag("a", TEXT, "b")]},
        "/format: no tag begins with trigger number 1; what may not occur at all goes in excludes",
    ),
    "something else among tags": (
        {"type": "tags_with_separator", "tags": [TEXT], "separator": ""},
        "/format/tags/0/type: 'any_text' is not supported: only tags stand here",
    ),
    "a tag without an end": (tag("a", TEXT, []), "/format/end: the list is empty"),
    "a rule that is no pair": ({"type": "dispatch", "rules": [["a"]]}, "/format/rules/0: expected a list of a pattern"),
    "a token that there is not": (token("<none>"), "/format/token: '<none>' is no special token of the vocabulary"),
    "a token of text": (token(97), "/format/token: token 97 is no special token of the vocabulary; text is written"),
    "a token of another kind": (token(True), "/format/token: True is no special token"),
    "an end token": (token(END), "/format/token: 256 is an end token: it ends the whole answer"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_malformed_or_not_supported_is_refused_with_its_place(name):
    format_, message = FAULTS[name]
    with pytest.raises(InvalidGrammar) as caught:
        compiled(format_)
    assert str(caught.value).startswith(f"structural tag, at {message}")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"type": "structural_tag"}, "structural tag, at the root: the field 'format' is missing"),
        ({"type": "object", "format": TEXT}, "structural tag, at /type: 'object' is not supported"),
        ({"format": TEXT, "name": "x"}, "structural tag, at /name: a structural tag has no such field"),
        ({"structures": [], "triggers": ["a"]}, "structural tag, at /structures: the list is empty"),
        (
            {"structures": [{"begin": "a", "schema": "{", "end": "b"}], "triggers": ["a"]},
            "structural tag, at /structures/0/schema: not JSON: ",
        ),
        ("{'format'}", "structural tag, line 1, column 2: not JSON: "),
        ("[]", "structural tag, at the root: expected an object, not a list"),
        ('{"format": NaN}', "structural tag: not JSON: NaN is no JSON number"),
        ({"format": {"type": object}}, "structural tag, at /format/type: expected a string, not <class 'object'>"),
        (
            {"format": schema_of({"const": float("nan")})},
            "structural tag, at /format/json_schema: the schema",
        ),
        ({"format": schema_of({"const": object})}, "structural tag, at /format/json_schema: the schema"),
        ({"format": TEXT, 5: 6}, "structural tag, at /5: a structural tag has no such field"),
        (5, "structural tag, at the root: expected an object, not a number"),
    ],
)
def test_what_is_no_structural_tag_is_refused(spec, message):
    with pytest.raises(InvalidGrammar) as caught:
        compile_structural_tag(spec, VOCABULARY)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("schema", "kind", "pointer"),
    [
        ({"items": {"uniqueItems": True, "items": {"type": "object"}}}, UnsupportedSchema, "/items/uniqueItems"),
        ({"properties": {"a": {"type": "text"}}}, InvalidSchema, "/properties/a/type"),
        ({"type": "string", "pattern": "("}, InvalidSchema, "/pattern"),
        ({"type": "integer", "minimum": 2, "maximum": 1}, UnsatisfiableSchema, ""),
        (False, UnsatisfiableSchema, ""),
    ],
)
def test_a_schema_that_cannot_be_had_is_refused_at_once_with_its_place(schema, kind, pointer):
    with pytest.raises(kind) as caught:
        compiled(tools(CITY, schema))
    assert caught.value.pointer == "/format/tags/1/content/json_schema" + pointer
    structures = [{"begin": "a", "schema": schema, "end": ""}]
    with pytest.raises(kind) as caught:
        compile_structural_tag({"structures": structures, "triggers": ["a"]}, VOCABULARY)
    assert caught.value.pointer == "/structures/0/schema" + pointer


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ({"type": "regex", "pattern": "a("}, InvalidRegex, "pattern: "),
        ({"type": "regex", "pattern": r"(a)\1"}, UnsupportedRegex, "pattern: "),
        ({"type": "regex", "pattern": "a^b"}, EmptyLanguage, "pattern: no text matches"),
        ({"type": "grammar", "grammar": "root ::= x"}, InvalidGrammar, "grammar: line 1, column 10: there is no rule"),
        ({"type": "grammar", "grammar": "root ::= root"}, EmptyLanguage, "grammar: "),
    ],
)
def test_a_pattern_or_grammar_that_cannot_be_had_is_refused_at_once_with_its_place(body, kind, message):
    with pytest.raises(GrammarError) as caught:
        compiled({"type": "or", "elements": [const("a"), tag("<", body, ">")]})
    assert type(caught.value) is kind
    assert str(caught.value).startswith(f"structural tag, at /format/elements/1/content/{message}")


def test_a_tag_whose_end_can_never_come_is_refused():
    inner = {"type": "triggered_tags", "triggers": ["b"], "tags": [tag("b", const(""), "")]}
    with pytest.raises(EmptyLanguage, match="the structural tag is unsatisfiable"):
        compiled(tag("<", inner, "abc"))  # the trigger would come first


def test_limits_hold():
    with pytest.raises(GrammarLimitExceeded, match="timeout"):
        compile_structural_tag({"format": tools(CITY)}, VOCABULARY, timeout=0)
    with pytest.raises(GrammarLimitExceeded, match="over 10,000 times"):
        compiled({"type": "repeat", "min": 0, "max": 10**9, "content": const("a")})
    deep: Format = const("a")
    for _ in range(5_000):
        deep = {"type": "optional", "content": deep}
    with pytest.raises(GrammarLimitExceeded, match="nested too deeply"):
        compiled(deep)
