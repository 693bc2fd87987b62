"""``structgen warmup``: compile what would be compiled at the first use."""

from __future__ import annotations

import importlib

import typer

_COMPILED = ("structgen.grammars", "structgen.engine.cpu.interpreter", "structgen.engine.cpu.drawing.row")
"""The modules whose import names all functions that are to be compiled."""


def warmup() -> None:
    """Compile the code of grammars and models for this machine now, so that the first use need not."""
    from structgen._compiled.entries import prepare  # here, since the help of all commands imports this module

    for module in _COMPILED:
        importlib.import_module(module)
    seconds = prepare()
    typer.echo("ready: it was compiled already" if seconds is None else f"ready: compiled in {seconds:.1f} s")
