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

__all__ = ["Entry", "Inlined", "Inner", "add_entry", "prepare"]

_log = logging.getLogger("structgen")


class Entry(functools.partial[Any]):
    """A function that Python calls: until it is machine code it stands for a call that makes it that, then for it.

    A partial object, because Python calls what it stands for without a frame of its own.
    """

    __wrapped__: Callable[..., object]

    @property
    def _numba_type_(self) -> Any:
        return _functions().called_type(self.__wrapped__)

    def become(self, function: Callable[..., Any]) -> None:
        """Stand for ``function``."""
        partial: Any = self
        partial.__setstate__((function, (), {}, self.__dict__))


class Inner:
    """A function that compiled code calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        functools.update_wrapper(self, function)

    @property
    def _numba_type_(self) -> Any:
        return _functions().called_type(self._function)

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"{self._function.__qualname__} is for compiled code to call")


class Inlined(Inner):
    """A function whose Python runs when compiled code that calls it is made (see `emit`)."""

    @property
    def _numba_type_(self) -> Any:
        return _functions().inlined_type(self._function)

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)


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
        if not _waiting:
            return None
        functions = {name: _waiting[name].__wrapped__ for name in sorted(_waiting)}
        place = store.Place(store.key_of(functions, machine.target()))
        seconds, code = None, place.read()
        if code is None:
            begin = time.monotonic()
            with place.alone():
                code = place.read() or _build(functions, place)
            seconds = time.monotonic() - begin
        made = machine.load(code, functions)
        for name, function in made.items():
            _waiting.pop(name).become(function)
        return seconds


def _build(functions: Mapping[str, Callable[..., Any]], place: store.Place) -> bytes:
    _log.warning("structgen: compiling the grammar code for this machine, once; it takes about ten seconds")
    code = importlib.import_module("structgen.grammars._compiled.build").build(functions)
    if place.write(code) is None:
        _log.warning("structgen: no folder to keep compiled code in; set STRUCTGEN_CACHE to one that can be written")
    return code


def _functions() -> Any:
    return importlib.import_module("structgen.grammars._compiled.functions")
