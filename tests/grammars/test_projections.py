"""Projections: each token lies where plain Python says that its characters lead, from whatever it was projected."""

from __future__ import annotations

import random

import numpy as np
import pytest

from structgen.grammars import TokenVocabulary
from structgen.grammars.automaton.interior_store import InteriorStore
from structgen.grammars.automaton.kinds import kinds_of_any, kinds_of_sets
from structgen.grammars.automaton.projections import Projection, project

CHARACTERS = 'ab1 "\\/\x0b\x7fé\xa0ßЖ中\u2028\ufeff😀𝒳'
FINE = ("ab", "é", "ßЖ", "😀𝒳", "\u2028\ufeff")
COARSE = ("ab1", "ßЖ", "é😀𝒳", "\u2028\ufeff")


def tokens(seed: int) -> list[bytes]:
    """Texts, some of them cut within a character and some no UTF-8."""
    rng = random.Random(seed)
    found = [bytes([one]) for one in range(256)]
    for _ in range(400):
        text = "".join(rng.choices(CHARACTERS, k=rng.randint(1, 6))).encode()
        begin = rng.choice((0, 0, 0, 1))
        found.append(text[begin : rng.choice((len(text), len(text) - 1, len(text)))])
    return [one or b"a" for one in found]


def image_of(token: bytes, first_of: dict[str, str]) -> bytes | None:
    """What stands for ``token``; ``None`` where it cannot come."""
    image = b""
    while token:
        size = next((size for size in range(1, 5) if is_character(token[:size])), 0)
        if size == 0:
            return image + token if may_begin(token) else None
        character = token[:size].decode()
        if character in '"\\':
            return image + token
        if character < " ":
            return None
        image, token = image + first_of.get(character, first_of[""]).encode(), token[size:]
    return image


def is_character(text: bytes) -> bool:
    try:
        return len(text.decode()) == 1
    except UnicodeDecodeError:
        return False


def may_begin(text: bytes) -> bool:
    """Whether a character begins with these bytes; none of them is whole."""
    return any(
        is_character(text + rest)
        for rest in (b"\x80", b"\xa0", b"\x80\x80", b"\xa0\x80", b"\x90\x80", b"\x90\x80\x80", b"\x80\x80\x80")
    )


def laid_out(projection: Projection) -> dict[bytes, list[int]]:
    nodes, children, firsts, held = projection.parts
    its_bytes = np.frombuffer(nodes.tobytes(), np.uint8)
    found: dict[bytes, list[int]] = {}
    below = [(0, b"")]
    while below:
        node, path = below.pop()
        if here := held[firsts[node] : firsts[node + 1]].tolist():
            found[path] = sorted(here)
        below += [(one, path + its_bytes[one : one + 1].tobytes()) for one in range(children[node], children[node + 1])]
    return found


def firsts_of(sets: tuple[str, ...] | None) -> dict[str, str]:
    """What stands for each character, and under ``""`` for those that are not named."""
    if sets is None:
        return {"": " "}
    known = "".join(sets)
    return (
        {chr(one): chr(one) for one in range(0x80) if chr(one) not in known}
        | {"": "\x80"}
        | {one: min(members, key=utf16) for members in sets for one in members}
    )


def utf16(character: str) -> bytes:
    return character.encode("utf-16-be")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sets", [FINE, COARSE, ("ab1/\x7f é\xa0ßЖ中",), None])
def test_tokens_lie_where_their_characters_lead(sets: tuple[str, ...] | None, seed: int) -> None:
    texts = tokens(seed)
    vocabulary = TokenVocabulary([*texts, b""], [len(texts)])
    store = InteriorStore(vocabulary.trie, vocabulary.eos_token_ids)
    kinds, first_of = kinds_of_any() if sets is None else kinds_of_sets(sets), firsts_of(sets)
    expected: dict[bytes, list[int]] = {}
    for number, text in enumerate(texts):
        image = image_of(text, first_of)
        if image is not None:
            expected.setdefault(image, []).append(number)
    for whole in (store._whole, project(store._whole, kinds_of_sets(FINE))):
        assert whole is not None
        if whole is store._whole or kinds.are_all_told_by(kinds_of_sets(FINE)):
            found = project(whole, kinds)
            assert found is not None
            assert laid_out(found) == expected


def test_finer_kinds_tell_coarser_ones() -> None:
    fine, coarse, any_kind = kinds_of_sets(FINE), kinds_of_sets(COARSE), kinds_of_any()
    assert [one.are_all_told_by(fine) for one in (fine, coarse, any_kind)] == [True, True, True]
    assert [one.are_all_told_by(coarse) for one in (fine, coarse, any_kind)] == [False, True, True]
    assert [one.are_all_told_by(any_kind) for one in (fine, coarse, any_kind)] == [False, False, True]
    assert not kinds_of_sets(("abß",)).are_all_told_by(kinds_of_sets(("ab", "ßЖ"))), "ß and Ж are of one kind there"
