"""Clients that do not read: what is kept for them stays small, and others are served meanwhile."""

from __future__ import annotations

import asyncio

import pytest
from deltas import settled
from starlette.requests import Request as HttpRequest

from structgen import SamplingParams
from structgen.server.planning import Plan
from structgen.server.running import run_turns
from structgen.server.turns import Ended, TextPiece, start_turns

TOKENS = 300
CHOICES = 3


@pytest.fixture
def plan(served_llm):
    params = SamplingParams(temperature=1, seed=1, max_tokens=TOKENS, ignore_eos=True)
    return Plan(tuple(range(40, 60)), params, None, None, False)


async def read_late(llm, plan, request):
    """Read nothing until the engine has made everything, and then all."""
    before = llm.client.metrics().generated_tokens
    events = run_turns(start_turns(llm, plan, CHOICES), request)
    found = [await anext(events)]
    while llm.client.metrics().generated_tokens < before + CHOICES * TOKENS:
        await asyncio.sleep(0.01)
    return found + [event async for event in events]


def http_request(*messages):
    queue = asyncio.Queue()
    for message in messages:
        queue.put_nowait({"type": message})
    return HttpRequest({"type": "http"}, queue.get)


def test_what_a_slow_client_has_not_read_is_put_together(served_llm, plan):
    async def both():
        late = await read_late(served_llm, plan, http_request())
        in_time = [one async for one in run_turns(start_turns(served_llm, plan, CHOICES), http_request())]
        return late, in_time

    late, in_time = asyncio.run(both())
    # The queue, what was read, and for each what its thread has in hand, what was put together, and the end.
    assert len(late) <= 64 + 1 + 3 * CHOICES < len(in_time)
    assert texts(late) == texts(in_time)
    assert sum(isinstance(event, Ended) for _, event in late) == CHOICES


def texts(events):
    return [
        "".join(event.text for place, event in events if place == choice and isinstance(event, TextPiece))
        for choice in range(CHOICES)
    ]


def test_the_threads_of_a_client_that_is_gone_end_though_nobody_reads(served_llm, plan):
    async def leave():
        before = asyncio.all_tasks()
        run_turns(start_turns(served_llm, plan, CHOICES), http_request("http.disconnect"))  # and never iterate
        tasks = asyncio.all_tasks() - before
        done, pending = await asyncio.wait(tasks, timeout=20)
        return done, pending

    done, pending = asyncio.run(leave())
    assert (len(done), len(pending)) == (1 + CHOICES, 0)
    settled(served_llm.client)
