"""``structgen check``: what compiles and what does not, what is accepted and where not, for people and machines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel
from tokenizers.models import BPE
from vocabularies import bytewise

from structgen.grammars import compile_json_schema

Run = Callable[..., tuple[int, str, str]]
Error = Callable[..., str]

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "tags": {"type": "array", "items": {"enum": ["red", "green", 3]}},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}


@pytest.fixture
def person(tmp_path: Path) -> Path:
    return write(tmp_path / "person.json", json.dumps(PERSON))


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_schema_that_compiles_says_what_it_costs(structgen: Run, person: Path):
    status, stdout, stderr = structgen("check", person)
    assert (status, stderr) == (0, "")
    (line,) = stdout.splitlines()
    assert line.startswith(f"{person}: compiles in ")
    for what in ("first mask in ", "(257 tokens)", " states", " rules", "1 mask,", " KiB"):
        assert what in line


def test_a_schema_that_does_not_compile_says_where_and_why(structgen: Run, tmp_path: Path):
    schema = {"properties": {"a/b": {"$ref": "#/$defs/none"}}}
    status, stdout, stderr = structgen("check", write(tmp_path / "s.json", json.dumps(schema)))
    assert (status, stderr) == (1, "")
    (line,) = stdout.splitlines()
    assert line.startswith(
        f"{tmp_path / 's.json'}: InvalidSchema at /properties/a~1b/$ref: '#/$defs/none' names nothing"
    )


def test_a_valid_instance_is_accepted(structgen: Run, person: Path, tmp_path: Path):
    status, stdout, _ = structgen("check", person, write(tmp_path / "ann.json", '{"name": "Ann", "age": 3}\n'))
    assert status == 0
    cost, verdict = stdout.splitlines()
    assert cost.startswith(f"{person}: compiles in ")
    assert verdict.startswith(f"{tmp_path / 'ann.json'}: accepted; 26 masks on the way in ")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            '{"name": "x"}',
            [
                "byte 12 (line 1, column 13): '}' cannot come here; expected ',' or white space",
                "'age' is a required property; this would end it: ,\"age\":0}",
            ],
        ),
        (
            '{"name": "x", "age": 3, "tags": ["red", "blue"]}',
            [
                "byte 41 (line 1, column 42): 'b' cannot come here; expected 'g' or 'r'; in /tags/1 under #/",
                "'blue' is not one of ['red', 'green', 3] (at /tags/1); this would end it: red\"]}",
            ],
        ),
        (
            '{"age": 3, "name": "x"}',
            [
                "byte 2 (line 1, column 3): 'a' cannot come here; expected 'n'",
                "the value is valid, but not written as structgen writes: order of keys, white space, spelling",
            ],
        ),
        (
            '{"name": "x",\n "age": ',
            ["byte 22 (line 2, column 9): the text ends too soon; expected '-' or a digit", "this would end it: 0}"],
        ),
    ],
)
def test_what_is_not_accepted_says_where_and_why(structgen: Run, person: Path, tmp_path: Path, text, lines):
    status, stdout, stderr = structgen("check", person, write(tmp_path / "i.json", text))
    assert (status, stderr) == (1, "")
    _, where, why = stdout.splitlines()
    assert where.startswith(f"{tmp_path / 'i.json'}: {lines[0]}")
    assert why == f"  {lines[1]}"


def test_the_readmes_example_is_what_is_printed(structgen: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    (schema,) = re.findall(r"echo '(.*)' > city\.json", readme)
    (example,) = re.findall(r"```text\n(answer\.json: .*?)```", readme, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    write(Path("city.json"), schema)
    write(Path("answer.json"), "{}\n")
    status, stdout, _ = structgen("check", "city.json", "answer.json")
    assert status == 1
    assert stdout.split("\n", 1)[1] == example


def test_files_may_come_from_standard_input(structgen: Run, person: Path, tmp_path: Path):
    assert structgen("check", person, "-", stdin='{"name": "x", "age": 1}\n')[0] == 0
    instance = write(tmp_path / "i.json", '{"name": 1}')
    status, stdout, _ = structgen("check", "-", instance, stdin=json.dumps(PERSON))
    assert status == 1
    assert stdout.startswith("standard input: compiles in ")


def test_only_a_files_last_line_feed_does_not_count(structgen: Run, tmp_path: Path):
    for content, status in (("a", 0), ("a\n", 0), ("a\n\n", 1), ("a ", 1)):
        assert structgen("check", "--regex", "a", write(tmp_path / "text", content))[0] == status
    assert structgen("check", "--regex", "a", "--text", "a")[0] == 0
    assert structgen("check", "--regex", "a", "--text", "a\n")[0] == 1


def test_a_pattern_takes_the_place_of_a_schema(structgen: Run, tmp_path: Path):
    status, stdout, _ = structgen("check", "--regex", "[a-z]+", write(tmp_path / "text", "abC"))
    assert status == 1
    cost, verdict = stdout.splitlines()
    assert cost.startswith("--regex [a-z]+: compiles in ")
    assert "byte 2 (line 1, column 3): 'C' cannot come here; expected a letter a to z or the end" in verdict
    status, stdout, _ = structgen("check", "--regex", "(")
    assert (status, stdout.splitlines()[0][:24]) == (1, "--regex (: InvalidRegex:")


def test_samples_alone_go_to_standard_output(structgen: Run, person: Path):
    status, stdout, stderr = structgen("check", person, "--sample", "5", "--seed", "7")
    assert status == 0
    assert stderr.startswith(f"{person}: compiles in ")
    automaton = compile_json_schema(PERSON, bytewise())
    assert stdout == "".join(f"{automaton.sample(seed)}\n" for seed in range(7, 12))


def test_machines_get_one_object(structgen: Run, person: Path, tmp_path: Path):
    instance = write(tmp_path / "i.json", '{"name": "\u00e9", "age": x}')
    status, stdout, stderr = structgen("check", person, instance, "--json", "--sample", "2")
    assert (status, stderr) == (1, "")
    found = json.loads(stdout)
    assert found["compiles"] is True
    assert found["vocabulary"] == 257
    assert found["bytes"] > 0 < found["states"]
    assert found["compile_ms"] > 0 < found["first_mask_ms"]
    assert len(found["samples"]) == 2
    verdict = found["instance"]
    assert (verdict["accepted"], verdict["at"], verdict["column"], verdict["found"]) == (False, 22, 22, "x")
    assert bytes(verdict["expected"]) == b"-0123456789"
    assert verdict["ending"] == "0}"
    assert len(verdict["mask_ms"]) == 23


def test_machines_get_the_error_in_parts(structgen: Run, tmp_path: Path):
    schema = write(tmp_path / "s.json", '{"properties": {"a": {"type": "text"}}}')
    status, stdout, _ = structgen("check", schema, "--json")
    assert status == 1
    found = json.loads(stdout)
    assert found["compiles"] is False
    assert (found["error"]["type"], found["error"]["pointer"]) == ("InvalidSchema", "/properties/a/type")


def test_options_reach_the_compiler(structgen: Run, error_of: Error, tmp_path: Path):
    schema = write(tmp_path / "s.json", '{"type": "number"}')
    assert structgen("check", schema, "--text", "1e0")[0] == 1
    assert structgen("check", schema, "--text", "1e0", "--option", "numbers=any")[0] == 0
    status, stdout, _ = structgen("check", schema, "--option", "timeout=0")
    assert status == 1
    assert "GrammarLimitExceeded: compiling took longer than timeout=0 s" in stdout
    assert "takes no such options: got an unexpected keyword argument 'nmbers'" in error_of(
        "check", schema, "--option", "nmbers=any"
    )
    assert error_of("check", schema, "--option", "numbers") == "--option numbers: write it as NAME=VALUE"


def test_the_strict_subset_of_openai_is_asked_for(structgen: Run, error_of: Error, person: Path):
    status, stdout, _ = structgen("check", person, "--profile", "openai-strict")
    assert status == 1
    assert stdout.startswith(f"{person}: UnsupportedSchema at /properties/tags: 'required': every property is required")
    assert "is about schemas" in error_of("check", "--regex", "a", "--profile", "openai-strict")


def test_a_tokenizer_or_a_model_gives_the_vocabulary(structgen: Run, person: Path, tiny_folder: Path):
    for choice in (
        ["--tokenizer", tiny_folder / "tokenizer.json"],
        ["--tokenizer", tiny_folder],
        ["--model", tiny_folder],
    ):
        status, stdout, _ = structgen("check", person, "--json", "--text", '{"name": "x", "age": 1}', *choice)
        found = json.loads(stdout)
        assert status == 0
        assert found["vocabulary"] > 257


def test_what_cannot_be_read_is_one_line(error_of: Error, person: Path, tmp_path: Path):
    absent = tmp_path / "absent.json"
    assert error_of("check", absent) == f"{absent}: cannot be read: No such file or directory"
    assert error_of("check", person, absent) == f"{absent}: cannot be read: No such file or directory"
    assert "line 1, column 2: not JSON" in error_of("check", write(tmp_path / "a", "{"))
    assert "nested too deeply" in error_of("check", write(tmp_path / "a", "[" * 100_000))
    assert "too long" in error_of("check", write(tmp_path / "a", f'{{"const": {"9" * 5000}}}'))
    (tmp_path / "png").write_bytes(b"\x89PNG")
    assert (
        error_of("check", tmp_path / "png") == f"{tmp_path / 'png'}: not UTF-8 at byte 0; schemas and grammars are text"
    )
    assert error_of("check", person, "--tokenizer", absent) == f"{absent}: cannot be read: No such file or directory"
    assert "no tokenizer that can be read" in error_of("check", person, "--tokenizer", person)


def test_a_question_that_is_none_is_one_line(error_of: Error, person: Path):
    assert error_of("check").startswith("give a file of a JSON Schema")
    assert "standard input" in error_of("check", "-", "-")
    assert "give one of them" in error_of("check", person, person, "--text", "a")
    assert "give one file" in error_of("check", person, person, "--regex", "a")
    assert "give one of them" in error_of("check", person, "--model", "a", "--tokenizer", "b")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (b'{"name": "a", "age": 1, "age": 1}', "the key 'age' comes twice in one object"),
        (b'\xef\xbb\xbf{"name": "a", "age": 1}', "a byte order mark comes before the JSON; save the file without it"),
        (b'{"name": "\xff", "age": 1}', "not UTF-8 at byte 10"),
        (b'{"name": "\\ud800", "age": 1}', "half of a surrogate pair stands alone in it, which no text can have"),
        (b'{"name": 5, "age": "x", "tags": 1}', "5 is not of type 'string' (at /name)"),
        (b'{"name": "a", "age": "x", "tags": 1}', "'x' is not of type 'integer' (at /age)"),
        (
            b'{"name": "a", "age": 1, "tags": ["red", 3, "blue"]}',
            "'blue' is not one of ['red', 'green', 3] (at /tags/2)",
        ),
    ],
)
def test_the_second_line_says_what_is_wrong_there(structgen: Run, person: Path, tmp_path: Path, text: bytes, hint: str):
    instance = tmp_path / "instance.json"
    instance.write_bytes(text)
    status, stdout, _ = structgen("check", person, instance)
    assert status == 1
    assert stdout.splitlines()[2].strip().startswith(hint)


def test_formats_are_read_as_the_grammar_reads_them(structgen: Run, tmp_path: Path):
    schema = write(tmp_path / "s.json", '{"format": "date-time"}')
    _, stdout, _ = structgen("check", schema, "--text", '"soon"')
    assert "'soon' is not a 'date-time'" in stdout


def test_a_schema_may_begin_with_a_byte_order_mark_and_is_not_empty(structgen: Run, error_of: Error, tmp_path: Path):
    schema = tmp_path / "s.json"
    schema.write_bytes(b'\xef\xbb\xbf{"type": "null"}')
    assert structgen("check", schema)[0] == 0
    assert "empty" in error_of("check", write(schema, " \n"))


def test_what_the_grammar_leaves_out_is_said_and_validated(structgen: Run, tmp_path: Path):
    schema = write(tmp_path / "s.json", '{"type": "array", "items": {"type": "object"}, "uniqueItems": true}')
    status, stdout, _ = structgen("check", schema)
    assert (status, "UnsupportedSchema at /uniqueItems" in stdout) == (1, True)
    relaxed = ("check", schema, "--option", "on_unsupported=validate")
    status, stdout, stderr = structgen(*relaxed, "--text", "[{}, {}]")
    assert (status, stderr) == (1, "")
    _, left_out, refused = stdout.splitlines()
    assert left_out.strip().startswith("'uniqueItems' at /uniqueItems is not in the grammar")
    assert "refused at its end, byte 8, by the validator: [{}, {}] has non-unique elements" in refused
    status, stdout, _ = structgen(*relaxed, "--text", "[{}]", "--json")
    assert (status, json.loads(stdout)["relaxed"][0]["keyword"]) == (0, "uniqueItems")


def test_a_layout_is_an_option(structgen: Run, person: Path):
    text = json.dumps({"name": "Ann", "age": 3}, indent=2)
    asked = ("check", person, "--option", "whitespace=indent:2", "--text")
    assert structgen(*asked, text)[0] == 0
    assert structgen(*asked, text.replace("  ", " "))[0] == 1
    assert structgen("check", person, "--option", 'whitespace=[",", ":"]', "--text", '{"name":"Ann","age":3}')[0] == 0


def test_a_structural_tag_is_checked_like_a_schema(structgen: Run, error_of: Error, tmp_path: Path):
    tag = {"begin": "<call>", "content": {"type": "json_schema", "json_schema": PERSON}, "end": "</call>"}
    calls = {"type": "triggered_tags", "triggers": ["<call>"], "tags": [{"type": "tag", **tag}]}
    file = write(tmp_path / "calls.json", json.dumps({"type": "structural_tag", "format": calls}))
    text = 'Text <call>{"name": "Ann", "age": 3}</call> text'
    status, out, _ = structgen("check", file, "--text", text)
    assert status == 0
    assert "--text: accepted" in out
    status, out, _ = structgen("check", file, "--text", text.replace("age", "old"))
    assert status == 1
    assert "byte 28 (line 1, column 29): 'o' cannot come here; expected 'a'" in out
    assert "this would end it: age" in out
    older = {"triggers": ["<call>"], "structures": [{"begin": "<call>", "schema": {"type": "text"}, "end": ""}]}
    status, out, _ = structgen("check", write(tmp_path / "older.json", json.dumps(older)))
    assert status == 1
    assert "InvalidSchema at /structures/0/schema/type: " in out
    broken = write(tmp_path / "broken.json", json.dumps({"type": "structural_tag", "format": {"type": "text"}}))
    assert error_of("check", broken).startswith("structural tag, at /format/type: there is no format 'text'")


def test_a_text_of_a_grammar_with_special_tokens_is_checked_without_an_ending(structgen: Run, tmp_path: Path):
    tokenizer = Tokenizer(BPE({"a": 0, "b": 1}, []))
    tokenizer.decoder = ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<|done|>", special=True), AddedToken("</s>", special=True)])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    tag = {"type": "tag", "begin": "a", "content": {"type": "const_string", "value": "b"}}
    spec = {"type": "structural_tag", "format": tag | {"end": {"type": "token", "token": "<|done|>"}}}
    file = write(tmp_path / "calls.json", json.dumps(spec))
    status, out, _ = structgen("check", file, "--tokenizer", tmp_path, "--text", "aa")
    assert status == 1
    assert (
        out.splitlines()[-1] == "--text: byte 1 (line 1, column 2): 'a' cannot come here; expected 'b'; under #/format"
    )


def test_a_gbnf_grammar_is_checked_like_a_schema(structgen: Run, error_of: Error, tmp_path: Path):
    grammar = write(tmp_path / "sum.gbnf", 'root ::= root "+" [0-9]+ | [0-9]+\n')
    status, out, _ = structgen("check", grammar, "--text", "1+23")
    assert status == 0
    assert "--text: accepted" in out
    status, out, _ = structgen("check", grammar, "--text", "1+x")
    assert status == 1
    assert "byte 2" in out
    assert error_of("check", write(tmp_path / "wrong.gbnf", "root = 1")) == "line 1, column 6: unexpected '='"


def test_a_lark_grammar_is_checked_like_a_schema(structgen: Run, error_of: Error, tmp_path: Path):
    grammar = write(tmp_path / "sum.lark", 'start: [start "+"] INT\n%import common.INT\n%ignore " "\n')
    status, out, _ = structgen("check", grammar, "--text", "1 + 23")
    assert status == 0
    assert "--text: accepted" in out
    status, out, _ = structgen("check", grammar, "--text", "1 2")
    assert status == 1
    assert "byte 2 (line 1, column 3): '2' cannot come here" in out
    wrong = write(tmp_path / "wrong.lark", "start: 1")
    assert error_of("check", wrong).startswith(f"{wrong}, line 1, column 8: ")


def test_a_lark_grammar_may_import_from_its_folder(structgen: Run, tmp_path: Path):
    write(tmp_path / "parts.lark", "WORD: /[a-z]+/\n")
    grammar = write(tmp_path / "whole.lark", "%import .parts.WORD\nstart: WORD\n")
    assert structgen("check", grammar, "--text", "abc")[0] == 0


def test_a_grammar_of_the_library_is_checked_by_name(structgen: Run):
    status, stdout, _ = structgen("check", "library:semantic_version", "--text", "1.2.3-rc.1")
    assert status == 0
    assert stdout.splitlines()[0].startswith("library:semantic_version: compiles in ")
    status, _, stderr = structgen("check", "library:semantic")
    assert status == 2
    assert "no grammar of the library is called 'semantic'" in stderr
