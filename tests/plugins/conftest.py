"""Third-party packages, made on the spot."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "1.0"

[tool.setuptools]
py-modules = [{modules}]

{entry_points}
"""


class Package:
    """A folder with modules and entry points, that pip can install.

    Parameters
    ----------
    folder : Path
        Where its source goes and where it is installed.
    name : str
        The distribution's name.
    modules : dict of str to str
        Source text by module name.
    plugins : dict of str to str
        ``"module:attribute"`` by ``"group/name"``.
    """

    def __init__(self, folder: Path, name: str, modules: dict[str, str], plugins: dict[str, str]) -> None:
        self.source = folder / "source"
        self.site = folder / "site"
        self.source.mkdir(parents=True)
        tables = []
        for place, target in plugins.items():
            group, plugin = place.split("/")
            tables.append(f'[project.entry-points."{group}"]\n{plugin} = "{target}"\n')
        listed = ", ".join(f'"{module}"' for module in modules)
        text = PYPROJECT.format(name=name, modules=listed, entry_points="\n".join(tables))
        (self.source / "pyproject.toml").write_text(text)
        for module, code in modules.items():
            (self.source / f"{module}.py").write_text(code)

    def install(self) -> Path:
        """Install it with pip into a folder of its own, and return that folder."""
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
        subprocess.run([*command, "--target", self.site, self.source], check=True)
        return self.site


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make a third-party package, install it, and return the folder to put on ``sys.path``."""

    def make(name: str, modules: dict[str, str], plugins: dict[str, str]) -> Path:
        return Package(tmp_path_factory.mktemp(name), name, modules, plugins).install()

    return make
