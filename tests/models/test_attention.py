"""Attention, rotation, products and the cache against slow and obvious versions of themselves."""

from __future__ import annotations

import cmath

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from structgen.engine.models import LinearScaling, describe
from structgen.engine.models.attention import Scores, attention, attention_mask
from structgen.engine.models.cache import KVCache
from structgen.engine.models.frequencies import inverse_frequencies
from structgen.engine.models.linear import linear
from structgen.engine.models.rope import rotate, rotation

DESCRIPTION = describe(
    "llama",
    {
        "hidden_size": 32,
        "intermediate_size": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 11,
        "max_position_embeddings": 1000,
        "rms_norm_eps": 1e-5,
    },
)


def slow_attention(queries, keys, values, window, scores):
    """One query of one head at a time, in double precision."""
    count, heads, head_dim = queries.shape
    length, group = keys.shape[1], heads // keys.shape[0]
    out = torch.zeros(count, heads, head_dim, dtype=torch.float64)
    for row in range(count):
        position = length - count + row
        first = 0 if window is None else max(0, position - window + 1)
        for head in range(heads):
            seen = slice(first, position + 1)
            products = keys[head // group, seen].double() @ queries[row, head].double() * scores.scale
            if scores.softcap is not None:
                products = scores.softcap * torch.tanh(products / scores.softcap)
            out[row, head] = products.softmax(0) @ values[head // group, seen].double()
    return out.reshape(count, heads * head_dim)


@settings(deadline=None)
@given(
    count=st.integers(1, 9),
    before=st.integers(0, 12),
    kv_heads=st.integers(1, 3),
    group=st.integers(1, 3),
    window=st.none() | st.integers(1, 24),
    softcap=st.none() | st.floats(0.5, 50),
    seed=st.integers(0, 1000),
)
def test_attention_is_that_of_one_query_at_a_time(count, before, kv_heads, group, window, softcap, seed):
    generator = torch.Generator().manual_seed(seed)
    length = before + count
    queries = torch.randn(count, kv_heads * group, 4, generator=generator)
    keys, values = torch.randn(2, kv_heads, length, 4, generator=generator)
    scores = Scores(0.4, softcap)
    found = attention(queries, keys, values, window, attention_mask(count, length, window), scores)
    expected = slow_attention(queries, keys, values, window, scores)
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("scaling", [None, LinearScaling(4.0)])
def test_rotation_turns_pairs_as_complex_numbers(scaling):
    rope = DESCRIPTION.rope.__class__(500.0, scaling)
    frequencies = torch.from_numpy(inverse_frequencies(rope, 8))
    heads = torch.randn(3, 2, 8, generator=torch.Generator().manual_seed(0))
    rotated = rotate(heads, *rotation(frequencies, torch.arange(5, 8)))
    factor = scaling.factor if scaling else 1.0
    for token in range(3):
        for pair in range(4):
            angle = (5 + token) * 500.0 ** (-2 * pair / 8) / factor
            for head in range(2):
                turned = complex(heads[token, head, pair], heads[token, head, pair + 4]) * cmath.exp(1j * angle)
                found = complex(rotated[token, head, pair], rotated[token, head, pair + 4])
                assert abs(found - turned) < 1e-5


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 300), st.booleans()), max_size=8))
def test_the_cache_holds_what_was_committed_and_nothing_else(passes):
    cache = KVCache(DESCRIPTION, torch.float32)
    kept = torch.zeros(2, 0, 2, 8)  # [layers, tokens, kv_heads, head_dim]
    for index, (count, committed) in enumerate(passes):
        new = torch.arange(2 * count * 16, dtype=torch.float32).view(2, count, 2, 8) + 1000 * index
        cache.reserve(count)
        for layer in range(2):
            keys, values = cache.write(layer, new[layer], -new[layer])
            expected = torch.cat((kept[layer], new[layer])).transpose(0, 1)
            assert torch.equal(keys, expected)
            assert torch.equal(values, -expected)
        if committed:
            cache.commit(count)
            kept = torch.cat((kept, new), dim=1)
        assert cache.length == kept.shape[1]


@pytest.mark.parametrize("rows", [1, 7, 8, 40])
@pytest.mark.parametrize("biased", [False, True])
def test_bfloat16_products_are_rounded_once_whatever_their_way(rows, biased):
    generator = torch.Generator().manual_seed(rows)
    inputs, weight, bias = (
        torch.randn(shape, generator=generator).bfloat16() for shape in ((rows, 64), (48, 64), (48,))
    )
    exact = inputs.double() @ weight.double().T + (bias.double() if biased else 0)
    found = linear(inputs, weight, bias if biased else None)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.double(), exact, rtol=2**-8, atol=2**-7)
