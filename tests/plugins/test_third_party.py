"""A stranger's package adds to every group as structgen's own parts do."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from structgen.errors import PluginError
from structgen.plugins import GROUPS, Registry

Install = Callable[[dict[str, str]], Path]
Run = Callable[..., subprocess.CompletedProcess[str]]

PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "1.0"

[tool.setuptools]
py-modules = ["{module}"]
"""

ACME = "\n".join(f"def {group.split('.')[1]}():\n    return '{group} of acme'\n\n" for group in GROUPS)


def package(name: str, code: str, plugins: dict[str, tuple[str, str]]) -> dict[str, str]:
    """The files of a package with one module; the plugins are name and attribute by group."""
    module = name.replace("-", "_")
    tables = [
        f'[project.entry-points."{group}"]\n{plugin} = "{module}:{attribute}"\n'
        for group, (plugin, attribute) in plugins.items()
    ]
    pyproject = "\n".join([PYPROJECT.format(name=name, module=module), *tables])
    return {"pyproject.toml": pyproject, f"{module}.py": code}


@pytest.fixture(scope="module")
def acme(install: Install) -> Path:
    """Where a package with one plugin for each group is installed."""
    return install(package("acme-plugins", ACME, {group: ("acme", group.split(".")[1]) for group in GROUPS}))


def test_there_are_nine_groups_as_the_design_says():
    assert len(GROUPS) == 9


def test_the_command_lists_a_plugin_of_every_group_with_its_package(acme: Path, structgen: Run):
    listed = json.loads(structgen("plugins", "--json", path=acme).stdout)
    mine = [plugin for plugin in listed if plugin["package"] == "acme-plugins"]
    assert [plugin["group"] for plugin in mine] == list(GROUPS)
    assert {plugin["name"] for plugin in mine} == {"acme"}
    assert mine[0]["target"] == "acme_plugins:grammars"


def test_the_table_shows_the_built_in_ones_beside_it(acme: Path, structgen: Run):
    lines = structgen("plugins", path=acme).stdout.splitlines()
    start = lines.index("structgen.grammars: front ends: text or schema to TokenAutomaton")
    assert lines[start + 1].split() == ["acme", "acme_plugins:grammars", "acme-plugins"]
    assert ["regex", "structgen.grammars.regex:compile_regex", "structgen"] in [line.split() for line in lines]


@pytest.mark.parametrize("group", GROUPS)
def test_one_of_each_group_loads(group: str, acme: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(acme)
    plugin = Registry(group).load("acme")
    assert callable(plugin)
    assert plugin() == f"{group} of acme"


def test_a_name_that_two_packages_claim_stops_the_command_and_names_both(install: Install, structgen: Run):
    site = install(package("clashing", ACME, {"structgen.grammars": ("regex", "grammars")}))
    done = structgen("plugins", path=site)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("structgen: error: structgen.grammars: the name 'regex' is registered by ")
    assert "clashing, structgen" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_plugin_that_fails_to_import_is_listed_and_its_loading_names_the_package(
    install: Install, structgen: Run, monkeypatch: pytest.MonkeyPatch
):
    site = install(package("broken-drafter", "import nowhere", {"structgen.drafters": ("broken", "Drafter")}))
    assert "broken-drafter" in structgen("plugins", path=site).stdout
    monkeypatch.syspath_prepend(site)
    message = r"'broken' \(broken_drafter:Drafter\) of broken-drafter failed to load: .*No module named 'nowhere'"
    with pytest.raises(PluginError, match=message):
        Registry("structgen.drafters").load("broken")


def test_an_unknown_name_shows_the_near_ones(acme: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(acme)
    with pytest.raises(PluginError, match=r"structgen\.grammars: no plugin 'regexp'; there is regex"):
        Registry("structgen.grammars").load("regexp")


def test_an_unknown_group_shows_the_groups():
    with pytest.raises(
        PluginError, match=r"no plugin group 'structgen\.grammar'; the groups are structgen\.grammars, "
    ):
        Registry("structgen.grammar")
