"""The official JSON Schema suite and a part of MaskBench, where they lie beside the checkout."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

_HERE = Path(__file__).resolve()
DATA = next(
    (folder / "shared" / "data" for folder in _HERE.parents if (folder / "shared" / "data").is_dir()),
    _HERE.parents[3] / "shared" / "data",  # beside the checkout, where it is expected
)
SUITE = DATA / "json-schema-test-suite"
MASKBENCH = DATA / "maskbench_dev.jsonl"
URIS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}


@cache
def remotes() -> dict[str, object]:
    """The documents that the suite refers to, by URI."""
    base = SUITE / "remotes"
    return {
        f"http://localhost:1234/{path.relative_to(base).as_posix()}": json.loads(path.read_text(encoding="utf-8"))
        for path in base.rglob("*.json")
    }


def groups(draft: str, folder: str = "") -> list[tuple[str, dict]]:
    """``(file, group)`` of a draft, or of a folder in it."""
    paths = sorted((SUITE / draft / folder).glob("*.json"))
    return [(path.name, group) for path in paths for group in json.loads(path.read_text(encoding="utf-8"))]


def maskbench_cases(step: int) -> list[dict]:
    """Every so many of the cases."""
    with MASKBENCH.open(encoding="utf-8") as lines:
        return [json.loads(line) for number, line in enumerate(lines) if number % step == 0]
