"""Models of a hub, through the real huggingface_hub against a small hub on this machine."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from structgen.engine.sources.repository import Repository, is_whole_folder, model_files
from structgen.errors import ModelNotFound

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = b"weights" * 5000

FOLDER = {
    "config.json": b"{}",
    "tokenizer.json": b"{}",
    "model.safetensors": WEIGHTS,
    "consolidated.safetensors": b"the same weights again",
    "onnx/model.onnx": b"and again",
    "README.md": b"---\nlicense: apache-2.0\n---\n",
}
GGUFS = {"a.gguf": b"GGUF a", "b.gguf": b"GGUF b"}


class Hub:
    """Serves repositories (files by name) as a hub does; counts what it is asked for."""

    def __init__(self) -> None:
        self.repositories: dict[str, dict[str, bytes]] = {"org/folder": FOLDER, "org/ggufs": GGUFS}
        self.gated = {"org/gated"}
        self.listed_sha256: dict[str, str] = {}
        self.served: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Hub:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Give status, headers and content for a path."""
        parts = path.strip("/").split("/")
        name = "/".join(parts[2:4] if parts[0] == "api" else parts[:2])
        if name in self.gated:
            return 403, {"X-Error-Code": "GatedRepo"}, b""
        files = self.repositories.get(name)
        if files is None:
            return 401, {"X-Error-Code": "RepoNotFound"}, b""
        revision = "main" if parts[0] == "api" and len(parts) < 6 else parts[5] if parts[0] == "api" else parts[3]
        if revision not in {"main", "v1", COMMIT}:
            return 404, {"X-Error-Code": "RevisionNotFound"}, b""
        if parts[0] == "api":
            siblings = [self._sibling(file, content) for file, content in files.items()]
            info = {"id": name, "sha": COMMIT, "tags": ["license:apache-2.0"], "siblings": siblings}
            return 200, {"Content-Type": "application/json"}, json.dumps(info).encode()
        file = "/".join(parts[4:])
        etag = hashlib.sha256(files[file]).hexdigest()
        return 200, {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT}, files[file]

    def _sibling(self, file: str, content: bytes) -> dict[str, object]:
        sha256 = self.listed_sha256.get(file, hashlib.sha256(content).hexdigest())
        small = {"rfilename": file, "size": len(content), "blobId": "0" * 40}
        if file.endswith((".safetensors", ".gguf")):
            return small | {"lfs": {"size": len(content), "sha256": sha256, "pointerSize": 100}}
        return small

    def _handler(hub) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - self is the handler's, inside
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self._send(with_content=False)

            def do_GET(self) -> None:
                self._send(with_content=True)

            def _send(self, *, with_content: bool) -> None:
                path = self.path.split("?")[0]
                status, headers, content = hub.answer(path)
                self.send_response(status)
                for key, value in headers.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if with_content:
                    hub.served.append(path)
                    self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


@pytest.fixture
def hub(tmp_path: Path, cache_root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    for name in ("HF_TOKEN", "HF_HUB_CACHE", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    with Hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


RESOLVE = """
import json, sys
from structgen.engine.sources import resolve_model
model = resolve_model(sys.argv[1], download=sys.argv[2] == "download")
print(json.dumps([str(model.path), model.format, model.licence]))
"""


def resolved(name: str, *, download: bool) -> tuple[Path, str, str]:
    """Resolve in a process of its own: huggingface_hub reads its settings once."""
    command = [sys.executable, "-c", RESOLVE, name, "download" if download else "offline"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    path, model_format, licence = json.loads(done.stdout)
    return Path(path), model_format, licence


def test_a_repository_is_pulled_once_and_found_without_the_hub(hub, script):
    done = subprocess.run([script, "pull", "hf:org/folder"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "huggingface" in done.stderr
    folder = Path(done.stdout.strip())
    wanted = {"config.json", "tokenizer.json", "model.safetensors", "README.md"}
    assert {path.name for path in folder.iterdir()} == wanted
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS

    hub.close()
    assert resolved("hf:org/folder", download=False) == (folder, "huggingface", "apache-2.0")
    listed = subprocess.run([script, "models", "--json"], capture_output=True, text=True, check=True)
    (row,) = [row for row in json.loads(listed.stdout) if row["name"] == "hf:org/folder"]
    assert (row["status"], row["licence"]) == ("ready", "apache-2.0")
    assert row["size"] == sum(len(FOLDER[name]) for name in wanted)


def test_what_another_program_downloaded_is_found_when_it_is_whole(hub, cache_root):
    folder, *_ = resolved("hf:org/folder@v1", download=True)
    references = folder.parent.parent / "refs"
    references.mkdir(exist_ok=True)
    (references / "main").write_text(COMMIT)
    shutil.rmtree(cache_root)
    hub.close()
    assert resolved("hf:org/folder", download=False) == (folder, "huggingface", "apache-2.0")


def test_one_gguf_file_of_a_repository_is_pulled_alone(hub):
    path, model_format, _ = resolved("hf:org/ggufs/b.gguf", download=True)
    assert (path.name, model_format, path.read_bytes()) == ("b.gguf", "gguf", b"GGUF b")
    assert [served for served in hub.served if "/resolve/" in served] == [f"/org/ggufs/resolve/{COMMIT}/b.gguf"]


def test_a_file_that_differs_from_its_listed_checksum_is_removed(hub, script, refusal, leftovers, tmp_path):
    hub.listed_sha256["model.safetensors"] = "0" * 64
    assert "wrong checksum of model.safetensors" in refusal(script, "pull", "hf:org/folder")
    assert leftovers() == []
    blobs = tmp_path / "huggingface" / "hub" / "models--org--folder" / "blobs"
    assert WEIGHTS not in [blob.read_bytes() for blob in blobs.iterdir()]
    hub.listed_sha256.clear()
    assert (resolved("hf:org/folder", download=True)[0] / "model.safetensors").read_bytes() == WEIGHTS


REFUSED = {
    "hf:org/none": "the hub has no such repository, or it is private",
    "hf:org/a--b": "Cannot have -- or .. in repo_id",
    "hf:org/gated": "access is gated; accept the terms",
    "hf:org/folder@v9": "hf:org/folder@v9: ",
    "hf:org/ggufs": "it holds a.gguf, b.gguf; name one: hf:org/ggufs/FILE.gguf",
    "hf:org/ggufs/c.gguf": "there is no c.gguf",
}

REFUSALS = """
import json, sys
from structgen.engine.sources import resolve_model
from structgen.errors import ModelError
told = {}
for name in sys.argv[1:]:
    try:
        resolve_model(name)
    except ModelError as error:
        told[name] = str(error)
print(json.dumps(told))
"""


def test_what_the_hub_refuses_is_told_with_the_reason(hub, leftovers):
    done = subprocess.run([sys.executable, "-c", REFUSALS, *REFUSED], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    for name, reason in REFUSED.items():
        assert reason in told[name]
    assert leftovers() == []


def test_without_a_network_the_error_says_so(hub, script, refusal):
    hub.close()
    assert "no network" in refusal(script, "pull", "hf:org/folder")


@pytest.mark.parametrize("location", ["", "name", "a/b/c", "a/b/c.bin", "a b/c", "org/name@"])
def test_what_is_no_repository_is_refused(location):
    with pytest.raises(ModelNotFound, match="write hf:org/name"):
        Repository.parse(location)


def test_a_location_is_a_repository_a_file_and_a_revision():
    assert Repository.parse("o/n/f.gguf@refs/pr/1") == ("hf:o/n/f.gguf@refs/pr/1", "o/n", "f.gguf", "refs/pr/1")


def test_a_repository_without_safetensors_is_refused():
    with pytest.raises(ModelNotFound, match=r"neither config\.json with \.safetensors files nor a \.gguf file"):
        model_files(Repository.parse("o/n"), ["config.json", "pytorch_model.bin", "folder/model.safetensors"])


@pytest.mark.parametrize("missing", ["config.json", "tokenizer.json", "two.safetensors", None])
def test_a_folder_is_whole_when_every_shard_of_its_index_is_there(tmp_path, missing):
    index = {"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    for name in ("config.json", "tokenizer.json", "one.safetensors", "two.safetensors"):
        (tmp_path / name).touch()
    if missing is not None:
        os.unlink(tmp_path / missing)
    assert is_whole_folder(tmp_path) == (missing is None)


@pytest.mark.parametrize("index", ["{", "{}", "[]", '{"weight_map": [1]}'])
def test_a_folder_with_a_damaged_index_is_not_whole(tmp_path, index):
    (tmp_path / "model.safetensors.index.json").write_text(index)
    for name in ("config.json", "tokenizer.json", "one.safetensors"):
        (tmp_path / name).touch()
    assert not is_whole_folder(tmp_path)
