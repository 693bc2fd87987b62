"""The decorators' objects: functions that are machine code from their first call on."""

from __future__ import annotations

import functools
import importlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from structgen._compiled import machine, store

__all__ = ["Entry", "Inlined", "Inner", "Instruction", "add_entry", "prepare", "rare_functions"]

_log = logging.getLogger("structgen")


class Entry(functools.partial[Any]):
    """A function that Python calls: until it is machine code it stands for a call that makes it that, then for it.

    A partial object, because Python calls what it stands for without a frame of its own.
    """

    __wrapped__: Callable[..., object]

    def become(self, function: Callable[..., Any]) -> None:
        """Stand for ``function``."""
        partial: Any = self
        partial.__setstate__((function, (), {}, self.__dict__))


rare_functions: set[Callable[..., Any]] = set()
"""Those that stay out of their callers, so that these stay small and are inlined in turn."""


class Inner:
    """A function that compiled code calls."""

    def __init__(self, function: Callable[..., Any], is_rare: bool = False) -> None:
        self.__wrapped__ = function
        if is_rare:
            rare_functions.add(function)
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self.__wrapped__.__qualname__} is for compiled code to call")


class Inlined(Inner):
    """A function whose Python runs when compiled code that calls it is made (see `emit`)."""

    def __call__(self, *arguments: Any) -> Any:
        return self.__wrapped__(*arguments)


class Instruction:
    """A function for compiled code alone, which `instructions` writes: it has one of the same name."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.name = function.__name__

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self.name} is for compiled code to call")


_waiting: dict[str, dict[str, Entry]] = {}
"""By the package they belong to, then by name."""
_lock = threading.RLock()


def add_entry(function: Callable[..., Any], package: str) -> Entry:
    """The entry for ``function``, whose machine code depends on the sources of ``package``."""

    def first(*arguments: Any) -> Any:
        prepare(package)
        return entry(*arguments)

    entry = Entry(first)
    functools.update_wrapper(entry, function)
    with _lock:
        _waiting.setdefault(package, {})[f"{function.__module__}.{function.__qualname__}"] = entry
    return entry


def prepare(package: str | None = None) -> float | None:
    """Make every entry of a package machine code that is not yet, by default those of all packages.

    Each package has a file of its own on disk, so that a change in one does not compile the other anew.

    Returns
    -------
    float or None
        The seconds that compiling took, ``None`` for none.
    """
    with _lock:
        seconds = [_prepare(one) for one in ([package] if package else list(_waiting))]
        return sum(one for one in seconds if one is not None) if any(seconds) else None


def _prepare(package: str) -> float | None:
    by_owner: dict[str, list[str]] = {}  # so that what others compile does not change what is kept for us
    for name in sorted(_waiting.get(package, {})):
        by_owner.setdefault(name.partition(".")[0], []).append(name)
    seconds = [one for one in (_make(package, names) for names in by_owner.values()) if one is not None]
    return sum(seconds) if seconds else None


def _make(package: str, names: list[str]) -> float | None:
    entries = _waiting[package]
    functions = {name: entries[name].__wrapped__ for name in names}
    place = store.Place(store.key_of(functions, machine.target(), package))
    seconds, code = None, place.read()
    if code is None:
        begin = time.monotonic()
        with place.alone():
            code = place.read() or _build(functions, place, package)
        seconds = time.monotonic() - begin
    for name, function in machine.load(code, names).items():
        entries.pop(name).become(function)
    return seconds


def _build(functions: Mapping[str, Callable[..., Any]], place: store.Place, package: str) -> bytes:
    _log.warning("structgen: compiling %s for this machine, once; it takes some seconds", package)
    code = importlib.import_module("structgen._compiled.build").build(functions)
    if place.write(code) is None:
        _log.warning("structgen: no folder to keep compiled code in; set STRUCTGEN_CACHE to one that can be written")
    return code
