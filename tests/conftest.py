from __future__ import annotations

from pathlib import Path

import pytest

from structgen.engine.sources import resolve_model


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The GGUF file of SmolLM2-135M; the first run on a machine downloads it into structgen's cache."""
    return resolve_model("smollm2-135m").path
