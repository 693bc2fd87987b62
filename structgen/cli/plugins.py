"""``structgen plugins``: what installed packages add, group by group."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from structgen.cli.table import aligned
from structgen.plugins import GROUPS, registry


def plugins(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array instead of a table.")] = False,
) -> None:
    """List the plugins of every group with their target and package; imports none of them."""
    found = {group: registry(group).plugins() for group in GROUPS}
    if as_json:
        typer.echo(json.dumps([plugin._asdict() for group in found.values() for plugin in group], indent=2))
        return
    for group, members in found.items():
        typer.echo(f"{group}: {GROUPS[group]}")
        rows = [(plugin.name, plugin.target, plugin.package) for plugin in members]
        for line in aligned(rows or [("(none)",)]):
            typer.echo(f"  {line}")
