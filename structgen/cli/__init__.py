"""The command ``structgen``: a file a sub-command, each imported when it is asked for.

A sub-command is the function in ``structgen/cli/<name>.py`` that bears the file's name. Those files import at their
top only what their signatures need, so that ``structgen --help`` stays quick.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from structgen._version import __version__
from structgen.errors import StructgenError

__all__ = ["app", "main"]

SUB_COMMANDS = ("generate", "check", "inspect", "pull", "models", "plugins", "serve", "warmup")

ERROR_STATUS = 2
"""Exit status of a wrong command line and of every error that structgen raises on purpose."""


class SubCommands(Mapping[str, Any]):
    """The sub-commands by name; looking one up imports its file."""

    def __getitem__(self, name: str) -> Any:
        if name not in SUB_COMMANDS:
            raise KeyError(name)
        function = getattr(importlib.import_module(f"structgen.cli.{name}"), name)
        single = typer.Typer(add_completion=False)
        single.command(name)(function)
        return get_command(single)

    def __iter__(self) -> Iterator[str]:
        return iter(SUB_COMMANDS)

    def __len__(self) -> int:
        return len(SUB_COMMANDS)


class LazyGroup(TyperGroup):
    """A command group that knows its sub-commands' names before it imports them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = SubCommands()


app = typer.Typer(cls=LazyGroup, name="structgen", pretty_exceptions_enable=False)


def show_version(asked: bool) -> None:
    """Print the version and stop, when ``--version`` is given."""
    if asked:
        typer.echo(f"structgen {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def structgen(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Let a language model say only what your program can use."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line; an error raised on purpose, or by the system, becomes one line, never a traceback."""
    # Torch reads it as it is imported. Threads that wait by spinning take the core that the one they wait for needs:
    # with one of two cores busy otherwise, a token of SmolLM2 took 300 ms with them and takes 85 ms without.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        with warnings.catch_warnings():  # which puts back how they were shown
            warnings.showwarning = show_warning
            app()
    except StructgenError as error:
        fail(str(error))
    except OSError as error:  # files are checked where they are read: what is left is output, to a full disk say
        drop_output()
        fail(f"{error.filename or 'standard output'}: {error.strerror or error}")


def show_warning(message: Warning | str, *_place: object) -> None:
    """Print a warning as one line, without the place in our code that Python would add."""
    print(f"structgen: {' '.join(str(message).split())}", file=sys.stderr)


def fail(message: str) -> NoReturn:
    """Print an error as one line and exit."""
    print(f"structgen: error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(ERROR_STATUS)


def drop_output() -> None:
    """Let what standard output still holds go nowhere: Python would write it again, and fail again, as it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
