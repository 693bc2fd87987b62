"""The decorators' objects: functions that are machine code from their first call on."""

from __future__ import annotations

import functools
import importlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from structgen.grammars._compiled import machine, store

__all__ = ["Entry", "Inlined", "Inner", "add_entry", "prepare", "rare_functions"]

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


_waiting: dict[str, Entry] = {}
_lock = threading.RLock()


def add_entry(function: Callable[..., Any]) -> Entry:
    """The entry for ``function``."""

    def first(*arguments: Any) -> Any:
        prepare()
        return entry(*arguments)

    entry = Entry(first)
    functools.update_wrapper(entry, function)
    with _lock:
        _waiting[f"{function.__module__}.{function.__qualname__}"] = entry
    return entry


def prepare() -> float | None:
    """Make every entry machine code that is not yet; returns the seconds that compiling took, ``None`` for none."""
    with _lock:
        by_package: dict[str, list[str]] = {}  # so that what others compile does not change what is kept for us
        for name in sorted(_waiting):
            by_package.setdefault(name.partition(".")[0], []).append(name)
        seconds = [one for one in map(_prepare, by_package.values()) if one is not None]
        return sum(seconds) if seconds else None


def _prepare(names: list[str]) -> float | None:
    functions = {name: _waiting[name].__wrapped__ for name in names}
    place = store.Place(store.key_of(functions, machine.target()))
    seconds, code = None, place.read()
    if code is None:
        begin = time.monotonic()
        with place.alone():
            code = place.read() or _build(functions, place)
        seconds = time.monotonic() - begin
    for name, function in machine.load(code, names).items():
        _waiting.pop(name).become(function)
    return seconds


def _build(functions: Mapping[str, Callable[..., Any]], place: store.Place) -> bytes:
    _log.warning("structgen: compiling the grammar code for this machine, once; it takes some seconds")
    code = importlib.import_module("structgen.grammars._compiled.build").build(functions)
    if place.write(code) is None:
        _log.warning("structgen: no folder to keep compiled code in; set STRUCTGEN_CACHE to one that can be written")
    return code
