"""A grammar's constraint keeps one row for all its masks: what it gives is always the mask of its place."""

from __future__ import annotations

import random

import numpy as np
import pytest
from vocabularies import bytewise

from structgen.engine.constraint import GrammarConstraint
from structgen.grammars import compile_json_schema

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"enum": ["Oslo", "Osaka", "Paris"]},
        "days": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["city", "days"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("seed", range(20))
def test_masks_are_those_of_the_place_whatever_was_asked_before(seed):
    rng, vocabulary = random.Random(seed), bytewise()
    automaton = compile_json_schema(SCHEMA, vocabulary)
    end_row = vocabulary.end_row
    constraint = GrammarConstraint(automaton, end_row)
    expected = np.empty_like(end_row)
    forced = 0
    with automaton.matcher() as matcher:
        state = matcher.start
        for _ in range(200):
            if constraint.must_end():
                break
            for ask in rng.sample(["forced", "within", "mask", "fits"], k=rng.randint(0, 4)):
                if ask == "forced":
                    assert constraint.forced_tokens() == matcher.forced_tokens(state)
                elif ask == "within":
                    constraint.mask_within(rng.randrange(60))
                elif ask == "mask":
                    constraint.mask()
                else:
                    constraint.fits(rng.randrange(256), 100)
            matcher.fill_mask(state, expected)
            assert np.array_equal(constraint.mask(), expected)
            allowed = np.flatnonzero(np.unpackbits(expected.view(np.uint8), bitorder="little"))
            allowed = [int(token) for token in allowed if not end_row[token // 32] >> token % 32 & 1]
            token = rng.choice(allowed)
            constraint.advance(token)
            state = matcher.advance(state, token)
            for token in constraint.forced_tokens():
                forced += 1
                constraint.advance(token)
                state = matcher.advance(state, token)
    constraint.close()
    assert forced
