"""Recipe: how an automaton was compiled, so that it can be compiled again, saved, or found in a cache."""

from __future__ import annotations

import functools
import inspect
import json
import marshal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from structgen.errors import InvalidGrammar
from structgen.grammars.collector import collector_paused
from structgen.grammars.limits import LIMIT_NAMES, Limits, limited
from structgen.plugins import registry

if TYPE_CHECKING:
    from structgen.grammars.token_automaton import TokenAutomaton
    from structgen.grammars.vocabulary import TokenVocabulary

__all__ = ["Recipe", "front_end", "taken"]

_MARSHAL = 2
"""Later formats depend on what else refers to a string."""

_P = ParamSpec("_P")
_Automaton = TypeVar("_Automaton", bound="TokenAutomaton")


@dataclass(frozen=True)
class Recipe:
    """What an automaton was compiled from, all but the vocabulary.

    It is taken when the automaton was made: what the caller does to its schema later changes nothing here.
    """

    front_end: str
    """Its name among the plugins of ``structgen.grammars``."""
    taken: bytes | None
    """What `taken` gives: of ``[source, options]``."""

    @property
    def text(self) -> str | None:
        """JSON: ``[source, options]``; ``None`` where that is no plain data, as with a ``referencing.Registry``."""
        if self.taken is None:
            return None
        try:
            return json.dumps(marshal.loads(self.taken))
        except (TypeError, ValueError, RecursionError):  # plain to Python, but not to JSON
            return None

    def source_and_options(self) -> tuple[Any, dict[str, Any]]:
        """What the front end was given.

        Raises
        ------
        InvalidGrammar
            It was not plain data.
        """
        text = self.text
        if text is None:
            raise InvalidGrammar(
                f"this {self.front_end} automaton cannot be compiled again: its source or an option is no plain data; "
                "give JSON values, a registry as a mapping"
            )
        source, options = json.loads(text)
        return source, options

    def compile(self, vocabulary: TokenVocabulary) -> TokenAutomaton:
        """The automaton, compiled again.

        Raises
        ------
        GrammarError
            As the front end does.
        PluginError
            The front end is not installed.
        """
        source, options = self.source_and_options()
        compile_grammar = cast("Callable[..., TokenAutomaton]", registry("structgen.grammars").load(self.front_end))
        try:
            inspect.signature(compile_grammar).bind(source, vocabulary, **options)
        except TypeError as error:
            raise InvalidGrammar(f"the front end {self.front_end!r} takes no such options: {error}") from error
        return compile_grammar(source, vocabulary, **options)


def front_end(
    name: str, *, plain: Mapping[str, Callable[[Any], Any]] | None = None
) -> Callable[[Callable[_P, _Automaton]], Callable[_P, _Automaton]]:
    """Mark a function ``(source, vocabulary, **options)`` as the front end ``name``.

    The function gets the keyword arguments of `Limits`, which hold while it runs, and what it returns remembers its
    `Recipe`; ``plain`` makes plain data of options that may be something else. Its own signature ends in
    ``**limits: Unpack[Limits]``; its body never sees them.
    """

    def mark(compile_grammar: Callable[_P, _Automaton]) -> Callable[_P, _Automaton]:
        signature = _signature(compile_grammar)
        known = tuple(signature.parameters)
        names = known[2:]

        @functools.wraps(compile_grammar)
        def compile_limited(*args: _P.args, **kwargs: _P.kwargs) -> _Automaton:
            limits = {one: kwargs.pop(one) for one in LIMIT_NAMES if one in kwargs}
            unknown = next((one for one in kwargs if one not in known), None)
            if unknown is not None:
                raise TypeError(f"{compile_grammar.__name__}() got an unexpected keyword argument {unknown!r}")
            with limited(**cast("Limits", limits)), collector_paused():
                automaton = compile_grammar(*args, **kwargs)
            options = dict(zip(names, args[2:], strict=False)) | {key: kwargs[key] for key in kwargs if key in names}
            for one in options.keys() & (plain or {}).keys():
                options[one] = (plain or {})[one](options[one])
            source = args[0] if args else kwargs[known[0]]
            automaton.recipe = Recipe(name, taken(source, options | _kept(limits)))
            return automaton

        compile_limited.__dict__["__signature__"] = signature
        return compile_limited

    return mark


def _signature(function: Callable[..., object]) -> inspect.Signature:
    """That of ``function``, each limit in it by name, so that a wrong option is found before anything is compiled."""
    signature = inspect.signature(function)
    own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    limits = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Limits.__annotations__[name])
        for name in LIMIT_NAMES
    ]
    return signature.replace(parameters=[*own, *limits])


def _kept(limits: dict[str, Any]) -> dict[str, Any]:
    """The limits that stay with an automaton."""
    return {name: limits[name] for name in ("max_states", "max_bytes") if limits.get(name) is not None}


def taken(source: object, options: Mapping[str, Any]) -> bytes | None:
    """``[source, options]`` as `marshal` has it, the same for equal ones; ``None`` where that is no plain data.

    JSON would take three times as long, which is much of the time that a large schema takes.
    """
    both = [source, {name: value for name, value in options.items() if value is not None}]
    try:
        return marshal.dumps(both, _MARSHAL)
    except ValueError:  # it knows no subclasses of plain types
        pass
    try:
        return marshal.dumps(json.loads(json.dumps(both)), _MARSHAL)
    except (TypeError, ValueError, RecursionError):
        return None
