"""Plugin points: one registry class over the entry-point groups of installed packages.

structgen's own parts register in ``pyproject.toml`` exactly as anybody else's do. Nothing is imported until a
plugin is asked for by name; a name that two packages claim, or an entry that fails to import, is an error that
names the packages, never a silent choice.
"""

from __future__ import annotations

import difflib
import functools
from collections import Counter
from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple

from structgen.errors import PluginError

__all__ = ["GROUPS", "Plugin", "Registry", "registry"]

GROUPS: dict[str, str] = {
    "structgen.grammars": "front ends: text or schema to TokenAutomaton",
    "structgen.models": "model families: a file's metadata to a model description",
    "structgen.weights": "readers of weight files",
    "structgen.quantization": "weight formats at run time",
    "structgen.kernels": "operations by device and weight format",
    "structgen.drafters": "proposers of speculative tokens",
    "structgen.call_formats": "how a model writes tool calls",
    "structgen.tools": "tools that a package offers",
    "structgen.model_sources": "where models come from",
}
"""Every group, with what its plugins are."""


class Plugin(NamedTuple):
    """One registered plugin, not yet imported."""

    group: str
    name: str
    target: str
    """``module:attribute``"""
    package: str
    """The distribution that registers it."""


class Registry:
    """The plugins of one group.

    Parameters
    ----------
    group : str
        One of :data:`GROUPS`.

    Raises
    ------
    PluginError
        The group is unknown, or two packages claim one name.
    """

    def __init__(self, group: str) -> None:
        if group not in GROUPS:
            raise PluginError(f"no plugin group {group!r}; the groups are {', '.join(GROUPS)}")
        self.group = group
        found = list(entry_points(group=group))
        self._entries: dict[str, EntryPoint] = {entry.name: entry for entry in found}
        taken = [name for name, count in Counter(entry.name for entry in found).items() if count > 1]
        if taken:
            name = taken[0]
            packages = ", ".join(sorted(_package(entry) for entry in found if entry.name == name))
            raise PluginError(f"{group}: the name {name!r} is registered by {packages}; uninstall one of them")

    def names(self) -> list[str]:
        """The registered names, sorted."""
        return sorted(self._entries)

    def plugins(self) -> list[Plugin]:
        """What is registered, sorted by name; imports nothing."""
        entries = (self._entries[name] for name in self.names())
        return [Plugin(self.group, entry.name, entry.value, _package(entry)) for entry in entries]

    def load(self, name: str) -> object:
        """Import the plugin and return it.

        Raises
        ------
        PluginError
            There is none of that name (near names are shown), or importing it failed (the cause is chained).
        """
        entry = self._entries.get(name)
        if entry is None:
            near = difflib.get_close_matches(name, self._entries, n=3) or self.names()
            raise PluginError(f"{self.group}: no plugin {name!r}; there is {', '.join(near) or 'none'}")
        try:
            return entry.load()
        except Exception as error:  # importing runs the package's own code, which may raise anything
            raise PluginError(
                f"{self.group}: {name!r} ({entry.value}) of {_package(entry)} failed to load: {error!r}"
            ) from error


@functools.cache
def registry(group: str) -> Registry:
    """The registry of ``group``; installed packages are read once a process."""
    return Registry(group)


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "an unknown package"
