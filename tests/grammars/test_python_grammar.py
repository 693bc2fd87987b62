"""Lark's own grammar of Python, indentation included, over files of the standard library."""

from __future__ import annotations

import random
import sysconfig
from pathlib import Path

import lark
import numpy as np
import pytest
from lark.indenter import PythonIndenter
from vocabularies import bytewise, longest_first, reads

from structgen._compiled.store import Place
from structgen.grammars import TokenAutomaton, compile_lark
from structgen.grammars.lark import kept

GRAMMAR = (Path(lark.__file__).parent / "grammars" / "python.lark").read_text()
FILES = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"), key=lambda path: (path.stat().st_size, path.name))
FILES = [path for path in FILES if path.stat().st_size][:50]
PIECES = bytewise(
    b"\n    ", b"\n\n", b"    ", b"        ", b":\n", b" =", b"def ", b"return", b"self", b"import", b"):\n"
)


@pytest.fixture(scope="module")
def automaton() -> TokenAutomaton:
    return compile_lark(GRAMMAR, PIECES, start="file_input", postlex=PythonIndenter(), timeout=500)


@pytest.fixture(scope="module")
def theirs() -> lark.Lark:
    return lark.Lark(GRAMMAR, parser="lalr", start="file_input", postlex=PythonIndenter())


def parses(parser: lark.Lark, text: str) -> bool:
    try:
        parser.parse(text)
    except (lark.exceptions.LarkError, IndexError):  # the latter where a comment without a line feed ends the text
        return False
    return True


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_of_the_standard_library_is_taken_as_lark_takes_it(path, automaton, theirs):
    """Whole and byte by byte, and with a line indented otherwise, or a character more or less."""
    text, source = path.read_text(), random.Random(path.name)
    assert automaton.accepts(text) is parses(theirs, text)
    if automaton.accepts(text):
        assert reads(automaton, longest_first(text.encode(), PIECES))
    lines = text.splitlines(keepends=True)[:120]
    for _ in range(3):
        broken, at = list(lines), source.randrange(len(lines))
        broken[at] = source.choice([" " + broken[at], broken[at][1:], broken[at].replace(")", "", 1), "\n", "  x\n"])
        assert automaton.accepts("".join(broken)) is parses(theirs, "".join(broken))


def test_grammars_read_from_disk_share_what_a_vocabulary_knows_of_their_terminals(tmp_path, monkeypatch):
    monkeypatch.setenv("STRUCTGEN_CACHE", str(tmp_path))
    monkeypatch.setattr(kept, "_WORTH_KEEPING", 0.0)
    grammar = "start: (NAME | NUMBER)+\nNAME: /[a-z]+[0-9]*/\nNUMBER: /[0-9]+/\n%ignore /\\s+/"
    row, known = np.empty(PIECES.masks.rows.shape[1], np.int32), list[int]()
    automata = [compile_lark(grammar, PIECES)]  # held, so that what it knows stays
    for _ in range(3):
        automata.append(compile_lark(grammar, PIECES))
        with automata[-1].matcher() as matcher:
            for text in (b"", b"a", b"a1", b"1", b"a "):
                matcher.fill_mask(matcher.advance_bytes(matcher.start, text), row)
        known.append(PIECES.interiors.nbytes)
    assert (tmp_path / "compiled").exists()
    assert known[0] == known[2]


def test_a_grammar_that_took_long_is_found_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("STRUCTGEN_CACHE", str(tmp_path))
    grammar = "start: (NAME | NUMBER)+\nNAME: /[a-z]+/\nNUMBER: /[0-9]+/\n%ignore /\\s+/"
    monkeypatch.setattr(kept, "_WORTH_KEEPING", 0.0)
    texts = ["a 1 b", "ab12", "", "a!", "7"]
    first = [compile_lark(grammar, PIECES).accepts(text) for text in texts]
    (file,) = (tmp_path / "compiled").glob("*.grammar")
    assert first == [True, True, False, False, True]

    def refuse(*_: object) -> None:
        raise AssertionError("compiled again")

    with monkeypatch.context() as patched:
        patched.setattr("structgen.grammars.lark.building.build_rule", refuse)
        again = compile_lark(grammar, PIECES)
        assert [again.accepts(text) for text in texts] == first
        assert again.distance == 1
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert [compile_lark(grammar, PIECES).accepts(text) for text in texts] == first
    assert Place(file.stem.removeprefix("structgen-"), "grammar").read() is not None
