"""Whether a text is one of a structural tag, decided from the definition: slow, plain, without any automaton.

A text is a sequence of symbols: characters as strings, special tokens as numbers. `Oracle.ends` gives every place where
a format that begins at some place may end.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

__all__ = ["Oracle", "Symbol", "all_texts"]

Symbol = str | int
Marker = str | int
Format = dict[str, Any]


class Around(NamedTuple):
    """The ends of the innermost tag; if ``follows``, one of them is part of what is looked for."""

    ends: tuple[Marker, ...] = ("",)
    follows: bool = True


class Oracle:
    """The language of one format over some special tokens."""

    def __init__(self, spec: Format, tokens: Sequence[int] = ()) -> None:
        self._spec, self._tokens = spec, tokens
        self._symbols: tuple[Symbol, ...] = ()

    def accepts(self, symbols: Sequence[Symbol]) -> bool:
        self._symbols = tuple(symbols)
        return len(symbols) in self.ends(self._spec, 0, Around())

    def ends(self, spec: Format, at: int, around: Around) -> set[int]:
        kind = spec["type"]
        if kind in ("sequence", "or", "optional", "star", "plus", "repeat"):
            return getattr(self, f"_{kind}")(spec, at, around)
        if kind in ("any_text", "any_tokens", "triggered_tags", "token_triggered_tags", "dispatch", "token_dispatch"):
            return self._region(spec, at, around)
        return self._after(set(getattr(self, f"_{kind}")(spec, at)), around)

    def _after(self, places: set[int], around: Around) -> set[int]:
        if not around.follows:
            return places
        return {after for place in places for end in around.ends for after in self._mark(end, place)}

    def _mark(self, marker: Marker, at: int) -> Iterator[int]:
        """The place after a text or special token that stands at ``at``, if it does."""
        symbols = [marker] if isinstance(marker, int) else list(marker)
        if list(self._symbols[at : at + len(symbols)]) == symbols:
            yield at + len(symbols)

    def _texts(self, at: int) -> Iterator[tuple[str, int]]:
        """Every text that begins at ``at``, with its end."""
        for end in range(at, len(self._symbols) + 1):
            piece = self._symbols[at:end]
            if any(isinstance(one, int) for one in piece):
                return
            yield "".join(str(one) for one in piece), end

    # Formats that hold no other

    def _const_string(self, spec: Format, at: int) -> Iterator[int]:
        return self._mark(spec["value"], at)

    def _token(self, spec: Format, at: int) -> Iterator[int]:
        return self._mark(spec["token"], at)

    def _regex(self, spec: Format, at: int) -> Iterator[int]:
        return (end for text, end in self._texts(at) if re.fullmatch(spec["pattern"], text))

    def _json_schema(self, spec: Format, at: int) -> Iterator[int]:
        validator = Draft202012Validator(spec["json_schema"])
        for text, end in self._texts(at):
            try:
                value = json.loads(text)
            except ValueError:
                continue
            if validator.is_valid(value) and json.dumps(value) == text:
                yield end

    # Formats of formats

    def _sequence(self, spec: Format, at: int, around: Around) -> set[int]:
        *first, last = spec["elements"]
        places = {at}
        for one in first:
            places = {end for place in places for end in self.ends(one, place, around._replace(follows=False))}
        return {end for place in places for end in self.ends(last, place, around)}

    def _or(self, spec: Format, at: int, around: Around) -> set[int]:
        return {end for one in spec["elements"] for end in self.ends(one, at, around)}

    def _optional(self, spec: Format, at: int, around: Around) -> set[int]:
        return self._times(spec["content"], at, around, 0, 1)

    def _star(self, spec: Format, at: int, around: Around) -> set[int]:
        return self._times(spec["content"], at, around, 0, 99)

    def _plus(self, spec: Format, at: int, around: Around) -> set[int]:
        return self._times(spec["content"], at, around, 1, 99)

    def _repeat(self, spec: Format, at: int, around: Around) -> set[int]:
        return self._times(spec["content"], at, around, spec["min"], 99 if spec["max"] == -1 else spec["max"])

    def _times(self, content: Format, at: int, around: Around, low: int, high: int) -> set[int]:
        places, found, seen = {at}, set[int](), set[tuple[int, ...]]()
        for count in range(high + 1):
            if count == low == 0:
                found |= self._after(places, around)
            if count == high or (count >= low and tuple(sorted(places)) in seen):
                break
            seen.add(tuple(sorted(places)))
            if count + 1 >= low:
                found |= {end for place in places for end in self.ends(content, place, around)}
            places = {end for place in places for end in self.ends(content, place, around._replace(follows=False))}
        return found

    # Tags

    def _tag(self, spec: Format, at: int) -> Iterator[int]:
        for place in self._mark(_marker(spec["begin"]), at):
            yield from self._rest(spec, place)

    def _rest(self, spec: Format, at: int) -> set[int]:
        """The ends of a tag whose beginning has been read."""
        ends = spec["end"] if isinstance(spec["end"], list) else [spec["end"]]
        return self.ends(spec["content"], at, Around(tuple(map(_marker, ends))))

    def _tags_with_separator(self, spec: Format, at: int) -> set[int]:
        found = set() if spec.get("at_least_one") else {at}
        places, seen = {at}, set[int]()
        while places - seen:
            seen |= places
            places = {end for place in places for tag in spec["tags"] for end in self._tag(tag, place)}
            found |= places
            if spec.get("stop_after_first"):
                break
            places = {after for place in places for after in self._mark(spec["separator"], place)}
        return found

    def _reasoning(self, spec: Format, at: int) -> set[int]:
        content = {"type": "any_text"}
        tag = {"begin": spec.get("begin", "<think>"), "content": content, "end": spec.get("end", "</think>")}
        places = set(self._tag(tag, at))
        for _ in range(2):
            places |= {after for place in places for after in self._mark("\n", place)}
        return places

    # Prose

    def _region(self, spec: Format, at: int, around: Around) -> set[int]:
        stops = spec.get("stop_after_first", not spec.get("loop", True))
        found, pending, seen = set[int](), [(at, bool(spec.get("at_least_one")))], set[tuple[int, bool]]()
        while pending:
            place, needs_tag = one = pending.pop()
            if one in seen:
                continue
            seen.add(one)
            out, tags = self._prose(spec, place, around)
            if not needs_tag:
                found |= out
            if stops:
                found |= self._stopped(spec, tags, around)
            else:
                pending += [(end, False) for tag, after in tags for end in self._follow(spec, tag, after, around)]
        return found

    def _stopped(self, spec: Format, tags: list[tuple[Any, int]], around: Around) -> set[int]:
        if spec["type"] in ("dispatch", "token_dispatch"):
            return {end for (_, content), after in tags for end in self.ends(content, after, around)}
        return self._after({end for tag, after in tags for end in self._rest(tag, after)}, around)

    def _follow(self, spec: Format, tag: Any, after: int, around: Around) -> set[int]:
        if spec["type"] in ("dispatch", "token_dispatch"):
            return self.ends(tag[1], after, around._replace(follows=False))
        return self._rest(tag, after)

    def _prose(self, spec: Format, at: int, around: Around) -> tuple[set[int], list[tuple[Any, int]]]:
        """Where prose that begins at ``at`` may end; the tags that may interrupt it, with where their bodies begin."""
        triggers, tags = _dispatched(spec)
        ends = [one for one in around.ends if one != ""] if around.follows else []
        forbidden = [*spec.get("excludes", []), *(one for one in around.ends if not around.follows and one != "")]
        markers = [one for one in (*triggers, *ends, *forbidden) if isinstance(one, str)]
        out, begun, first = set[int](), list[tuple[Any, int]](), at
        for place in range(at, len(self._symbols) + 1):
            text = "".join(str(one) for one in self._symbols[first:place])
            complete = [one for one in markers if text.endswith(one)]
            if complete:
                if not any(one in complete for one in forbidden):
                    for marker in complete:
                        start = place - len(marker)
                        out |= {
                            end
                            for one in ends
                            if isinstance(one, str) and one.startswith(marker)
                            for end in self._mark(one, start)
                        }
                        begun += [
                            (tag, end)
                            for tag, begin in tags
                            if marker in triggers and isinstance(begin, str) and begin.startswith(marker)
                            for end in self._mark(begin, start)
                        ]
                break
            if not around.follows or "" in around.ends:
                out.add(place)
            if place == len(self._symbols):
                break
            symbol = self._symbols[place]
            if isinstance(symbol, int):
                out |= {place + 1 for one in ends if one == symbol}
                begun += [(tag, place + 1) for tag, begin in tags if begin == symbol and symbol in triggers]
                is_marker = symbol in triggers or symbol in around.ends or symbol in spec.get("exclude_tokens", [])
                if not spec["type"].startswith(("any_tokens", "token_")) or is_marker or symbol not in self._tokens:
                    break
                first = place + 1
        return out, begun


def _marker(given: Any) -> Marker:
    return given["token"] if isinstance(given, dict) else given


def _dispatched(spec: Format) -> tuple[list[Marker], list[tuple[Any, Marker]]]:
    """The triggers, and the tags (or rules) with what they begin with."""
    if "rules" in spec:
        return [rule[0] for rule in spec["rules"]], [(rule, rule[0]) for rule in spec["rules"]]
    triggers = [_marker(one) for one in (*spec.get("triggers", []), *spec.get("trigger_tokens", []))]
    return triggers, [(tag, _marker(tag["begin"])) for tag in spec.get("tags", [])]


def all_texts(alphabet: Sequence[Symbol], longest: int) -> Iterator[tuple[Symbol, ...]]:
    """Every text of at most so many symbols."""
    for size in range(longest + 1):
        yield from itertools.product(alphabet, repeat=size)
