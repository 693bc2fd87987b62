"""Short rules in a row part a token in many ways: masks stay exact, and no store overflows or begins anew for ever."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from vocabularies import BYTES, bytewise

from structgen.errors import GrammarLimitExceeded
from structgen.grammars import DEAD, TokenVocabulary, compile_gbnf, compile_json_schema
from structgen.grammars.automaton.growing_tables import Tables
from structgen.grammars.automaton.interior_store import InteriorStore
from structgen.grammars.automaton.tables import C_WALKS, ITEMS

ROWS = [
    "root ::= (w | x)+\nw ::= [a-c]{1,2}\nx ::= [a-c ]{1,2}",
    "root ::= (w | x)+\nw ::= [a-c]{1,30}\nx ::= [a-c ]{1,30}",
    "root ::= s*\ns ::= [ \\t\\n]{0,20}",
    'root ::= (s x s)*\ns ::= [ \\n]{0,20}\nx ::= [a-c]{1,20} | ""',
    "root ::= a a a a\na ::= [ a-c]{1,9}",
]
TEXTS = ["".join(one).encode() for size in (2, 3, 4) for one in itertools.product("abc \n", repeat=size)]


def vocabulary(room: int | None = None) -> TokenVocabulary:
    found = TokenVocabulary.from_bytes([*BYTES, b"", *TEXTS], [256])
    if room is not None:
        found._interiors = InteriorStore(found._trie, found.eos_token_ids, room)
    return found


def assert_exact(matcher, row: np.ndarray, state: int) -> None:
    matcher.fill_mask(state, row)
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    for token in range(257 + len(TEXTS)):
        assert bool(bits[token]) == (matcher.advance(state, token) != DEAD)


@pytest.mark.parametrize("grammar", ROWS, ids=["two", "thirty", "spaces", "around", "four"])
@pytest.mark.parametrize("room", [None, 60_000, 4_000], ids=["room", "little room", "no room"])
def test_masks_are_exact_whatever_the_store_has_room_for(grammar, room):
    automaton = compile_gbnf(grammar, vocabulary(room))
    with automaton.matcher() as matcher:
        row, state = np.empty(matcher._words, np.int32), matcher.start
        for byte in b"ab c":
            assert_exact(matcher, row, state)
            after = matcher.advance(state, byte)
            state = state if after == DEAD else after


def test_what_has_no_room_is_walked():
    automaton = compile_gbnf(ROWS[1], vocabulary(4_000))
    with automaton.matcher() as matcher:
        assert_exact(matcher, np.empty(matcher._words, np.int32), matcher.start)
        assert matcher._stacks._tables.count(C_WALKS) > 0


def test_a_budget_keeps_tokens_that_many_others_begin_with():
    """A node with many below it is taken whole, its own token too."""
    pieces = [b"A" + bytes(one) for one in itertools.product(b"abcdefghij", repeat=2)]
    automaton = compile_json_schema({"type": "string"}, bytewise(b"Ab", *pieces))
    with automaton.matcher() as matcher:
        state = matcher.advance(matcher.start, ord('"'))
        far, near = np.empty(matcher._words, np.int32), np.empty(matcher._words, np.int32)
        matcher.fill_mask(state, far)
        assert matcher.fill_mask_within(state, near, 100)
        assert (far == near).all()


def test_an_interior_of_a_store_that_has_gone_is_not_made():
    """A trie is named by its place: in a store that has begun anew something else lies there."""
    words = vocabulary()
    automaton, store = compile_gbnf(ROWS[0], words), words._interiors
    with automaton.matcher() as matcher:
        matcher.fill_mask(matcher.start, np.empty(matcher._words, np.int32))
        used, generation = store._used, store.generation
        trie = used - 1
        store.add(matcher._stacks._tables.address, generation - 1, 3, 0, trie, 0, 2)
        assert store._used == used


def test_tables_that_no_address_reaches_are_a_limit():
    with pytest.raises(GrammarLimitExceeded, match="as large as they may be"):
        Tables().make_room(ITEMS, 1 << 31)
    tables = Tables()
    tables.make_room(ITEMS, 1 << 24)
    assert len(tables[ITEMS]) >= 1 << 24
