"""Random members of languages, and texts that nearly are."""

from __future__ import annotations

import random

from structgen.grammars.char_dfa import CharDfa
from structgen.grammars.language import Language

_ODD = "aZ09_-.:/ \t\n@#%[]{}\\'\"éK\u0660\ufeff\U0001f600"


def members_of(language: Language, choose: random.Random, count: int, longest: int = 40) -> list[str]:
    """So many random members at most, of about ``longest`` characters at most where the language has shorter ones."""
    if language.texts is not None:
        return [choose.choice(language.texts) for _ in range(count)]
    assert language.dfa is not None
    high = longest if language.high is None else min(language.high, max(longest, language.low))
    found = [_walked(language.dfa, choose, choose.randint(min(language.low, high), high)) for _ in range(count)]
    return [text for text in found if language.contains(text)]


def _walked(dfa: CharDfa, choose: random.Random, goal: int) -> str:
    """A walk that goes straight to an end once it has come to ``goal`` characters."""
    state, text = 0, ""
    while not dfa.accepting[state] or len(text) < goal:
        places = list(range(dfa.starts[state], dfa.starts[state + 1]))
        if len(text) >= goal and not dfa.accepting[state]:
            places = [place for place in places if dfa.shortest[dfa.targets[place]] < dfa.shortest[state]]
        if not places:
            break
        place = choose.choice(places)
        low, high = dfa.lows[place], dfa.highs[place]
        text += chr(choose.choice([low, high, choose.randint(low, high)]))
        state = dfa.targets[place]
    return text


def changed(text: str, choose: random.Random) -> str:
    """The text with one character added, left out or replaced."""
    place, char = choose.randint(0, len(text)), choose.choice(_ODD)
    return choose.choice(
        [text[:place] + char + text[place:], text[:place] + text[place + 1 :], text[:place] + char + text[place + 1 :]]
    )
