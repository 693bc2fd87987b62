"""``structgen inspect``: what is allowed along a text, and the picture of an automaton."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tokenizers import Tokenizer
from vocabularies import bytewise

from structgen.cli.automaton_graph import Graph, explore
from structgen.grammars import TokenVocabulary, compile_choice, compile_gbnf, compile_regex

Run = Callable[..., tuple[int, str, str]]
Error = Callable[..., str]

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
LARK = 'start: WORD ("," WORD)*\nWORD: /[a-z]+/'


@pytest.fixture
def city(tmp_path: Path) -> Path:
    path = tmp_path / "city.json"
    path.write_text(json.dumps(CITY))
    return path


def test_each_token_is_shown_with_what_was_allowed_before_it(structgen: Run, city: Path):
    status, stdout, stderr = structgen("inspect", city, "--option", "whitespace=compact", "--text", '{"city":"O"}')
    assert (status, stderr) == (0, "")
    heading, *rows, verdict = stdout.splitlines()
    assert heading.split() == ["BYTE", "TOKEN", "ALLOWED", "WHERE"]
    assert rows[0].split() == ["0", "'{'", "1", "forced", "the", "schema"]
    assert rows[9].split()[:2] == ["9", "'O'"]
    assert rows[9].endswith("#/properties/city")
    assert "forced" not in rows[9]
    assert rows[-1].split()[:5] == ["12", "(end)", "1", "may", "end"]
    assert verdict == "--text: accepted"


def test_a_text_that_leaves_the_language_is_shown_up_to_there(structgen: Run, tmp_path: Path):
    path = tmp_path / "words.lark"
    path.write_text(LARK)
    status, stdout, _ = structgen("inspect", path, "--text", "a,B")
    *rows, verdict = stdout.splitlines()
    assert status == 1
    assert rows[-1].split() == ["2", "'B'", "26", "not", "allowed", "start"]
    assert verdict == "--text: byte 2 (line 1, column 3): 'B' cannot come here; expected a letter a to z; under start"


def test_a_text_that_ends_too_soon_cannot_end(structgen: Run):
    status, stdout, _ = structgen("inspect", "--regex", "[0-9]{3}", "--text", "12")
    assert status == 1
    assert stdout.splitlines()[-2].split()[:5] == ["2", "(end)", "10", "cannot", "end"]


def test_tokens_are_those_of_the_tokenizer(structgen: Run, tiny_folder: Path):
    text = '{"city": "Stockholm"}'
    arguments = ["--regex", "(?s:.)*", "--tokenizer", tiny_folder, "--text", text, "--json"]
    status, stdout, _ = structgen("inspect", *arguments)
    found = json.loads(stdout)
    tokens = Tokenizer.from_file(str(tiny_folder / "tokenizer.json")).encode(text).tokens
    assert status == 0
    assert "".join(step["token"] for step in found["tokens"][:-1]) == text
    assert len(found["tokens"]) == len(tokens) + 1
    assert found["tokens"][-1]["is_allowed"] is True
    assert found["verdict"]["accepted"] is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--regex", "a"], "say what to show: --text TEXT, or --svg OUT"),
        (["--regex", "a", "--json", "--svg", "-"], "--json is about the tokens of a text"),
        (["--text", "a"], "give a file of a JSON Schema"),
        (["--regex", "a", "--svg", "/no/such/folder/a.svg"], "/no/such/folder/a.svg: cannot be written"),
    ],
)
def test_a_question_that_is_none_says_so(error_of: Error, arguments: list[str], message: str):
    assert message in error_of("inspect", *arguments)


def test_the_picture_of_a_finite_automaton_has_all_of_it(structgen: Run, tmp_path: Path):
    out = tmp_path / "picture.svg"
    status, _, stderr = structgen("inspect", "--regex", "a+(b|c<é>)[x-z]{2,3}", "--svg", out)
    assert status == 0
    assert stderr == f"{out}: 6 states, 6 edges, which is all of it\n"
    root = ElementTree.fromstring(out.read_text(encoding="utf-8"))
    texts = ["".join(one.itertext()) for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"'b'  'c<é>'", "[x-z]", "'a'"} <= set(texts)
    circles = list(root.iter("{http://www.w3.org/2000/svg}circle"))
    assert len(circles) == 6 + 2  # the last two states have a second border


def test_a_picture_that_is_cut_says_so(structgen: Run, tmp_path: Path):
    path, out = tmp_path / "deep.gbnf", tmp_path / "deep.svg"
    path.write_text('root ::= "(" root ")" | "x"')
    _, _, stderr = structgen("inspect", path, "--svg", out, "--states", "7")
    assert "7 states" in stderr
    assert "of them lead on to more (--states)" in stderr
    assert "cut: " in out.read_text()
    assert 'class="state cut"' in out.read_text()


PATTERNS = ["(?s:.)*", r'[^"\\]*', "(foo|bar|[α-ω]+)*", r"[0-9]{1,3}([.][0-9]{1,3}){3}", "[🎉-🎊]é|[¡-ÿ] x"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_edges_accept_what_the_automaton_accepts(pattern: str):
    """Of random texts, half of them with a character that may be wrong."""
    automaton = compile_regex(pattern, bytewise())
    graph = explore(automaton, 50)
    assert not any(node.is_cut for node in graph.nodes)
    source, verdicts = random.Random(0), set()
    for seed in range(200):
        text = automaton.sample(seed, max_bytes=60)
        if seed % 2:
            place = source.randint(0, len(text))
            text = text[:place] + source.choice('xé🎉"\\ω1') + text[place + 1 :]
        assert accepts(graph, text) is automaton.accepts(text), text
        verdicts.add(automaton.accepts(text))
    assert verdicts == ({True} if pattern == PATTERNS[0] else {True, False})


def accepts(graph: Graph, text: str) -> bool:
    """Whether labels along some way from the start spell ``text``; they are read as patterns."""
    reached = {(0, 0)}
    for number, place in (waiting := [(0, 0)]):
        for edge in graph.edges:
            for label in edge.labels if edge.source == number else ():
                found = pattern_of(label).match(text, place)
                if found and (edge.target, found.end()) not in reached:
                    reached.add((edge.target, found.end()))
                    waiting.append((edge.target, found.end()))
    return any(place == len(text) and graph.nodes[number].is_accepting for number, place in reached)


def pattern_of(label: str) -> re.Pattern[str]:
    """Of ``'text'``, ``any``, ``[a-z]``, or one of the latter and a text."""
    kind, text = (label, "") if label[-1] != "'" else label.removesuffix("'").rsplit("'", 1)
    return re.compile(kind.strip().replace("any", ".").replace("␣", " ") + re.escape(text), re.DOTALL)


def test_keys_that_are_remembered_letter_by_letter_are_cut(structgen: Run, tmp_path: Path):
    """Every character of an undeclared key leads to a state of its own."""
    path, out = tmp_path / "any.json", tmp_path / "any.svg"
    path.write_text(json.dumps({"type": "object", "required": ["city"]}))
    status, _, stderr = structgen("inspect", path, "--svg", out)
    assert status == 0
    assert "60 states" in stderr
    assert "of them lead on to more" in stderr


def test_special_tokens_are_edges_of_their_own():
    vocabulary = TokenVocabulary([*([bytes([byte]) for byte in range(256)]), b"", b""], [256], {257: "<|tool|>"})
    graph = explore(compile_gbnf('root ::= "a" <|tool|> "b"', vocabulary), 10)
    assert [edge.labels for edge in graph.edges] == [("'a'",), ("<|tool|>",), ("'b'",)]


def test_what_must_follow_is_one_edge():
    graph = explore(compile_choice(["true", "false", "null"], bytewise()), 10)
    assert {label for edge in graph.edges for label in edge.labels} == {"'true'", "'false'", "'null'"}
    assert len(graph.nodes) == 1 + len({edge.target for edge in graph.edges})
