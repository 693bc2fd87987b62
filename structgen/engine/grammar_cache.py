"""Grammars compiled from plain data, and kept."""

from __future__ import annotations

import inspect
import json
import threading
from collections import OrderedDict
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import NamedTuple, cast

from structgen.engine.request import GrammarSpec
from structgen.errors import GrammarLimitExceeded, InvalidGrammar, InvalidRequest, PluginError
from structgen.grammars import TokenAutomaton, TokenVocabulary
from structgen.grammars.limits import limited
from structgen.plugins import registry

__all__ = ["CacheStats", "GrammarCache"]


class CacheStats(NamedTuple):
    """What a `GrammarCache` holds and has done."""

    grammars: int
    bytes: int
    """Of their tables, when each was last asked for, and of their sources."""
    hits: int
    """Found, or being compiled for another request, which was waited for."""
    misses: int
    """Compiled, or tried to."""
    evictions: int


class GrammarCache:
    """The most recently used grammars of one vocabulary by their content, under a limit of bytes; safe from any thread.

    Compiling holds up only those who want the same grammar: they wait for the one that began, and get its automaton
    or its error. What fails is not kept.

    Parameters
    ----------
    vocabulary : TokenVocabulary
        What they are compiled against.
    max_bytes : int
        Grammars leave when all together are larger, the least recently used first. The last one asked for stays,
        whatever its size. Tables grow with use, and are measured when their grammar is asked for.
    timeout : float or None
        Seconds that compiling one may take; a grammar's own option ``timeout`` can only make it less.
    """

    def __init__(self, vocabulary: TokenVocabulary, max_bytes: int = 256 << 20, timeout: float | None = 60.0) -> None:
        self._vocabulary, self._max_bytes, self._timeout = vocabulary, max_bytes, timeout
        self._kept: OrderedDict[str, TokenAutomaton] = OrderedDict()  # the least recently used first
        self._sizes: dict[str, int] = {}
        self._compiling: dict[str, Future[TokenAutomaton]] = {}
        self._bytes = self._hits = self._misses = self._evictions = 0
        self._lock = threading.Lock()

    def get(self, spec: GrammarSpec) -> TokenAutomaton:
        """Return the grammar, compiled now if it is neither kept nor being compiled.

        Raises
        ------
        GrammarError
            It cannot be compiled; `InvalidGrammar` where its kind takes no such source or option.
        PluginError
            There is no such kind of grammar.
        InvalidRequest
            The source is not plain data.
        """
        key = _key(spec)
        while True:
            with self._lock:
                automaton = self._kept.get(key)
                if automaton is not None:
                    self._hits += 1
                    self._keep(key, automaton)
                    return automaton
                others = self._compiling.get(key)
                if others is None:
                    self._misses += 1
                    future = self._compiling[key] = Future[TokenAutomaton]()
                else:
                    self._hits += 1
            if others is None:
                return self._fulfil(key, spec, future)
            with suppress(CancelledError):  # its thread was interrupted, which is no news about the grammar
                return others.result()

    def stats(self) -> CacheStats:
        """Counts of what is kept and what was asked."""
        with self._lock:
            return CacheStats(len(self._kept), self._bytes, self._hits, self._misses, self._evictions)

    def _fulfil(self, key: str, spec: GrammarSpec, future: Future[TokenAutomaton]) -> TokenAutomaton:
        """Compile for this caller and for those who wait for ``future``."""
        try:
            automaton = self._compile(spec)
        except BaseException as error:
            with self._lock:
                del self._compiling[key]
            if isinstance(error, Exception):
                future.set_exception(error)
            else:
                future.cancel()
            raise
        with self._lock:
            del self._compiling[key]
            self._keep(key, automaton)
        future.set_result(automaton)
        return automaton

    def _keep(self, key: str, automaton: TokenAutomaton) -> None:
        """Make it the most recently used, measure it, and let others go until all fit."""
        self._kept[key] = automaton
        self._kept.move_to_end(key)
        size = automaton.nbytes + len(key)
        self._bytes += size - self._sizes.get(key, 0)
        self._sizes[key] = size
        while self._bytes > self._max_bytes and len(self._kept) > 1:
            oldest, _ = self._kept.popitem(last=False)
            self._bytes -= self._sizes.pop(oldest)
            self._evictions += 1

    def _compile(self, spec: GrammarSpec) -> TokenAutomaton:
        if not isinstance(cast("object", spec.kind), str):
            raise InvalidGrammar(f"grammar: a kind is a name such as 'json_schema', not {spec.kind!r}")
        compile_grammar = registry("structgen.grammars").load(spec.kind)
        if not callable(compile_grammar):
            raise PluginError(f"structgen.grammars: {spec.kind!r} is not a function that compiles a grammar")
        try:
            inspect.signature(compile_grammar).bind(spec.source, self._vocabulary, **spec.options)
        except TypeError as error:
            raise InvalidGrammar(f"grammar: {spec.kind!r} takes no such options: {error}") from error
        with limited(timeout=self._timeout):
            return cast(TokenAutomaton, compile_grammar(spec.source, self._vocabulary, **spec.options))


def _key(spec: GrammarSpec) -> str:
    """Return the grammar's content as text; the order of keys is part of it, as a schema's properties have one."""
    content = [spec.kind, spec.source, dict(spec.options)]
    try:
        text = json.dumps(content)
        return text if _has_names_only(content) else f"{text} {content!r}"  # of the key 1, JSON makes "1"
    except (TypeError, ValueError) as error:
        raise InvalidRequest(f"grammar: the source of a {spec.kind!r} grammar is not plain data: {error}") from error
    except RecursionError as error:
        raise GrammarLimitExceeded(f"grammar: the source of a {spec.kind!r} grammar is nested too deeply") from error


def _has_names_only(content: object) -> bool:
    """Whether every key in ``content``, which is plain data, is a string."""
    pending = [content]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            members = cast("dict[object, object]", one)
            if not all(isinstance(key, str) for key in members):
                return False
            pending += members.values()
        elif isinstance(one, (list, tuple)):
            pending += cast("list[object]", one)
    return True
