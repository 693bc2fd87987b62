"""What the command line is given as a grammar and as a vocabulary: files, patterns, names of models."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from structgen.engine.request import GrammarSpec
from structgen.errors import InvalidRequest

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from structgen.grammars import TokenVocabulary

__all__ = ["NamedGrammar", "Tokens", "open_tokens", "read_file", "read_grammar"]

_LIBRARY = "library:"


class NamedGrammar(NamedTuple):
    """A grammar, and what people call it."""

    name: str
    spec: GrammarSpec


class Tokens(NamedTuple):
    """A vocabulary, and the tokenizer that it is of; single bytes have none."""

    vocabulary: TokenVocabulary
    tokenizer: Tokenizer | None


def read_grammar(file: str | None, regex: str | None, options: list[str]) -> NamedGrammar:
    """The grammar of a file of a schema or structural tag, of ``NAME.gbnf``, ``.ebnf`` or ``.lark``, or of a pattern.

    Parameters
    ----------
    file : str or None
        Its name, ``"-"`` for standard input, or ``"library:NAME"`` for one of `structgen.grammars.library`.
    regex : str or None
        A pattern, in place of a file.
    options : list of str
        Of the compiler, each as ``name=value``.

    Raises
    ------
    InvalidRequest
        There is neither, an option is no such thing, or the file cannot be read.
    InvalidGrammar
        The library has none of that name.
    """
    given = dict(map(_option, options))
    if regex is not None:
        return NamedGrammar(f"--regex {regex}", GrammarSpec("regex", regex, given))
    if file is None:
        raise InvalidRequest("give a file of a JSON Schema, '-' for standard input, or --regex PATTERN")
    if file.startswith(_LIBRARY):
        from structgen.grammars import library

        return NamedGrammar(file, GrammarSpec("lark", library.text(file.removeprefix(_LIBRARY)), given))
    kind = Path(file).suffix.removeprefix(".")
    if kind in ("gbnf", "ebnf", "lark"):
        given = {"name": file} | given if kind == "lark" else given
        return NamedGrammar(file, GrammarSpec(kind, _decoded(file, read_file(file)), given))
    name = "standard input" if file == "-" else file
    source = _parsed(name, read_file(file))
    return NamedGrammar(
        name, GrammarSpec("structural_tag" if _is_structural_tag(source) else "json_schema", source, given)
    )


def read_file(name: str) -> bytes:
    """What a file holds, or standard input, ``"-"``.

    Raises
    ------
    InvalidRequest
        It cannot be read.
    """
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise InvalidRequest(f"{name}: cannot be read: {error.strerror}") from error


def open_tokens(model: str | None, tokenizer: Path | None) -> Tokens:
    """The vocabulary of a model, of a tokenizer's file, or, with neither, of single bytes.

    Raises
    ------
    InvalidRequest
        There are both, or the file cannot be read.
    ModelError
        There is no such model.
    """
    from structgen.grammars import TokenVocabulary

    if model is not None and tokenizer is not None:
        raise InvalidRequest("--model and --tokenizer both choose the vocabulary: give one of them")
    if tokenizer is not None:
        read = _tokenizer_of(tokenizer)
        return Tokens(TokenVocabulary.from_tokenizer(read), read)
    if model is None:
        from structgen.grammars.sampling import byte_vocabulary

        return Tokens(byte_vocabulary(), None)
    from structgen.engine.sources import resolve_model
    from structgen.engine.sources.console import console_progress
    from structgen.engine.weights import open_checkpoint

    with console_progress(model) as progress:
        local = resolve_model(model, progress=progress)
    with open_checkpoint(local.path) as checkpoint:
        read = checkpoint.tokenizer()
        return Tokens(TokenVocabulary.from_tokenizer(read, eos_token_ids=checkpoint.eos_token_ids), read)


def _is_structural_tag(source: Any) -> bool:
    """Whether it is one, in either form, and no schema: these have no such type, and no such keywords."""
    return isinstance(source, dict) and (
        source.get("type") == "structural_tag" or {"structures", "triggers"} <= {*source}
    )


def _option(given: str) -> tuple[str, Any]:
    """Read ``name=value``; what is JSON is taken as such, anything else as text."""
    name, equals, value = given.partition("=")
    if not equals or not name.isidentifier():
        raise InvalidRequest(f"--option {given}: write it as NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _decoded(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{name}: not UTF-8 at byte {error.start}; schemas and grammars are text") from error


def _parsed(name: str, content: bytes) -> Any:
    if not content.strip():
        raise InvalidRequest(f"{name}: empty; a schema is a JSON file")
    text = _decoded(name, content)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidRequest(f"{name}, line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise InvalidRequest(f"{name}: nested too deeply to be read") from error
    except ValueError as error:  # Python reads no integer of thousands of digits
        raise InvalidRequest(f"{name}: holds a number that is too long: {error}") from error


def _tokenizer_of(path: Path) -> Any:
    from tokenizers import Tokenizer

    file = path / "tokenizer.json" if path.is_dir() else path
    try:
        return Tokenizer.from_str(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidRequest(f"{file}: cannot be read: {error.strerror}") from error
    except Exception as error:  # tokenizers raises plain exceptions
        raise InvalidRequest(f"{file}: no tokenizer that can be read: {error}") from error
