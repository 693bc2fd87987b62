"""What ``structgen check`` finds out, and how it says it."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from structgen.cli.second_opinion import LAYOUT_ONLY, second_opinion
from structgen.engine.request import GrammarSpec
from structgen.errors import GrammarError, InvalidGrammar, SchemaError, UnsupportedSchema

if TYPE_CHECKING:
    from structgen.grammars import Relaxation, TokenAutomaton, TokenVocabulary, Verdict

__all__ = ["Question", "Report"]

SHOWN = 120
"""Characters that a line shows of texts which may be of any length."""

_WARM_UP = {
    "json_schema": {"type": "null"},
    "regex": "a",
    "gbnf": "root ::= [a]",
    "ebnf": "root ::= [a]",
    "lark": "start: /a/",
    "structural_tag": {"format": {"type": "any_text"}},
}
"""Compiled first, so that times are those of compiling and not of importing the compiler."""


class Question(NamedTuple):
    """What is to be checked."""

    name: str
    """Of the grammar, for people."""
    spec: GrammarSpec
    text_name: str
    """Of the text, for people."""
    text: bytes | None


class Report:
    """The answers to a question, found step by step.

    Parameters
    ----------
    question : Question
        What is to be checked.
    vocabulary : TokenVocabulary
        The tokens to compile for.

    Attributes
    ----------
    good : bool
        The grammar compiles, and the text, if there is one, is accepted.
    samples : list of str
        Texts of the grammar.
    """

    def __init__(self, question: Question, vocabulary: TokenVocabulary) -> None:
        self._question, self._vocabulary = question, vocabulary
        self._automaton: TokenAutomaton | None = None
        self._error: GrammarError | None = None
        self._verdict: Verdict | None = None
        self._ending: str | None = None
        self._opinion: str | None = None
        self._compile_time = self._first_mask_time = 0.0
        self._mask_times: list[float] = []
        self.good = False
        self.samples: list[str] = []

    def compile(self) -> bool:
        """Compile the grammar and compute its first mask; returns whether it compiles.

        Raises
        ------
        InvalidGrammar
            The question itself is wrong: an option that the front end does not take.
        """
        from structgen.engine.grammar_cache import GrammarCache
        from structgen.grammars import SchemaRelaxed

        spec = self._question.spec
        _mask_times(GrammarCache(self._vocabulary).get(GrammarSpec(spec.kind, _WARM_UP[spec.kind])), self._vocabulary)
        before = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SchemaRelaxed)  # the report says it
                self._automaton = GrammarCache(self._vocabulary).get(spec)
        except InvalidGrammar:
            raise
        except GrammarError as error:
            self._error = error
            return False
        self._compile_time = time.perf_counter() - before
        (self._first_mask_time,) = _mask_times(self._automaton, self._vocabulary)
        self.good = True
        return True

    def draw(self, number: int, seed: int) -> None:
        """Draw random texts."""
        if self._automaton is not None:
            self.samples = [self._automaton.sample(seed + place) for place in range(number)]

    def judge(self) -> None:
        """Check the text, if there is one."""
        from structgen.grammars.sampling import has_special_tokens

        automaton, text = self._automaton, self._question.text
        if automaton is None or text is None:
            return
        verdict = self._verdict = automaton.check(text)
        self._mask_times = _mask_times(automaton, self._vocabulary, text[: verdict.at])
        if not verdict.accepted:
            self.good = False
            if verdict.refusal:  # the grammar accepts it, and the verdict says what the validator does not
                return
            spec = self._question.spec
            if not has_special_tokens(automaton.start):  # which have no text to show
                self._ending = automaton.ending(text[: verdict.at])
            if spec.kind == "json_schema":
                self._opinion = second_opinion(spec.source, spec.options, text, verdict.path)

    def lines(self) -> list[str]:
        """The report for people."""
        if self._error is not None:
            return [f"{self._question.name}: {_one_line(_message(self._error))}"]
        lines = [f"{self._question.name}: {self._cost()}"]
        lines += [f"  {_one_line(str(one))}; whole texts are validated" for one in self._relaxed()]
        if self._verdict is not None:
            lines.append(f"{self._question.text_name}: {_one_line(str(self._verdict))}{self._mask_cost()}")
        hints = self._hints()
        return [*lines, f"  {'; '.join(hints)}"] if hints else lines

    def as_object(self) -> dict[str, Any]:
        """The report for machines: times in milliseconds, sizes in bytes."""
        found: dict[str, Any] = {"grammar": self._question.name, "compiles": self._error is None}
        if self._error is not None:
            return found | {"error": _as_object(self._error)}
        if self._automaton is not None:
            found |= {
                "compile_ms": 1e3 * self._compile_time,
                "first_mask_ms": 1e3 * self._first_mask_time,
                "vocabulary": len(self._vocabulary),
                **self._automaton.stats()._asdict(),
                "relaxed": [one._asdict() for one in self._automaton.relaxed],
            }
        if self._verdict is not None:
            verdict = self._verdict._asdict() | {
                "expected": list(self._verdict.expected),
                "message": str(self._verdict),
            }
            found["instance"] = {
                "name": self._question.text_name,
                **verdict,
                "ending": self._ending,
                "value": self._opinion,
                "mask_ms": [1e3 * one for one in self._mask_times],
            }
        return found | {"samples": self.samples}

    def _relaxed(self) -> tuple[Relaxation, ...]:
        return () if self._automaton is None else self._automaton.relaxed

    def _hints(self) -> list[str]:
        """What helps beyond the place of a fault."""
        if self._opinion == LAYOUT_ONLY:
            return [LAYOUT_ONLY]
        ending = f"this would end it: {_shown(self._ending)}" if self._ending else None
        return list(filter(None, [self._opinion and _shown(self._opinion), ending]))

    def _cost(self) -> str:
        """What the grammar takes."""
        if self._automaton is None:
            return "not compiled"
        stats = self._automaton.stats()
        return (
            f"compiles in {_duration(self._compile_time)}, first mask in {_duration(self._first_mask_time)} "
            f"({len(self._vocabulary):,} tokens); {_count(stats.states, 'state')}, {_count(stats.rules, 'rule')}, "
            f"{_count(stats.masks, 'mask')}, {stats.bytes / 1024:,.0f} KiB"
        )

    def _mask_cost(self) -> str:
        """What the masks along the text take."""
        times = self._mask_times
        if not times or self._verdict is None or not self._verdict.accepted:
            return ""
        mean = _duration(sum(times) / len(times))
        return f"; {_count(len(times), 'mask')} on the way in {mean} each, {_duration(max(times))} at most"


def _mask_times(automaton: TokenAutomaton, vocabulary: TokenVocabulary, text: bytes = b"") -> list[float]:
    """Seconds for the mask before each token of ``text`` and the one after it; the longest tokens are taken."""
    import numpy as np

    tokens = {spelled: token for token in range(len(vocabulary)) if (spelled := vocabulary.token_bytes(token))}
    longest = max(map(len, tokens), default=0)
    row = np.zeros((len(vocabulary) + 31) // 32, np.int32)
    times: list[float] = []
    with automaton.matcher() as matcher:
        state, place = matcher.start, 0
        while state >= 0:
            before = time.perf_counter()
            matcher.fill_mask(state, row)
            times.append(time.perf_counter() - before)
            lengths = range(min(longest, len(text) - place), 0, -1)
            length = next((one for one in lengths if text[place : place + one] in tokens), 0)
            if not length:  # at the end, or where the vocabulary cannot spell what follows
                break
            state, place = matcher.advance(state, tokens[text[place : place + length]]), place + length
    return times


def _message(error: GrammarError) -> str:
    return str(error) if isinstance(error, SchemaError) else f"{type(error).__name__}: {error}"


def _as_object(error: GrammarError) -> dict[str, Any]:
    found: dict[str, Any] = {"type": type(error).__name__, "message": _message(error)}
    if isinstance(error, SchemaError):
        found |= {"pointer": error.pointer, "why": error.why}
    if isinstance(error, UnsupportedSchema):
        found["keyword"] = error.keyword
    return found


def _shown(text: str) -> str:
    one_line = _one_line(text)
    return one_line if len(one_line) <= SHOWN else f"{one_line[: SHOWN - 3]}..."


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _duration(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{1e3 * seconds:.1f} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.0f} us"
