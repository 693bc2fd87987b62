"""The package as a whole: what importing it costs, what is in its wheel, what it declares."""

from __future__ import annotations

import ast
import re
import shutil
import statistics
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest

import structgen
from structgen.grammars import library
from structgen.plugins import GROUPS, registry

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "structgen").rglob("*.py"))
HEAVY = ("torch", "transformers", "fastapi", "llvmlite")


def run_python(code: str) -> str:
    """What ``code`` prints in a fresh interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def start_seconds(code: str) -> float:
    start = time.perf_counter()
    run_python(code)
    return time.perf_counter() - start


def test_importing_structgen_adds_less_than_three_tenths_of_a_second():
    pairs = [(start_seconds("import structgen"), start_seconds("pass")) for _ in range(5)]
    assert statistics.median(with_import - bare for with_import, bare in pairs) < 0.3


def test_importing_structgen_imports_nothing_heavy():
    loaded = run_python(f"import sys, structgen; print([name for name in {HEAVY} if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_grammars_compile_and_match_where_torch_and_transformers_are_not_installed():
    answer = run_python(
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('torch', 'transformers', 'fastapi')))  # importing one now raises\n"
        "from structgen.grammars import TokenVocabulary, compile_json_schema\n"
        "vocabulary = TokenVocabulary.from_bytes([bytes([byte]) for byte in range(256)] + [b''], eos_token_ids=[256])\n"
        "with compile_json_schema({'const': 7}, vocabulary).matcher() as matcher:\n"
        "    print(matcher.forced_bytes(matcher.start))\n"
    )
    assert answer.strip() == "b'7'"


def test_every_public_name_is_there():
    assert sorted(structgen.__all__) == dir(structgen)
    for name in structgen.__all__:
        assert getattr(structgen, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Generator'"):
        _ = structgen.Generator


def test_the_version_is_the_installed_distribution_s():
    assert structgen.__version__ == metadata.version("structgen")


def test_layers_import_downwards_only():
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports")], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("group", GROUPS)
def test_every_built_in_plugin_loads(group: str):
    for plugin in registry(group).plugins():
        if plugin.package == "structgen":
            assert callable(registry(group).load(plugin.name))


def test_the_wheel_holds_every_module_the_library_the_type_marker_and_the_licence(tmp_path: Path):
    source = tmp_path / "source"
    shutil.copytree(ROOT / "structgen", source / "structgen", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        source,
        "-w",
        tmp_path,
    ]
    subprocess.run(build, check=True)
    (wheel,) = tmp_path.glob("structgen-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {str(path.relative_to(ROOT)) for path in SOURCES} <= set(names)
    assert "structgen/py.typed" in names
    assert {f"structgen/grammars/library/{name}.lark" for name in library.names()} <= set(names)
    assert f"structgen-{structgen.__version__}.dist-info/licenses/LICENSE" in names


def distribution_name(requirement: str) -> str:
    match = re.match(r"[\w.-]+", requirement)
    assert match is not None, requirement
    return match.group().lower().replace("_", "-")


def imported_modules(paths: Iterable[Path]) -> set[str]:
    """Top-level names of what these files import from others' packages, at whatever depth, by whatever means."""
    names: set[str] = set()
    for node in (node for path in paths for node in ast.walk(ast.parse(path.read_text()))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "importlib.import_module":
            names.update(name.value for name in node.args if isinstance(name, ast.Constant))
    return {name.split(".")[0] for name in names} - set(sys.stdlib_module_names) - {"structgen"}


def distributions_of(modules: Iterable[str]) -> set[str]:
    """Who ships them; one that is not installed, as other engines need not be, has its module's name."""
    owners = metadata.packages_distributions()
    return {distribution_name(owners.get(module, [module])[0]) for module in modules}


# Declared before they are imported: for kernels, and what Lark checks patterns with.
AHEAD = {"interegular", "triton"}
# Asked for by an extra, and by name where it is missing.
OPTIONAL = {"transformers"}


def test_what_is_imported_is_declared_and_what_is_declared_is_imported():
    declared = [line for line in metadata.requires("structgen") or [] if "extra ==" not in line]
    imported = distributions_of(imported_modules(SOURCES))
    assert not imported & AHEAD, "it is imported now: take it out of AHEAD"
    assert imported >= OPTIONAL
    assert (imported - OPTIONAL) | AHEAD == {distribution_name(line) for line in declared}
    assert {"transformers"} <= set(metadata.metadata("structgen").get_all("Provides-Extra") or [])


def test_what_tests_and_benchmarks_import_is_declared():
    folders = [ROOT / "tests", ROOT / "benchmarks", ROOT / "examples"]
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    beside = {path.stem for folder in (ROOT / "tests" / "support", ROOT / "benchmarks") for path in folder.iterdir()}
    declared = {distribution_name(line) for line in metadata.requires("structgen") or []}
    assert distributions_of(imported_modules(paths) - beside) <= declared
