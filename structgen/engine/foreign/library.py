"""The ``transformers`` package, which is not needed for anything else and need not be there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from structgen.errors import UnsupportedModel

__all__ = ["import_transformers", "quiet", "version"]

OLDEST = (4, 53)
"""Since then an attention function can be registered, and a model makes no masks for one that it does not know."""


def import_transformers(architecture: str) -> ModuleType:
    """Import the package.

    Raises
    ------
    UnsupportedModel
        It is not installed, or too old.
    """
    oldest = ".".join(map(str, OLDEST))
    needed = (
        f"the architecture {architecture!r} has no description here; it would run through transformers {oldest} or "
        "newer, {}; pip install 'structgen[transformers]'"
    )
    try:
        import transformers
    except ImportError as error:
        raise UnsupportedModel(needed.format(f"which cannot be imported ({error})")) from error
    if version(transformers) < OLDEST:
        raise UnsupportedModel(needed.format(f"and {transformers.__version__} is installed"))
    return transformers


def version(transformers: ModuleType) -> tuple[int, ...]:
    """Major and minor version."""
    return tuple(int(number) for number in re.findall(r"\d+", transformers.__version__)[:2])


@contextmanager
def quiet(transformers: ModuleType) -> Iterator[None]:
    """Show none of the package's progress bars, whose state is global, inside."""
    logging = transformers.utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
