"""Grammars that took long to compile, kept on disk beside the compiled code: a file for all that one depends on."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from weakref import WeakKeyDictionary

import structgen.grammars
from structgen._compiled.store import Place, sources_of
from structgen.grammars.expr import Rule
from structgen.grammars.rule_files import read_rules, written_rules
from structgen.grammars.saving import fingerprint
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["through_disk"]

_WORTH_KEEPING = 0.01
"""Seconds; what compiles in less is not."""

_OWN_IMPORT = re.compile(r"%import\s*\.")
"""Of a grammar that is no part of `lark`, and may change."""

_fingerprints: WeakKeyDictionary[TokenVocabulary, str] = WeakKeyDictionary()

_OTHERS = ("gbnf", "json_schema", "structural_tag")
"""Folders of front ends that this one does not need where a grammar has nothing foreign in it."""


def through_disk(
    text: str, options: dict[str, object], vocabulary: TokenVocabulary, make: Callable[[], Rule]
) -> TokenAutomaton:
    """The automaton of a grammar: read from disk where it has been made before, else of the rule that ``make`` gives.

    Parameters
    ----------
    text : str
        The grammar. One that imports files of its user's is not kept.
    options : dict
        What else the rule depends on, plain data.
    vocabulary : TokenVocabulary
        The model's tokens.
    make : callable
        Compiles.
    """
    if _OWN_IMPORT.search(text):
        return TokenAutomaton(make(), vocabulary)
    place = Place(_key_of(text, options, vocabulary), "grammar")
    content = place.read()
    if content is not None:
        start, facts = read_rules(content)
        return TokenAutomaton(start, vocabulary, facts=facts)
    began = time.perf_counter()
    start = make()
    automaton = TokenAutomaton(start, vocabulary)
    if time.perf_counter() - began > _WORTH_KEEPING:
        content = written_rules(start, automaton.facts)
        if content is not None:
            place.write(content)
    return automaton


def _key_of(text: str, options: dict[str, object], vocabulary: TokenVocabulary) -> str:
    its = _fingerprints.get(vocabulary)
    if its is None:
        its = _fingerprints[vocabulary] = fingerprint(vocabulary)
    digest = hashlib.sha256(_sources())
    digest.update(json.dumps([text, options, its]).encode())
    return digest.hexdigest()[:32]


@functools.cache
def _sources() -> bytes:
    """A hash over everything here that compiles, and the version of `lark`."""
    folder = Path(structgen.grammars.__file__).parent
    files = (path.relative_to(folder) for path in folder.rglob("*.py"))
    modules = sorted(path.as_posix() for path in files if path.parts[0] not in _OTHERS)
    return sources_of("structgen.grammars", *modules) + version("lark").encode()
