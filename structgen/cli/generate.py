"""``structgen generate``: one answer on the command line."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from structgen.cli.engine_options import takes_engine_options
from structgen.engine.request import SamplingParams
from structgen.engine.sources.catalog import DEFAULT_MODEL
from structgen.errors import InvalidRequest

if TYPE_CHECKING:
    from structgen.llm import Answer

DEFAULTS = SamplingParams()


@takes_engine_options
def generate(
    prompt: Annotated[
        str | None, typer.Argument(help="What to ask; read from standard input when it is left out or '-'.")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Answer with JSON under the JSON Schema in this file.")
    ] = None,
    pydantic: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:CLASS",
            help="Answer with JSON for this type, found from the current folder; shown once its validators accept it.",
        ),
    ] = None,
    regex: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="Answer with text that this pattern matches as a whole.")
    ] = None,
    choice: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Answer with one of these; give it once for each.")
    ] = None,
    on_unsupported: Annotated[
        str,
        typer.Option(
            metavar="error|validate",
            help="Where no grammar holds the schema exactly: refuse it, or validate the answer and draw again.",
        ),
    ] = "error",
    model: Annotated[
        str, typer.Option(metavar="NAME", help="An alias, a path, hf:org/name; downloaded when it is not on disk.")
    ] = DEFAULT_MODEL,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object: text, value, finish_reason, usage.")
    ] = False,
    max_tokens: Annotated[int | None, typer.Option(help="Tokens of the answer at most.")] = DEFAULTS.max_tokens,
    temperature: Annotated[float, typer.Option(help="0 takes the most likely token.")] = DEFAULTS.temperature,
    top_p: Annotated[float, typer.Option(help="Draw from the tokens that make up this probability.")] = DEFAULTS.top_p,
    top_k: Annotated[int, typer.Option(help="Draw from this many tokens; 0 for all.")] = DEFAULTS.top_k,
    min_p: Annotated[float, typer.Option(help="Drop tokens this much less likely than the first.")] = DEFAULTS.min_p,
    seed: Annotated[int | None, typer.Option(help="Makes a draw repeatable.")] = None,
    *,
    engine: dict[str, Any],
) -> None:
    """Answer a prompt, held to a form if one is given.

    The text is shown as it comes on a terminal, and as a whole when it is piped.
    """
    from structgen.llm import LLM

    form = answer_form(schema, pydantic, regex, choice, on_unsupported)
    question = prompt if prompt not in (None, "-") else read_prompt()
    params = SamplingParams(
        temperature=temperature, top_p=top_p, top_k=top_k, min_p=min_p, seed=seed, max_tokens=max_tokens
    )
    with LLM(model, **engine) as llm:
        # What is validated afterwards is shown once it has passed.
        if sys.stdout.isatty() and not as_json and pydantic is None and on_unsupported == "error":
            show_live(llm.stream(question, sampling_params=params, **form))
            return
        answer = llm.generate(question, sampling_params=params, return_details=True, **form)
    typer.echo(as_object(answer) if as_json else answer.text)


def show_live(texts: Iterator[str]) -> None:
    """Show pieces of text as they come, and end the line whatever happens."""
    try:
        for text in texts:
            typer.echo(text, nl=False)
    finally:
        typer.echo()


def answer_form(
    schema: Path | None,
    pydantic: str | None,
    regex: str | None,
    choice: list[str] | None,
    on_unsupported: str = "error",
) -> dict[str, Any]:
    """Return the one form that is asked for, as an argument of ``LLM.generate``; empty for free text.

    Raises
    ------
    InvalidRequest
        More than one is given, or what one names cannot be read; or ``on_unsupported`` is neither of its two, or
        given without a schema.
    """
    # Checked here too, not only by LLM: that knows no --pydantic, and is asked when a model is fetched and loaded.
    options = {"--schema": schema, "--pydantic": pydantic, "--regex": regex, "--choice": choice or None}
    given = [name for name, value in options.items() if value is not None]
    if len(given) > 1:
        raise InvalidRequest(f"{' and '.join(given)}: an answer has one form; give one of them")
    if on_unsupported not in ("error", "validate"):
        raise InvalidRequest(f"--on-unsupported {on_unsupported}: give error or validate")
    if schema is not None:
        return {"schema": read_schema(schema), "on_unsupported": on_unsupported}
    if pydantic is not None:
        return {"schema": import_type(pydantic), "on_unsupported": on_unsupported}
    if on_unsupported != "error":
        raise InvalidRequest("--on-unsupported: is about a schema; give --schema or --pydantic with it")
    return {name: value for name, value in (("regex", regex), ("choice", choice)) if value}


def read_schema(path: Path) -> dict[str, Any]:
    """Return the JSON Schema in a file.

    Raises
    ------
    InvalidRequest
        The file cannot be read, is not JSON (the line is named), or holds something else than an object.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidRequest(f"{path}: cannot be read: {error.strerror}; --schema takes a JSON file") from error
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{path}: not UTF-8 at byte {error.start}; --schema takes a JSON file") from error
    except json.JSONDecodeError as error:
        raise InvalidRequest(f"{path}, line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise InvalidRequest(f"{path}: nested too deeply to be read") from error
    except ValueError as error:  # Python reads no integer of thousands of digits
        raise InvalidRequest(f"{path}: holds a number that is too long: {error}") from error
    if not isinstance(found, dict):
        raise InvalidRequest(f"{path}: a JSON Schema is an object here, not {type(found).__name__}")
    return found


def import_type(place: str) -> object:
    """Return what ``module:attribute`` names; the current folder is looked in first.

    Raises
    ------
    InvalidRequest
        The module fails to import, or has no such attribute.
    """
    module_name, _, attribute = place.partition(":")
    if not module_name or not attribute:
        raise InvalidRequest(f"--pydantic {place}: write it as module:Class")
    sys.path.insert(0, os.getcwd())
    try:
        return getattr(importlib.import_module(module_name), attribute)
    except (Exception, SystemExit) as error:  # whatever the user's own module raises, a script's exit too
        raise InvalidRequest(f"--pydantic {place}: {type(error).__name__}: {error}") from error


def read_prompt() -> str:
    """Return standard input without the newline at its end.

    Raises
    ------
    InvalidRequest
        It is empty or not UTF-8.
    """
    try:
        prompt = sys.stdin.buffer.read().decode("utf-8").rstrip("\n")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"standard input: not UTF-8 at byte {error.start}") from error
    if not prompt:
        raise InvalidRequest("standard input: empty; give a prompt there or as an argument")
    return prompt


def as_object(answer: Answer) -> str:
    """Return an answer as a JSON object."""
    from pydantic import TypeAdapter

    usage = {"prompt_tokens": answer.usage.prompt_tokens, "completion_tokens": answer.usage.completion_tokens}
    value = TypeAdapter(object).dump_python(answer.value, mode="json")
    found = {"text": answer.text, "value": value, "finish_reason": answer.finish_reason, "usage": usage}
    return json.dumps(found, ensure_ascii=False)
