"""Options of the engine, amounts of memory, and how memory is shared out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structgen.engine.kv.sizing import Load, pages_for, pages_within
from structgen.engine.memory import available_memory, format_size, parse_size
from structgen.engine.options import EngineOptions
from structgen.engine.step import CacheGroup
from structgen.errors import InvalidRequest


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_num_seqs", 0),
        ("max_num_seqs", True),
        ("max_model_len", -1),
        ("max_num_batched_tokens", 1.5),
        ("max_num_batched_tokens", 15),
        ("block_size", "16"),
        ("kv_memory", "1 potato"),
        ("kv_memory", 0),
        ("kv_memory", "-1GiB"),
        ("kv_memory", 1.5),
        ("kv_cache_dtype", "fp4"),
    ],
)
def test_an_option_is_refused_by_name(option, value):
    with pytest.raises(InvalidRequest, match=rf"^{option}: "):
        EngineOptions(**{option: value})


@pytest.mark.parametrize(
    ("text", "size"),
    [("1GiB", 2**30), ("1.5 GB", 1_500_000_000), ("64KiB", 65536), ("17", 17), ("17 B", 17), (" 2TiB ", 2**41), (5, 5)],
)
def test_amounts_of_memory_are_read(text, size):
    assert parse_size(text) == size
    assert EngineOptions(kv_memory=text).kv_bytes == size


def test_amounts_of_memory_are_written():
    assert [format_size(size) for size in (0, 1023, 1536, 5 * 2**30)] == ["0 B", "1023 B", "1.5 KiB", "5 GiB"]


def test_some_memory_is_free_here():
    assert 0 < available_memory() < 2**50


groups = st.lists(st.none() | st.integers(1, 100), min_size=1, max_size=3, unique=True)


@given(groups, st.integers(1, 2**20), st.integers(1, 1000), st.data())
def test_memory_is_never_overdrawn(windows, memory, longest, data):
    layout = [CacheGroup((), window) for window in windows]
    sizes = data.draw(st.lists(st.integers(1, 5000), min_size=len(windows), max_size=len(windows)))
    wanted = pages_for(layout, 16, Load(4, longest, 64))
    pages = pages_within(memory, sizes, wanted, [window is not None for window in windows])
    used = sum(count * size for count, size in zip(pages, sizes, strict=True))
    assert used <= memory
    assert all(count >= memory // sum(sizes) for count, one in zip(pages, windows, strict=True) if one is None)
    assert all(count <= want for count, want, one in zip(pages, wanted, windows, strict=True) if one is not None)


def test_a_window_takes_what_it_can_use_and_the_rest_is_for_the_others():
    layout = [CacheGroup((0,), None), CacheGroup((1,), 32)]
    wanted = pages_for(layout, 16, Load(2, 1024, 64))
    assert wanted == (128, 2 * 2 * 3 + 4)
    assert pages_within(1000, [5, 5], wanted, [False, True]) == [184, 16]
    assert pages_within(100, [5, 5], wanted, [False, True]) == [10, 10]
