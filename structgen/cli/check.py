"""``structgen check``: does a schema compile, what does it cost, and is a text one of its answers?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from structgen.cli.check_report import Question, Report
from structgen.cli.grammar_files import open_tokens, read_file, read_grammar
from structgen.errors import InvalidRequest

REFUSED_STATUS = 1
"""Exit status where the grammar does not compile, or the instance is not accepted."""


def check(
    schema: Annotated[
        str | None,
        typer.Argument(metavar="SCHEMA", help="File of a schema or tag, '-', NAME.gbnf, .ebnf, .lark; library:NAME."),
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
    report = Report(question, open_tokens(model, tokenizer).vocabulary)
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
    if schema == instance == "-":
        raise InvalidRequest("schema and instance cannot both come from standard input")
    if instance is not None and text is not None:
        raise InvalidRequest(f"the text to check is --text or the file {instance}: give one of them")
    name, spec = read_grammar(schema, regex, options)
    if instance is None:
        return Question(name, spec, "--text", None if text is None else text.encode("utf-8", "surrogateescape"))
    found = read_file(instance)
    return Question(name, spec, "standard input" if instance == "-" else instance, found.removesuffix(b"\n"))
