"""``structgen inspect``: what a grammar allows along a text, token by token, and what its automaton looks like."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from structgen.cli.grammar_files import open_tokens, read_grammar
from structgen.errors import InvalidRequest

REFUSED_STATUS = 1
"""Exit status where the text is not accepted."""


def inspect(
    schema: Annotated[
        str | None,
        typer.Argument(metavar="GRAMMAR", help="File of a schema or tag, '-', NAME.gbnf, .ebnf, .lark; library:NAME."),
    ] = None,
    regex: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="Inspect this pattern in place of a file.")
    ] = None,
    text: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Show what is allowed before each token of this text.")
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Draw the automaton into this file; '-' is standard output.")
    ] = None,
    states: Annotated[int, typer.Option(metavar="N", min=1, help="States to draw at most, the nearest ones.")] = 60,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of the compiler, such as numbers=any or timeout=2."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Use this model's tokens; single bytes by default.")
    ] = None,
    tokenizer: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Use the tokens of this tokenizer.json, or its folder.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the tokens of --text as one JSON object.")] = False,
) -> None:
    """Show a grammar at work: how many tokens it allows along a text, which are forced, and where the text leaves it.

    Or draw its automaton. Exit status 1 where the text is not accepted.
    """
    from structgen.engine.grammar_cache import GrammarCache

    if text is None and svg is None:
        raise InvalidRequest("say what to show: --text TEXT, or --svg OUT for a picture")
    if as_json and text is None:
        raise InvalidRequest("--json is about the tokens of a text: give --text TEXT")
    grammar = read_grammar(schema, regex, option or [])
    tokens = open_tokens(model, tokenizer)
    automaton = GrammarCache(tokens.vocabulary).get(grammar.spec)
    if svg is not None:
        from structgen.cli.automaton_graph import explore
        from structgen.cli.automaton_svg import draw

        graph = explore(automaton, states)
        _write(svg, draw(graph, grammar.name))
        typer.echo(f"{svg}: {graph.summary()}", err=True)
    if text is not None:
        from structgen.cli.token_steps import TokenSteps

        steps = TokenSteps(automaton, tokens.tokenizer, text.encode("utf-8", "surrogateescape"))
        lines = [json.dumps(steps.as_object(), ensure_ascii=False, indent=2)] if as_json else steps.lines()
        for line in lines:
            typer.echo(line)
        if not steps.verdict.accepted:
            raise typer.Exit(REFUSED_STATUS)


def _write(path: Path, content: str) -> None:
    if str(path) == "-":
        typer.echo(content, nl=False)
        return
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise InvalidRequest(f"{path}: cannot be written: {error.strerror}") from error
