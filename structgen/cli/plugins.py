"""``structgen plugins``: what installed packages add, group by group."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from structgen.plugins import GROUPS, Plugin, registry


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
        for line in aligned(members):
            typer.echo(f"  {line}")


def aligned(members: list[Plugin]) -> list[str]:
    """One line a plugin (name, target, package) in columns; a line that says so where there is none."""
    if not members:
        return ["(none)"]
    name_width = max(len(plugin.name) for plugin in members)
    target_width = max(len(plugin.target) for plugin in members)
    return [f"{plugin.name:<{name_width}}  {plugin.target:<{target_width}}  {plugin.package}" for plugin in members]
