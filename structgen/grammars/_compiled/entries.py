"""The decorators' objects: functions that are machine code from their first call on."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import logging
import threading
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any

from structgen.grammars._compiled import machine, store

__all__ = ["Entry", "Inlined", "Inner", "add_entry", "prepare", "rare_functions"]

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


rare_functions: set[Callable[..., Any]] = set()
"""Those that stay out of their callers, so that these stay small and are inlined in turn."""


class Inner:
    """A function that compiled code calls."""

    def __init__(self, function: Callable[..., Any], is_rare: bool = False) -> None:
        self._function = function
        if is_rare:
            rare_functions.add(function)
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
            with place.alone(), _no_collection():
                code = place.read()
                if code is None:
                    code = _build(functions, place)
            seconds = time.monotonic() - begin
        made = machine.load(code, functions) if code else _plain(functions)
        for name, function in made.items():
            _waiting.pop(name).become(function)
        return seconds


def _build(functions: Mapping[str, Callable[..., Any]], place: store.Place) -> bytes:
    """The machine code, nothing where Numba must be used as its users do; kept in any case."""
    _log.warning("structgen: compiling the grammar code for this machine, once; it takes about ten seconds")
    try:
        code = importlib.import_module("structgen.grammars._compiled.build").build(functions)
    except (AttributeError, ImportError, NotImplementedError, TypeError) as error:
        _log.warning("structgen: this version of Numba is unknown, so each start will take a minute: %r", error)
        code = b""
    if place.write(code) is None:
        _log.warning("structgen: no folder to keep compiled code in; set STRUCTGEN_CACHE to one that can be written")
    return code


@contextlib.contextmanager
def _no_collection() -> Generator[None]:
    """Numba makes objects by the million and few cycles: looking for those takes a tenth of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _functions() -> Any:
    return importlib.import_module("structgen.grammars._compiled.functions")


def _plain(functions: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    return importlib.import_module("structgen.grammars._compiled.plain").compile_plainly(functions)
