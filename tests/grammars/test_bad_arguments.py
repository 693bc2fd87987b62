"""Arguments that no front end or matcher takes: each ends in an error that says so."""

from __future__ import annotations

import hashlib
import json
import time

import numpy as np
import pytest

from structgen.errors import GrammarError, GrammarLimitExceeded, InvalidGrammar, InvalidSchema
from structgen.grammars import TokenAutomaton, compile_choice, compile_json_schema, compile_regex
from structgen.grammars.sampling import byte_vocabulary

BYTES = byte_vocabulary()
HUGE = 2**70


@pytest.mark.parametrize(
    "options",
    [
        *({"registry": one} for one in (1, [], "abc", {1: {}}, {"http://x": 1})),
        {"default_dialect": 1},
        {"timeout": 10**400},
        {"max_states": 10**400},
    ],
    ids=repr,
)
def test_a_wrong_option_is_an_invalid_grammar(options):
    with pytest.raises(InvalidGrammar):
        compile_json_schema({}, BYTES, **options)


@pytest.mark.parametrize("texts", [1, None, np.array(["a"]), {"a"}, (one for one in "ab")], ids=repr)
def test_what_is_no_sequence_of_texts_is_no_choice(texts):
    with pytest.raises(InvalidGrammar, match="a list or a tuple"):
        compile_choice(texts, BYTES)


def test_a_choice_in_a_tuple_can_be_saved(tmp_path):
    compile_choice(("a", "b"), BYTES).save(tmp_path / "choice.json")
    assert TokenAutomaton.load(tmp_path / "choice.json", BYTES).accepts("b")


def test_a_long_choice_keeps_its_time_limit():
    started = time.monotonic()
    with pytest.raises(GrammarLimitExceeded, match="timeout"):
        compile_choice(["a" * 1_000_000], BYTES, timeout=0.3)
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("text", [1, [34], None])
def test_what_is_no_text_is_a_type_error(text):
    automaton = compile_choice(["a"], BYTES)
    for method in (automaton.accepts, automaton.check, automaton.ending):
        with pytest.raises(TypeError, match="a text is a str or bytes"):
            method(text)


@pytest.mark.parametrize("number", [HUGE, -HUGE])
def test_numbers_of_over_64_bits_are_no_states_and_no_tokens(number):
    with compile_choice(["ab"], BYTES).matcher() as matcher:
        rows = np.zeros((1, 9), np.int32)
        for wrong in (
            lambda: matcher.advance(number, 1),
            lambda: matcher.advance(matcher.start, number),
            lambda: matcher.advance_bytes(number, b"a"),
            lambda: matcher.fill_mask(number, rows[0]),
            lambda: matcher.fill_masks([number], rows),
            lambda: matcher.fill_mask_within(number, rows[0], 5),
            lambda: matcher.mask_row(number),
            lambda: matcher.distance(number),
        ):
            with pytest.raises(ValueError, match="is not"):
                wrong()


def test_a_budget_of_over_64_bits_is_any():
    with compile_choice(["ab"], BYTES).matcher() as matcher:
        row, whole = np.zeros(9, np.int32), np.zeros(9, np.int32)
        assert matcher.fill_mask_within(matcher.start, row, HUGE)
        matcher.fill_mask(matcher.start, whole)
        assert row.tolist() == whole.tolist()
        assert not matcher.fill_mask_within(matcher.start, row, -HUGE)


@pytest.mark.parametrize(
    "change",
    [
        {"options": 1},
        {"options": {"no_such_option": 1}},
        {"front_end": None},
        {"vocabulary": None},
        {"vocabulary": {}},
        {"source": ...},
        {"options": ...},
    ],
    ids=repr,
)
def test_a_file_that_lacks_something_is_refused(tmp_path, change):
    path = tmp_path / "automaton.json"
    compile_regex("ab", BYTES).save(path)
    content = {name: value for name, value in (json.loads(path.read_text()) | change).items() if value is not ...}
    content.pop("sha256")
    content["sha256"] = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    path.write_text(json.dumps(content))
    with pytest.raises(GrammarError):
        TokenAutomaton.load(path, BYTES)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("place", [lambda one: {"const": one}, lambda one: {"enum": [1, {"a": [one]}]}])
def test_a_number_that_json_cannot_write_is_no_value(number, place):
    with pytest.raises(InvalidSchema):
        compile_json_schema(place(number), BYTES)


@pytest.mark.parametrize("index", ["01", "00", "\u0661", "-0", "9" * 5000])
def test_an_index_in_a_pointer_is_written_in_one_way(index):
    schema = {"$defs": {"a": {"anyOf": [{}, {"type": "string"}]}}, "$ref": f"#/$defs/a/anyOf/{index}"}
    with pytest.raises(InvalidSchema, match="names nothing"):
        compile_json_schema(schema, BYTES)
