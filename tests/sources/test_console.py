"""The progress bar of a download."""

from __future__ import annotations

import pytest

from structgen.engine.sources import Progress
from structgen.engine.sources.console import console_progress


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard error, to rich, is a terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.usefixtures("terminal")
def test_a_stage_is_drawn_on_a_terminal(capfd: pytest.CaptureFixture[str]):
    with console_progress("tiny") as progress:
        progress(Progress("downloading", 5, 10))
        progress(Progress("downloading", 10, 10))
    shown = capfd.readouterr()
    assert "tiny: downloading" in shown.err
    assert not shown.out


@pytest.mark.usefixtures("terminal")
def test_nothing_is_drawn_where_nothing_is_fetched(capfd: pytest.CaptureFixture[str]):
    with console_progress("tiny"):
        pass
    assert capfd.readouterr() == ("", "")


def test_nothing_is_drawn_where_there_is_no_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    with console_progress("tiny") as progress:
        progress(Progress("downloading", 5, 10))
    assert capfd.readouterr() == ("", "")
