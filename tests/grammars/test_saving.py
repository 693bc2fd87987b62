"""What was compiled is saved small, and compiled again; nothing else is taken for it."""

from __future__ import annotations

import stat

import pytest
import referencing
from vocabularies import BYTES

from structgen.errors import InvalidGrammar, InvalidRegex
from structgen.grammars import (
    Recipe,
    TokenAutomaton,
    TokenVocabulary,
    compile_choice,
    compile_json_schema,
    compile_regex,
)
from structgen.grammars.expr import Rule, literal
from structgen.grammars.recipe import taken
from structgen.grammars.saving import fingerprint


@pytest.fixture(scope="module")
def vocabulary():
    return TokenVocabulary([*BYTES, b"", b""], [256], {257: "<|call|>"})


@pytest.fixture
def automaton(vocabulary):
    schema = {"type": "object", "properties": {"größe": {"enum": ["\ud800", 1.5]}}, "additionalProperties": False}
    return compile_json_schema(schema, vocabulary, numbers="any", max_bytes=1 << 20)


@pytest.mark.parametrize(
    ("compile_grammar", "source"),
    [
        (compile_choice, ["yes", "no", "日本"]),
        (compile_regex, "[a-z]+é"),
        (compile_json_schema, {"type": "array", "items": {"type": "boolean"}}),
    ],
)
def test_what_is_loaded_is_what_was_saved(vocabulary, tmp_path, compile_grammar, source):
    saved = compile_grammar(source, vocabulary)
    saved.save(tmp_path / "grammar.json")
    loaded = TokenAutomaton.load(tmp_path / "grammar.json", vocabulary)
    assert loaded.recipe == saved.recipe
    assert [loaded.sample(seed) for seed in range(5)] == [saved.sample(seed) for seed in range(5)]


def test_options_and_lasting_limits_are_kept(automaton, vocabulary, tmp_path):
    automaton.save(tmp_path / "grammar.json")
    recipe = TokenAutomaton.load(str(tmp_path / "grammar.json"), vocabulary).recipe
    assert recipe is not None
    source, options = recipe.source_and_options()
    assert options == {"numbers": "any", "max_bytes": 1 << 20}
    assert source["properties"]["größe"]["enum"] == ["\ud800", 1.5]


def test_a_recipe_does_not_change_with_the_callers_schema(vocabulary):
    schema = {"enum": [1]}
    automaton = compile_json_schema(schema, vocabulary)
    schema["enum"].append(2)
    assert automaton.recipe == Recipe("json_schema", taken({"enum": [1]}, {}))
    assert automaton.recipe.text == '[{"enum": [1]}, {}]'
    assert automaton.recipe.compile(vocabulary).accepts("1")
    assert not automaton.recipe.compile(vocabulary).accepts("2")


class Pattern(str):
    """No plain string, but written as one."""


def test_a_recipe_of_a_subclass_is_that_of_the_plain_value(vocabulary):
    assert compile_regex(Pattern("a+"), vocabulary).recipe == compile_regex("a+", vocabulary).recipe


@pytest.mark.parametrize("odd", [b"bytes", {1}, 1j, [object()]])
def test_what_json_has_no_word_for_is_no_recipe(odd):
    recipe = Recipe("regex", taken(odd, {}))
    assert recipe.text is None
    with pytest.raises(InvalidGrammar, match="no plain data"):
        recipe.source_and_options()


def test_positional_options_are_in_the_recipe(vocabulary):
    draft_7 = "http://json-schema.org/draft-07/schema"
    by_place = compile_json_schema({"type": "null"}, vocabulary, draft_7, None, "schema", "any")
    by_name = compile_json_schema(
        schema={"type": "null"}, vocabulary=vocabulary, default_dialect=draft_7, numbers="any"
    )
    assert by_place.recipe is not None
    assert by_place.recipe.source_and_options() == (
        {"type": "null"},
        {"default_dialect": draft_7, "property_order": "schema", "numbers": "any"},
    )
    assert by_name.recipe is not None
    assert by_name.recipe.source_and_options() == ({"type": "null"}, {"default_dialect": draft_7, "numbers": "any"})


@pytest.mark.parametrize(
    "other",
    [
        TokenVocabulary([*BYTES, b"", b"", b"ab"], [256], {257: "<|call|>"}),
        TokenVocabulary([*BYTES[1:], b"\x00", b"", b""], [256], {257: "<|call|>"}),
        TokenVocabulary([*BYTES, b"", b""], [257], {256: "<|call|>"}),
        TokenVocabulary([*BYTES, b"", b""], [256], {257: "<|tool|>"}),
    ],
)
def test_another_vocabulary_is_refused(automaton, vocabulary, tmp_path, other):
    path = tmp_path / "grammar.json"
    automaton.save(path)
    assert fingerprint(other) != fingerprint(vocabulary)
    with pytest.raises(InvalidGrammar, match=f"{path}: compiled for another vocabulary, of 258 tokens"):
        TokenAutomaton.load(path, other)


def test_a_file_that_is_cut_anywhere_is_refused(automaton, vocabulary, tmp_path):
    path = tmp_path / "grammar.json"
    automaton.save(path)
    whole = path.read_bytes()
    for length in range(0, len(whole) - 1, 7):
        path.write_bytes(whole[:length])
        with pytest.raises(InvalidGrammar, match=r"grammar\.json: no saved automaton, or a truncated one"):
            TokenAutomaton.load(path, vocabulary)


def test_a_file_that_was_changed_is_refused(automaton, vocabulary, tmp_path):
    path = tmp_path / "grammar.json"
    automaton.save(path)
    path.write_text(path.read_text().replace("1.5", "2.5"))
    with pytest.raises(InvalidGrammar, match="changed or damaged"):
        TokenAutomaton.load(path, vocabulary)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "no saved automaton"),
        ('{"a": 1}', "no saved automaton"),
        ('{"format": "structgen automaton 9"}', "'structgen automaton 9'"),
        ("\x89PNG", "no saved automaton"),
        ("[" * 100_000, "no saved automaton"),
    ],
)
def test_a_file_of_something_else_is_refused(vocabulary, tmp_path, content, message):
    path = tmp_path / "grammar.json"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(InvalidGrammar, match=message):
        TokenAutomaton.load(path, vocabulary)
    with pytest.raises(InvalidGrammar, match=r"absent\.json: cannot be read: No such file"):
        TokenAutomaton.load(tmp_path / "absent.json", vocabulary)


def test_a_failed_save_leaves_what_was_there(automaton, tmp_path, monkeypatch):
    path = tmp_path / "grammar.json"
    path.write_text("old")

    def fail(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        automaton.save(path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["grammar.json"]


def test_a_saved_file_can_be_read_by_whom_the_umask_allows(automaton, tmp_path):
    (tmp_path / "plain").write_text("")
    automaton.save(tmp_path / "grammar.json")
    assert (tmp_path / "grammar.json").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert not (tmp_path / "grammar.json").stat().st_mode & stat.S_IXUSR


def test_what_no_front_end_made_cannot_be_saved(vocabulary, tmp_path):
    with pytest.raises(InvalidGrammar, match="made from rules"):
        TokenAutomaton(Rule("a", lambda: literal(b"a")), vocabulary).save(tmp_path / "grammar.json")


def test_what_is_no_plain_data_cannot_be_saved(vocabulary, tmp_path):
    automaton = compile_json_schema({"type": "null"}, vocabulary, registry=referencing.Registry())
    with pytest.raises(InvalidGrammar, match="no plain data"):
        automaton.save(tmp_path / "grammar.json")
    assert not list(tmp_path.iterdir())


def test_a_source_that_this_version_refuses_says_why(vocabulary, tmp_path, automaton):
    from structgen.grammars.saving import write_recipe

    write_recipe(tmp_path / "grammar.json", Recipe("regex", taken("(", {})), vocabulary)
    with pytest.raises(InvalidRegex):
        TokenAutomaton.load(tmp_path / "grammar.json", vocabulary)
