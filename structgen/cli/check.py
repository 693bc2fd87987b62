"""``structgen check``: does a schema compile, what does it cost, and is a text one of its answers?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from structgen.cli.check_report import Question, Report
from structgen.engine.request import GrammarSpec
from structgen.errors import InvalidRequest

if TYPE_CHECKING:
    from structgen.grammars import TokenVocabulary

REFUSED_STATUS = 1
"""Exit status where the grammar does not compile, or the instance is not accepted."""


def check(
    schema: Annotated[
        str | None,
        typer.Argument(metavar="SCHEMA", help="File of a schema or structural tag, '-', NAME.gbnf or NAME.lark."),
    ] = None,
    instance: Annotated[
        str | None,
        typer.Argument(
            metavar="INSTANCE",
            help="File of a text to check, or '-'. A line feed at its very end does not count.",
            show_default=False,
        ),
    ] = None,
    regex: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="Check this pattern in place of a schema; INSTANCE follows.")
    ] = None,
    text: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The text to check, byte by byte as it is, in place of a file.")
    ] = None,
    sample: Annotated[
        int, typer.Option(metavar="N", min=0, help="Print this many random valid instances, and nothing else.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Other samples for another number.")] = 0,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of the compiler, such as numbers=any or timeout=2."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Ask as well that the schema lies in this subset: openai-strict."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Use this model's vocabulary; single bytes by default.")
    ] = None,
    tokenizer: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Use the vocabulary of this tokenizer.json, or its folder.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say whether a schema, structural tag, pattern or grammar compiles, its cost, and whether a text is valid.

    Exit status 1 where the schema does not compile or the text is not accepted: what is printed says where and why.
    """
    if regex is not None:
        if instance is not None:
            raise InvalidRequest(f"--regex takes the place of the schema: give one file, not {schema} and {instance}")
        schema, instance = None, schema
    if profile is not None and regex is not None:
        raise InvalidRequest("--profile is about schemas, and --regex is none")
    options = [*(option or []), *([] if profile is None else [f"profile={profile}"])]
    question = _question(schema, instance, regex, text, options)
    report = Report(question, _vocabulary(model, tokenizer))
    if report.compile():
        report.draw(sample, seed)
        report.judge()
    if as_json:
        typer.echo(json.dumps(report.as_object(), ensure_ascii=False, indent=2))
    else:
        for line in report.lines():
            typer.echo(line, err=sample > 0)
        for found in report.samples:
            typer.echo(found)
    if not report.good:
        raise typer.Exit(REFUSED_STATUS)


def _question(
    schema: str | None, instance: str | None, regex: str | None, text: str | None, options: list[str]
) -> Question:

    if schema is None and regex is None:
        raise InvalidRequest("give a file of a JSON Schema, '-' for standard input, or --regex PATTERN")
    if schema == instance == "-":
        raise InvalidRequest("schema and instance cannot both come from standard input")
    if instance is not None and text is not None:
        raise InvalidRequest(f"the text to check is --text or the file {instance}: give one of them")
    given = dict(map(_option, options))
    if regex is not None:
        name, spec = f"--regex {regex}", GrammarSpec("regex", regex, given)
    elif (kind := Path(str(schema)).suffix.removeprefix(".")) in ("gbnf", "lark"):
        name = str(schema)
        given = {"name": name} | given if kind == "lark" else given
        spec = GrammarSpec(kind, _decoded(name, _read(name)), given)
    else:
        name = "standard input" if schema == "-" else str(schema)
        source = _parsed(name, _read(str(schema)))
        spec = GrammarSpec("structural_tag" if _is_structural_tag(source) else "json_schema", source, given)
    if instance is None:
        return Question(name, spec, "--text", None if text is None else text.encode("utf-8", "surrogateescape"))
    found = _read(instance)
    return Question(name, spec, "standard input" if instance == "-" else instance, found.removesuffix(b"\n"))


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


def _read(name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise InvalidRequest(f"{name}: cannot be read: {error.strerror}") from error


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


def _vocabulary(model: str | None, tokenizer: Path | None) -> TokenVocabulary:
    from structgen.grammars import TokenVocabulary

    if model is not None and tokenizer is not None:
        raise InvalidRequest("--model and --tokenizer both choose the vocabulary: give one of them")
    if tokenizer is not None:
        return TokenVocabulary.from_tokenizer(_tokenizer_of(tokenizer))
    if model is None:
        from structgen.grammars.sampling import byte_vocabulary

        return byte_vocabulary()
    from structgen.engine.sources import resolve_model
    from structgen.engine.sources.console import console_progress
    from structgen.engine.weights import open_checkpoint

    with console_progress(model) as progress:
        local = resolve_model(model, progress=progress)
    with open_checkpoint(local.path) as checkpoint:
        return TokenVocabulary.from_tokenizer(checkpoint.tokenizer(), eos_token_ids=checkpoint.eos_token_ids)


def _tokenizer_of(path: Path) -> Any:
    from tokenizers import Tokenizer

    file = path / "tokenizer.json" if path.is_dir() else path
    try:
        return Tokenizer.from_str(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidRequest(f"{file}: cannot be read: {error.strerror}") from error
    except Exception as error:  # tokenizers raises plain exceptions
        raise InvalidRequest(f"{file}: no tokenizer that can be read: {error}") from error
