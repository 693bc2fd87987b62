"""The sampler against a slow, obvious one, and its draws against the distribution they come from."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from structgen._compiled.entries import prepare
from structgen.engine.cpu.drawing.drawer import Drawer
from structgen.engine.noise import keyed_uniforms
from structgen.engine.request import SamplingParams
from structgen.engine.sampler import Sampler
from structgen.errors import GenerationError

WORD = 2**64 - 1


@pytest.fixture(scope="module", autouse=True)
def compile_all():
    """Before hypothesis looks at the clock."""
    prepare("structgen.engine.cpu")


GAMMA = 0x9E3779B97F4A7C15


def reference_mix(word):
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & WORD
    return word ^ (word >> 31)


def reference_uniform(seed, choice, position, token_id):
    key = 0
    for word in (seed, choice, position):
        key = reference_mix((key + word + GAMMA) & WORD)
    return ((reference_mix((key + (token_id + 1) * GAMMA) & WORD) >> 11) + 0.5) / 2**53


def reference_draw(logits, params, allowed, prompt, answer, seed, choice, position):
    """One token after the other, in Python's floats."""
    values = {}
    for token_id in range(len(logits)):
        logit = logits[token_id] + params.logit_bias.get(token_id, 0.0)
        if token_id in prompt or token_id in answer:
            penalty = params.repetition_penalty
            logit = logit / penalty if logit > 0 else logit * penalty
        if token_id in answer:
            logit -= params.presence_penalty + params.frequency_penalty * answer.count(token_id)
        if token_id in allowed:
            values[token_id] = logit
    if params.temperature == 0:
        return max(values, key=lambda token_id: (values[token_id], -token_id))
    values = {token_id: logit / params.temperature for token_id, logit in values.items()}
    best = max(values.values())
    if params.min_p:
        clearly(values.values(), best + math.log(params.min_p))
        values = {token_id: v for token_id, v in values.items() if v >= best + math.log(params.min_p)}
    if params.top_k:
        least = sorted(values.values(), reverse=True)[: params.top_k][-1]
        values = {token_id: v for token_id, v in values.items() if v >= least}
    if params.top_p < 1:
        total, before, kept = sum(math.exp(v - best) for v in values.values()), 0.0, {}
        for token_id in sorted(values, key=lambda token_id: (-values[token_id], token_id)):
            clearly([before], params.top_p)
            if before < params.top_p:
                kept[token_id] = values[token_id]
            before += math.exp(values[token_id] - best) / total
        values = kept
    noise = {t: -math.log(-math.log(reference_uniform(seed, choice, position, t))) for t in values}
    scores = sorted((values[t] + noise[t] for t in values), reverse=True)
    assume(len(scores) < 2 or scores[0] - scores[1] > 1e-4)  # float32 may not tell such scores apart
    return max(values, key=lambda token_id: values[token_id] + noise[token_id])


def clearly(values, border):
    """Leave out the cases that hang on the last bit of a float."""
    assume(all(abs(value - border) > 1e-4 for value in values))


def mask_of(allowed, size):
    row = np.zeros(-(-size // 32), np.uint32)
    for token_id in allowed:
        row[token_id // 32] |= np.uint32(1 << token_id % 32)
    return row.view(np.int32)


@st.composite
def draws(draw):
    size = draw(st.integers(1, 70))
    token_ids = st.integers(0, size - 1)
    logits = draw(st.lists(st.integers(-40, 40).map(lambda n: n / 4), min_size=size, max_size=size))
    params = SamplingParams(
        temperature=draw(st.sampled_from([0, 0.5, 1, 2])),
        top_p=draw(st.sampled_from([1, 0.9, 0.5, 0.01])),
        top_k=draw(st.sampled_from([0, 1, 2, 5, 100])),
        min_p=draw(st.sampled_from([0, 0.05, 0.5])),
        presence_penalty=draw(st.sampled_from([0, 0.5, -1])),
        frequency_penalty=draw(st.sampled_from([0, 0.25, 2])),
        repetition_penalty=draw(st.sampled_from([1, 2, 0.5])),
        logit_bias=draw(st.dictionaries(token_ids, st.sampled_from([-100, -1.5, 3]), max_size=3)),
    )
    history = st.lists(token_ids, max_size=6)
    place = (draw(st.integers(0, WORD)), draw(st.integers(0, 5)), draw(st.integers(0, 5000)))
    return logits, params, draw(st.sets(token_ids, min_size=1)), draw(history), draw(history), place


@given(draws())
def test_the_sampler_agrees_with_the_obvious_one(case):
    logits, params, allowed, prompt, answer, (seed, choice, position) = case
    sampler = Sampler(params, seed=seed, choice=choice, prompt_token_ids=prompt)
    for token_id in answer:
        sampler.observe(token_id)
    expected = reference_draw(logits, params, allowed, prompt, answer, seed, choice, position)
    assert sampler.draw(np.array(logits, np.float32), mask_of(allowed, len(logits)), position) == expected


def test_the_uniforms_are_the_documented_hash():
    token_ids = np.array([0, 1, 49151, 262143])
    for key in ((0, 0, 0), (WORD, 3, 77), (1234567890123456789, 0, 1)):
        expected = [reference_uniform(*key, int(token_id)) for token_id in token_ids]
        assert keyed_uniforms(*key, token_ids).tolist() == expected


def softmax(logits):
    weights = np.exp(logits.astype(np.float64) - logits.max())
    return weights / weights.sum()


def test_frequencies_follow_the_distribution():
    logits = np.array([2.0, 1.0, 0.0, -1.0, 1.5, 0.5], np.float32)
    sampler = Sampler(SamplingParams(temperature=0.8), seed=7)
    count = 4000
    drawn = np.bincount([sampler.draw(logits, None, position) for position in range(count)], minlength=len(logits))
    expected = softmax(logits / np.float32(0.8)) * count
    chi_squared = float(((drawn - expected) ** 2 / expected).sum())
    assert chi_squared < 20.5  # 5 degrees of freedom: one seed in a thousand is above


@pytest.mark.parametrize("moved", ["seed", "choice", "position"])
def test_draws_at_different_keys_are_independent(moved):
    """Chi-squared over pairs of draws whose keys differ by one in one part."""
    pairs, token_ids = np.zeros((4, 4)), np.arange(4)
    for number in range(2000):
        keys = [{"seed": 11, "choice": 0, "position": 0, moved: 2 * number + step} for step in (0, 1)]
        first, second = (int(keyed_uniforms(**key, token_ids=token_ids).argmax()) for key in keys)
        pairs[first, second] += 1
    assert float(((pairs - 125) ** 2 / 125).sum()) < 37.7  # 15 degrees of freedom, one in a thousand


def test_drawing_again_gives_the_same_token_and_leaves_the_logits_alone():
    logits = np.random.default_rng(0).normal(0, 1, 1000).astype(np.float32)
    before = logits.copy()
    params = SamplingParams(temperature=1.2, top_p=0.9, logit_bias={3: 5}, repetition_penalty=1.3)
    sampler = Sampler(params, seed=5, prompt_token_ids=[1, 2])
    first = [sampler.draw(logits, None, position) for position in range(50)]
    assert [sampler.draw(logits, None, position) for position in range(50)] == first
    assert len(set(first)) > 10
    assert np.array_equal(logits, before)


def test_a_banned_token_is_never_drawn():
    sampler = Sampler(SamplingParams(), seed=0, banned=[1])
    assert sampler.draw(np.array([0.0, 9.0, 1.0], np.float32), None, 0) == 2


@pytest.mark.parametrize("temperature", [0, 1])
@pytest.mark.parametrize("bad", [math.nan, -math.inf, math.inf])
def test_logits_that_cannot_be_drawn_from_are_an_error(temperature, bad):
    sampler = Sampler(SamplingParams(temperature=temperature), seed=0)
    with pytest.raises(GenerationError, match="finite"):
        sampler.draw(np.array([bad, -math.inf], np.float32), None, 0)


def test_logprobs_are_the_models_own():
    logits = np.array([1.0, 3.0, 2.0], np.float32)
    found = Sampler(SamplingParams(logprobs=2, temperature=2, logit_bias={0: 9}), seed=0).logprobs(logits, 0)
    expected = np.log(softmax(logits)).tolist()
    assert found.token_id == 0
    assert found.logprob == pytest.approx(expected[0])
    assert [token_id for token_id, _ in found.top] == [1, 2]
    assert [value for _, value in found.top] == pytest.approx([expected[1], expected[2]])


def test_a_draw_over_a_large_vocabulary_looks_at_few_tokens_and_finds_the_best_score():
    logits = np.random.default_rng(1).normal(0, 3, 49152).astype(np.float32)
    sampler = Sampler(SamplingParams(temperature=1), seed=2**64 - 1)
    for position in range(50):
        uniforms = keyed_uniforms(2**64 - 1, 0, position, np.arange(49152))
        expected = int(np.argmax(logits.astype(np.float64) - np.log(-np.log(uniforms))))
        assert sampler.draw(logits, None, position) == expected


def obvious_kept(logits, params):
    """Ids that min-p, top-k and top-p leave, in numpy's double precision."""
    values = (logits / np.float32(params.temperature)).astype(np.float64)
    ids = np.flatnonzero(values >= values.max() + (math.log(params.min_p) if params.min_p else -math.inf))
    ids = ids[np.argsort(-values[ids], kind="stable")]
    if params.top_k and params.top_k < len(ids):
        ids = ids[values[ids] >= values[ids[params.top_k - 1]]]
    weights = np.exp(values[ids] - values.max())
    before = np.cumsum(weights) - weights
    return np.sort(ids[before < params.top_p * weights.sum()]) if params.top_p < 1 else np.sort(ids)


@pytest.mark.parametrize("spread", [0.0, 1.0, 4.0])
@pytest.mark.parametrize(
    "settings",
    [{"top_p": 0.9}, {"top_p": 0.99, "min_p": 0.01}, {"top_k": 40}, {"top_k": 5000, "top_p": 0.5}, {"min_p": 0.1}, {}],
    ids=str,
)
def test_many_rows_over_a_large_vocabulary_draw_what_numpy_would(spread, settings):
    random, rows, drawer = np.random.default_rng(7), [], Drawer(2)
    expected = []
    for number in range(12):
        logits = random.normal(0, spread, 20_011).astype(np.float32)
        params = SamplingParams(temperature=0.7, **settings)
        rows.append(Sampler(params, seed=number).row(logits, None, number))
        kept = obvious_kept(logits, params)
        noise = -np.log(-np.log(keyed_uniforms(number, 0, number, kept)))
        expected.append(int(kept[np.argmax((logits / np.float32(0.7))[kept] + noise)]))
    assert drawer.draw(rows) == expected


def test_rows_of_different_settings_are_drawn_as_if_they_were_alone():
    random, rows = np.random.default_rng(8), []
    for number in range(40):
        logits = random.normal(0, 3, 3001).astype(np.float32)
        params = SamplingParams(
            temperature=number % 3 / 2, top_k=number % 4 * 7, top_p=1 - number % 5 / 10, logit_bias={number: 4}
        )
        mask = mask_of(random.integers(0, 3001, 60).tolist(), 3001) if number % 2 else None
        rows.append(Sampler(params, seed=number, banned=[5]).row(logits, mask, 3))
    drawer = Drawer(2)
    together = drawer.draw(rows)
    assert together == [token for row in rows for token in drawer.draw([row])]
    assert len(set(together)) > 20
    for row, token in zip(rows, together, strict=True):
        assert isinstance(token, int)
        assert row.mask is None or row.mask.view(np.uint32)[token // 32] >> token % 32 & 1


def test_a_row_that_cannot_be_drawn_from_does_not_spoil_others():
    good, bad = np.array([0.0, 2.0, 1.0], np.float32), np.array([0.0, math.nan, 1.0], np.float32)
    rows = [Sampler(SamplingParams(), seed=1).row(logits, None, 0) for logits in (good, bad, good)]
    first, second, third = Drawer(1).draw(rows)
    assert (first, third) == (1, 1)
    assert isinstance(second, GenerationError)
