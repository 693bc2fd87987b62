"""White space that is prescribed: what is accepted is what `json.dumps` writes, byte for byte."""

from __future__ import annotations

import json
import random
import re

import numpy as np
import pytest
from random_schemas import random_schema

from structgen.errors import GrammarLimitExceeded, InvalidGrammar, SchemaError
from structgen.grammars import TokenAutomaton, TokenVocabulary, compile_json_schema
from structgen.grammars.sampling import byte_vocabulary

LAYOUTS = ["indent:0", "indent:1", "indent:4", (",", ":"), (", ", ": "), (" \n, ", "\t:\r\n")]
DEFINED = {
    "tree": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            "set": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        },
        "required": ["name"],
    }
}
TREE = {"$ref": "#/$defs/tree", "$defs": DEFINED}
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^{}\[\],:"\s]+')


def dumped(value: object, whitespace: str | tuple[str, str]) -> str:
    if isinstance(whitespace, tuple):
        return json.dumps(value, separators=whitespace)
    return json.dumps(value, indent=int(whitespace.removeprefix("indent:")))


def laid_out(compact: str, whitespace: str | tuple[str, str]) -> str:
    """A text without white space in another layout, each scalar spelled as it was; slow and obvious."""
    comma, colon = (",", ": ") if isinstance(whitespace, str) else whitespace
    indent = int(whitespace.removeprefix("indent:")) if isinstance(whitespace, str) else None
    found, depth, before = "", 0, ""

    def line() -> str:
        return "" if indent is None else "\n" + " " * (indent * depth)

    for token in _TOKEN.findall(compact):
        closes = token in "]}"
        if before in ("{", "[") and not closes:
            depth += 1
            found += line()
        if closes and before not in ("{", "["):
            depth -= 1
            found += line()
        found += {",": comma, ":": colon}.get(token, token)
        before = token
        if token == ",":
            found += line()
    return found


def automata(schema: object, whitespace: str | tuple[str, str]) -> tuple[TokenAutomaton, TokenAutomaton]:
    """With that white space, and with none."""
    vocabulary = byte_vocabulary()
    return (
        compile_json_schema(schema, vocabulary, whitespace=whitespace),
        compile_json_schema(schema, vocabulary, whitespace="compact"),
    )


def stripped(text: str) -> str:
    return "".join(_TOKEN.findall(text))


def changed(text: str, source: random.Random) -> str:
    """``text`` with a piece of white space more, less or other somewhere."""
    place = source.randrange(len(text) + 1)
    return text[:place] + source.choice(["", " ", "\n", "\n  ", "\t"]) + text[place + source.randint(0, 2) :]


@pytest.mark.parametrize("whitespace", LAYOUTS)
def test_a_text_is_accepted_exactly_in_its_layout(whitespace):
    source, compared, refused = random.Random(str(whitespace)), 0, 0
    for _ in range(40):
        schema = random_schema(source, 2020)
        try:
            exact, compact = automata(schema, whitespace)
        except SchemaError:
            continue
        for seed in range(4):
            bare = compact.sample(seed, max_bytes=400)
            text = laid_out(bare, whitespace)
            assert exact.accepts(text), (schema, text)
            compared += 1
            for _ in range(8):
                other = changed(text, source)
                bare = stripped(other)
                expected = compact.accepts(bare) and other == laid_out(bare, whitespace)
                assert exact.accepts(other) == expected, (schema, other)
                refused += not expected
    assert compared > 60
    assert refused > 60


@pytest.mark.parametrize("whitespace", LAYOUTS)
def test_what_is_sampled_is_what_python_writes(whitespace):
    exact, _ = automata(TREE, whitespace)
    for seed in range(40):
        text = exact.sample(seed)
        assert text == laid_out(stripped(text), whitespace)
        assert json.loads(text) == json.loads(stripped(text))


@pytest.mark.parametrize("whitespace", LAYOUTS)
def test_a_tree_of_any_depth_is_accepted(whitespace):
    exact, _ = automata(TREE, whitespace)
    tree = {"name": "leaf", "children": [], "set": ["b", "a"]}
    for _ in range(40):
        tree = {"name": "node", "children": [tree, {"name": "leaf"}]}
    text = dumped(tree, whitespace)
    assert exact.accepts(text)
    where = text.rindex("leaf") - 1
    assert exact.check(text[:where] + " " + text[where:]).at == where


@pytest.mark.parametrize("whitespace", LAYOUTS)
def test_distance_falls_with_some_token_wherever_a_text_is(whitespace):
    vocabulary = byte_vocabulary()
    trees = {"type": "array", "items": {"$ref": "#/$defs/tree"}, "minItems": 2, "contains": {"required": ["set"]}}
    schema = {
        "type": "object",
        "properties": {"list": trees, "map": {"type": "object", "minProperties": 2}},
        "required": ["list", "map"],
        "$defs": DEFINED,
    }
    automaton = compile_json_schema(schema, vocabulary, whitespace=whitespace)
    source, row = random.Random(1), np.empty(vocabulary.masks.rows.shape[1], np.int32)
    looked_at = 0
    with automaton.matcher() as matcher:
        for _ in range(6):
            state = matcher.start
            for _ in range(60):
                matcher.fill_mask(state, row)
                tokens = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
                following = [matcher.advance(state, int(token)) for token in tokens]
                assert min(map(matcher.distance, following)) < matcher.distance(state)
                looked_at += 1
                state = source.choice(following)
                if state <= 0:
                    break
    assert looked_at > 60


def test_an_answer_in_lines_is_finished_within_its_distance():
    vocabulary = byte_vocabulary()
    automaton = compile_json_schema(TREE, vocabulary, whitespace="indent:3")
    row = np.empty(vocabulary.masks.rows.shape[1], np.int32)
    with automaton.matcher() as matcher:
        state, budget, source = matcher.start, matcher.distance(matcher.start) + 60, random.Random(2)
        while not matcher.is_accepting(state):
            budget -= 1
            assert matcher.fill_mask_within(state, row, budget)
            tokens = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
            state = matcher.advance(state, int(source.choice(tokens)))
        assert budget >= 0


def test_a_vocabulary_without_line_feeds_knows_no_distance():
    pieces = [bytes([byte]) for byte in range(256) if byte != 0x0A] + [b"\n ", b""]
    vocabulary = TokenVocabulary.from_bytes(pieces, [len(pieces) - 1])
    schema = {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}
    known = compile_json_schema(schema, vocabulary, whitespace="compact").distance
    assert compile_json_schema(schema, vocabulary, whitespace="indent:1").distance > 1 << 20 > known


@pytest.mark.parametrize(
    "whitespace",
    [
        "indent",
        "indent:",
        "indent:-1",
        "indent:1.5",
        "indent: 2",
        "indent:1234567890",
        "tabs",
        "",
        None,
        2,
        (",",),
        (",", ":", ":"),
        (":", ","),
        (",,", ":"),
        (", ", ": \u00a0"),
        (",", "="),
        (1, 2),
        {",": ":"},
    ],
)
def test_white_space_has_named_values_and_pairs_only(whitespace):
    with pytest.raises(InvalidGrammar, match="whitespace") as caught:
        compile_json_schema(True, byte_vocabulary(), whitespace=whitespace)
    assert isinstance(caught.value, ValueError)


def test_more_white_space_than_is_held_is_a_limit():
    with pytest.raises(GrammarLimitExceeded, match="indent by fewer"):
        compile_json_schema(TREE, byte_vocabulary(), whitespace="indent:999999999")
    with pytest.raises(GrammarLimitExceeded, match="shorten"):
        compile_json_schema(TREE, byte_vocabulary(), whitespace=(" " * (1 << 20) + ",", ":"))


@pytest.mark.parametrize("whitespace", ["indent:2", (", ", ": ")])
def test_what_was_saved_keeps_its_layout(tmp_path, whitespace):
    vocabulary = byte_vocabulary()
    compile_json_schema(TREE, vocabulary, whitespace=whitespace).save(tmp_path / "tree")
    found = TokenAutomaton.load(tmp_path / "tree", vocabulary)
    value = {"name": "a", "children": [{"name": "b"}]}
    assert found.accepts(dumped(value, whitespace))
    assert not found.accepts(json.dumps(value, separators=(" ,", ":")))
