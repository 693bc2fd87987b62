"""What a grammar allows before each token of a text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structgen.cli.table import aligned

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from structgen.grammars import Matcher, TokenAutomaton, TokenVocabulary

__all__ = ["Step", "TokenSteps", "shown_places"]

_PLACES = 3
"""Rules that a line names at most."""


class Step(NamedTuple):
    """The place before a token, or behind the last one."""

    at: int
    """Byte of the text."""
    token: bytes | None
    """What is taken; ``None`` at the end."""
    allowed: int
    """Tokens that may come, end tokens among them."""
    forced: bool
    """Whether that is a single one, and no end token."""
    is_allowed: bool
    """Whether the token may come; at the end, whether the text may end."""
    places: tuple[tuple[str, str], ...]
    """The rules that hold the text here: (name, JSON pointer or ``""``)."""

    def where(self) -> str:
        """The rules, for people."""
        unique = shown_places(self.places)
        return " or ".join(unique[:_PLACES]) + (" or ..." if len(unique) > _PLACES else "")


class TokenSteps:
    """The steps of a text up to its end, or to the token that leaves the grammar.

    Parameters
    ----------
    automaton : TokenAutomaton
        The grammar.
    tokenizer : Tokenizer or None
        Parts the text into tokens; where there is none, or it does not spell the text as it is, the longest are taken.
    text : bytes
        The text.

    Attributes
    ----------
    steps : list of Step
        In order.
    verdict : Verdict
        On the whole text.
    """

    def __init__(self, automaton: TokenAutomaton, tokenizer: Tokenizer | None, text: bytes) -> None:
        self._vocabulary = automaton.vocabulary
        self.verdict = automaton.check(text)
        token_ids = _encoded(tokenizer, self._vocabulary, text) or _longest(self._vocabulary, text)
        with automaton.matcher() as matcher:
            self.steps = self._follow(matcher, token_ids)

    def _follow(self, matcher: Matcher, token_ids: list[int]) -> list[Step]:
        state, at, steps = matcher.start, 0, list[Step]()
        row = np.empty(len(self._vocabulary.end_row), np.int32)
        for token_id in [*token_ids, None]:
            matcher.fill_mask(state, row)
            count = sum(int(word).bit_count() for word in row.view(np.uint32))
            token = None if token_id is None else self._vocabulary.token_bytes(token_id)
            after = state if token_id is None else matcher.advance(state, token_id)
            may_end = matcher.is_accepting(state)
            is_allowed = may_end if token_id is None else after >= 0
            places = tuple(matcher.explain(state).places)
            steps.append(Step(at, token, count, count == 1 and not may_end, is_allowed, places))
            if after < 0:
                break
            state, at = after, at + len(token or b"")
        return steps

    def lines(self) -> list[str]:
        """A table, and what becomes of the text."""
        heading = ("BYTE", "TOKEN", "ALLOWED", "", "WHERE")
        rows = [
            (str(step.at), _shown(step.token), f"{step.allowed:,}", _remark(step), step.where()) for step in self.steps
        ]
        return [*aligned([heading, *rows]), f"--text: {self.verdict}"]

    def as_object(self) -> dict[str, Any]:
        """The same for machines."""
        steps = [
            step._asdict() | {"token": None if step.token is None else step.token.decode(errors="replace")}
            for step in self.steps
        ]
        verdict = self.verdict._asdict() | {"expected": list(self.verdict.expected), "message": str(self.verdict)}
        return {"tokens": steps, "verdict": verdict}


def shown_places(places: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Each rule once, by its JSON pointer where it has one and else by its name."""
    names = (f"#{pointer}" if pointer.startswith("/") else pointer or name for name, pointer in places)
    return tuple(dict.fromkeys(names))


def _remark(step: Step) -> str:
    if not step.is_allowed:
        return "not allowed" if step.token is not None else "cannot end"
    if step.token is None:
        return "may end"
    return "forced" if step.forced else ""


def _shown(token: bytes | None) -> str:
    if token is None:
        return "(end)"
    try:
        return repr(token.decode())
    except UnicodeDecodeError:  # a part of a character
        return repr(token)


def _encoded(tokenizer: Tokenizer | None, vocabulary: TokenVocabulary, text: bytes) -> list[int] | None:
    """The tokens of a tokenizer, where they spell the text."""
    if tokenizer is None:
        return None
    token_ids: list[int] = tokenizer.encode(text.decode(errors="replace"), add_special_tokens=False).ids
    return token_ids if vocabulary.decode(token_ids) == text else None


def _longest(vocabulary: TokenVocabulary, text: bytes) -> list[int]:
    """The longest token each time, up to a byte that no token begins with."""
    tokens = {spelled: token for token in range(len(vocabulary)) if (spelled := vocabulary.token_bytes(token))}
    longest, place, found = max(map(len, tokens), default=0), 0, list[int]()
    while place < len(text):
        lengths = range(min(longest, len(text) - place), 0, -1)
        length = next((one for one in lengths if text[place : place + one] in tokens), 0)
        if not length:
            break
        found.append(tokens[text[place : place + length]])
        place += length
    return found
