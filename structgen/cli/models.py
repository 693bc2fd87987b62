"""``structgen models``: what is in the cache, and what an alias would fetch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from structgen.cli.table import aligned
from structgen.engine.sources import ALIASES, cache_folder, stored_models
from structgen.engine.sources.files import readable_size


class Row(NamedTuple):
    """One line of the list."""

    name: str
    status: str
    """``ready``; ``damaged``: files are missing or cut, pull it again; ``available``: an alias not pulled yet."""
    format: str
    size: int
    licence: str
    source: str
    path: Path | None


def models(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array instead of a table.")] = False,
) -> None:
    """List the models in the cache with format, size and licence, and the aliases that can be pulled."""
    rows = listed()
    if as_json:
        typer.echo(json.dumps([row._asdict() for row in rows], indent=2, default=str))
        return
    heading = ("NAME", "STATUS", "FORMAT", "SIZE", "LICENCE", "SOURCE")
    cells = [(row.name, row.status, row.format, readable_size(row.size), row.licence, row.source) for row in rows]
    for line in aligned([heading, *cells]):
        typer.echo(line)
    typer.echo(f"\nThe cache is {cache_folder()}; `structgen pull NAME` fetches or repairs a model.")


def listed() -> list[Row]:
    """Return the stored models, then the aliases that are not among them."""
    stored = [
        Row(
            model.name,
            "ready" if whole else "damaged",
            model.format,
            model.size,
            model.licence,
            model.source,
            model.path,
        )
        for model, whole in stored_models()
    ]
    there = {row.name for row in stored}
    return stored + [
        Row(name, "available", alias.format, alias.size, alias.licence, alias.source, None)
        for name, alias in ALIASES.items()
        if name not in there
    ]
