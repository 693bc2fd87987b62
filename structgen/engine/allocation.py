"""The cache of an engine: how large it is, and what to say when it cannot be."""

from __future__ import annotations

from structgen.engine.kv import KVManager
from structgen.engine.kv.sizing import Load, pages_for, pages_within
from structgen.engine.memory import available_memory, format_size
from structgen.engine.options import EngineOptions
from structgen.engine.step import PagedRunner
from structgen.errors import InvalidRequest, OutOfMemory

__all__ = ["allocate_cache"]

_SHARE = 4
"""Left to itself, the cache takes one of so many parts of the free memory."""


def allocate_cache(runner: PagedRunner, options: EngineOptions) -> KVManager:
    """Make a runner's pages and return their manager.

    Raises
    ------
    InvalidRequest
        ``max_model_len`` is more than the model takes.
    OutOfMemory
        ``kv_memory`` holds no page, or no sequence of ``max_model_len``; the message says what would do.
    """
    longest = _longest(runner, options)
    groups, size = runner.cache_groups, runner.page_size
    page_bytes = [runner.page_bytes(group) for group in range(len(groups))]
    load = Load(options.max_num_seqs, longest, options.max_num_batched_tokens)
    memory, wanted = options.kv_bytes, pages_for(groups, size, load)
    if memory is None:
        memory = min(available_memory() // _SHARE, _bytes(wanted, page_bytes))
    pages = pages_within(memory, page_bytes, wanted, [group.window is not None for group in groups])
    if min(pages) < 1:
        one = format_size(sum(page_bytes))
        raise OutOfMemory(f"kv_memory: {format_size(memory)} hold no page; one of {size} tokens takes {one}")
    kv = KVManager(groups, pages, size)
    if options.max_model_len is not None and kv.longest_sequence < longest:
        enough = _bytes(pages_for(groups, size, load._replace(sequences=1)), page_bytes)
        raise OutOfMemory(
            f"kv_memory: {format_size(memory)} hold {kv.longest_sequence} tokens and max_model_len={longest}; give "
            f"{format_size(enough)}, or a max_model_len of at most {kv.longest_sequence}"
        )
    runner.allocate(tuple(pages))
    return kv


def _longest(runner: PagedRunner, options: EngineOptions) -> int:
    if options.max_model_len is None:
        return runner.max_model_len
    if options.max_model_len > runner.max_model_len:
        raise InvalidRequest(
            f"max_model_len: the model takes {runner.max_model_len} tokens, and {options.max_model_len} are asked for"
        )
    return options.max_model_len


def _bytes(pages: tuple[int, ...], page_bytes: list[int]) -> int:
    return sum(count * size for count, size in zip(pages, page_bytes, strict=True))
