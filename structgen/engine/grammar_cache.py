"""Grammars compiled from plain data, and kept."""

from __future__ import annotations

import inspect
import json
import threading
from collections import OrderedDict
from typing import cast

from structgen.engine.request import GrammarSpec
from structgen.errors import GrammarLimitExceeded, InvalidGrammar, InvalidRequest, PluginError
from structgen.grammars import TokenAutomaton, TokenVocabulary
from structgen.plugins import registry

__all__ = ["GrammarCache"]


class GrammarCache:
    """The most recently used grammars of one vocabulary; safe from any thread.

    Parameters
    ----------
    vocabulary : TokenVocabulary
        What they are compiled against.
    capacity : int
        How many are kept.
    """

    def __init__(self, vocabulary: TokenVocabulary, capacity: int = 128) -> None:
        self._vocabulary = vocabulary
        self._capacity = capacity
        self._kept: OrderedDict[str, TokenAutomaton] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, spec: GrammarSpec) -> TokenAutomaton:
        """Return the grammar, compiled now if it is not kept.

        Two threads that ask for a new one at once may both compile it; neither waits for the other.

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
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        automaton = self._compile(spec)
        with self._lock:
            self._kept[key] = automaton
            while len(self._kept) > self._capacity:
                self._kept.popitem(last=False)
        return automaton

    def _compile(self, spec: GrammarSpec) -> TokenAutomaton:
        compile_grammar = registry("structgen.grammars").load(spec.kind)
        if not callable(compile_grammar):
            raise PluginError(f"structgen.grammars: {spec.kind!r} is not a function that compiles a grammar")
        try:
            inspect.signature(compile_grammar).bind(spec.source, self._vocabulary, **spec.options)
        except TypeError as error:
            raise InvalidGrammar(f"grammar: {spec.kind!r} takes no such options: {error}") from error
        return cast(TokenAutomaton, compile_grammar(spec.source, self._vocabulary, **spec.options))


def _key(spec: GrammarSpec) -> str:
    """Return the grammar's content as text; the order of keys is part of it, as a schema's properties have one."""
    try:
        return json.dumps([spec.kind, spec.source, dict(spec.options)])
    except (TypeError, ValueError) as error:
        raise InvalidRequest(f"grammar: the source of a {spec.kind!r} grammar is not plain data: {error}") from error
    except RecursionError as error:
        raise GrammarLimitExceeded(f"grammar: the source of a {spec.kind!r} grammar is nested too deeply") from error
