"""AsyncLLM: what LLM says, without holding up the event loop, and nothing left running when nobody awaits it."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from contextlib import aclosing
from typing import Annotated

import pytest
from deltas import settled
from pydantic import AfterValidator, BaseModel

from structgen import AsyncLLM, SamplingParams, tool
from structgen.errors import (
    AnswerCut,
    AnswerRefused,
    BatchFailed,
    EngineClosed,
    GenerationError,
    InvalidRequest,
    PromptTooLong,
    UnsupportedSchema,
)
from structgen.llm import LLM, Answer

ENDLESS = SamplingParams(max_tokens=None, ignore_eos=True)
UNSUPPORTED = {"type": "array", "items": {"type": "object"}, "uniqueItems": True}
USER = {"role": "user", "content": "Hi"}


class Point(BaseModel):
    x: int
    y: int


def hot(seed, n=1, max_tokens=40):
    return SamplingParams(n=n, temperature=1.3, seed=seed, max_tokens=max_tokens)


@pytest.fixture(scope="module")
def shared(tiny_folder):
    llm = AsyncLLM(tiny_folder)
    yield llm
    asyncio.run(llm.close())


async def cancelled(task):
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def aborts_become(client, expected):
    """Whether so many requests were aborted, sooner or later, and then nothing is left of them."""
    for _ in range(2000):
        if aborts(client) == expected:
            return settled(client).finished["abort"] == expected
        time.sleep(0.005)
    return False


def aborts(client):
    return client.metrics().finished.get("abort", 0)


async def until(condition):
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came true")


async def collected(items):
    return [item async for item in items]


def test_the_arguments_are_those_of_the_blocking_one():
    for name in ("__init__", "generate", "chat", "stream"):
        ours, theirs = (inspect.signature(getattr(kind, name)) for kind in (AsyncLLM, LLM))
        assert ours.parameters == theirs.parameters


def test_many_at_once_get_the_answers_of_the_blocking_one_in_shared_steps(shared):
    seeds = range(48)
    expected = [shared.llm.generate("Hi", schema=Point, sampling_params=hot(seed)) for seed in seeds]
    settled(shared.client)
    before = shared.client.metrics()

    async def ask():
        return await asyncio.gather(*(shared.generate("Hi", schema=Point, sampling_params=hot(seed)) for seed in seeds))

    assert asyncio.run(ask()) == expected
    after = settled(shared.client)
    assert after.steps - before.steps < (after.generated_tokens - before.generated_tokens) / 3


def test_lists_choices_details_and_calls_are_those_of_the_blocking_one(shared):
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    async def ask():
        return [
            await shared.generate(["Hi", "Ho"], regex="[a-z]{3}", sampling_params=hot(1, n=2)),
            await shared.chat([USER], tools=[add], sampling_params=hot(2)),
            await shared.chat([[USER], [USER]], choice=["red", "blue"]),
        ]

    assert asyncio.run(ask()) == [
        shared.llm.generate(["Hi", "Ho"], regex="[a-z]{3}", sampling_params=hot(1, n=2)),
        shared.llm.chat([USER], tools=[add], sampling_params=hot(2)),
        shared.llm.chat([[USER], [USER]], choice=["red", "blue"]),
    ]
    answer = asyncio.run(shared.generate("Hi", schema=int, return_details=True))
    assert isinstance(answer, Answer)
    assert answer.value == shared.llm.generate("Hi", schema=int)


def test_a_refused_answer_is_drawn_again(shared):
    def even(number):
        if number % 2:
            raise ValueError("odd")
        return number

    kind = Annotated[int, AfterValidator(even)]
    params = hot(0, n=8, max_tokens=8)
    assert asyncio.run(shared.generate("Hi", schema=kind, sampling_params=params, retries=20)) == shared.llm.generate(
        "Hi", schema=kind, sampling_params=params, retries=20
    )
    with pytest.raises(BatchFailed) as caught:
        asyncio.run(shared.generate("Hi", schema=kind, sampling_params=params, retries=0))
    assert {type(error) for error in caught.value.errors} == {AnswerRefused}


@pytest.mark.parametrize("options", [{}, {"schema": Point}, {"schema": Point, "return_details": True}])
def test_a_streams_items_add_up_to_those_of_the_blocking_one(shared, options):
    async def ask():
        async def one(seed):
            return await collected(shared.stream("Hi", sampling_params=hot(seed, max_tokens=60), **options))

        return await asyncio.gather(*(one(seed) for seed in range(6)))

    def whole(items):
        texts = [item.text if options.get("return_details") else item for item in items]
        return "".join(texts), items[-1].value if options.get("return_details") else None

    for seed, items in enumerate(asyncio.run(ask())):
        expected = list(shared.llm.stream("Hi", sampling_params=hot(seed, max_tokens=60), **options))
        assert whole(items) == whole(expected)


def test_errors_are_those_of_the_blocking_one(shared):
    calls = [
        (InvalidRequest, lambda llm: llm.generate(3)),
        (InvalidRequest, lambda llm: llm.generate("Hi", retries=-1)),
        (PromptTooLong, lambda llm: llm.generate("long " * 2000)),
        (UnsupportedSchema, lambda llm: llm.generate("Hi", schema=UNSUPPORTED)),
        (AnswerCut, lambda llm: llm.generate("Hi", schema=Point, sampling_params=SamplingParams(stop=":"))),
        (InvalidRequest, lambda llm: llm.chat([{"content": "Hi"}])),
    ]
    for kind, call in calls:
        with pytest.raises(kind) as theirs:
            call(shared.llm)
        with pytest.raises(kind) as ours:
            asyncio.run(call(shared))
        assert str(ours.value) == str(theirs.value)
    with pytest.raises(TypeError, match="temprature"):
        asyncio.run(shared.generate("Hi", temprature=1))


def test_a_streams_errors_come_with_its_items(shared):
    async def begin(**options):
        return await collected(shared.stream("Hi", **options))

    with pytest.raises(UnsupportedSchema):
        asyncio.run(begin(schema=UNSUPPORTED))
    with pytest.raises(AnswerCut, match="stop string"):
        asyncio.run(begin(schema=Point, sampling_params=SamplingParams(stop=":")))


def test_cancelling_aborts_the_request_and_frees_its_pages(shared):
    async def ask():
        tasks = [asyncio.create_task(shared.generate(["Hi"] * 3, sampling_params=ENDLESS)) for _ in range(2)]
        tasks.append(asyncio.create_task(collected(shared.stream("Hi", sampling_params=ENDLESS))))
        await until(lambda: shared.client.metrics().running == 7)
        for task in tasks:
            await cancelled(task)
        await until(lambda: not shared.client.metrics().running)  # while the loop still runs

    before = aborts(shared.client)
    asyncio.run(ask())
    assert aborts_become(shared.client, before + 7)
    assert shared.client.metrics().kv_pages_held == 0


def test_cancelling_one_leaves_the_others(shared):
    expected = shared.llm.generate("Hi", sampling_params=hot(5))

    async def ask():
        doomed = asyncio.create_task(shared.generate("Hi", sampling_params=ENDLESS))
        others = [asyncio.create_task(shared.generate("Hi", sampling_params=hot(5))) for _ in range(4)]
        await until(lambda: shared.client.metrics().running)
        await cancelled(doomed)
        return await asyncio.gather(*others)

    assert asyncio.run(ask()) == [expected] * 4
    settled(shared.client)


def test_leaving_a_stream_aborts_its_request(shared):
    async def ask():
        async with aclosing(shared.stream("Hi", sampling_params=ENDLESS)) as stream:
            async for piece in stream:
                return piece

    before = aborts(shared.client)
    assert asyncio.run(ask())
    assert aborts_become(shared.client, before + 1)


def test_a_time_limit_of_asyncio_ends_a_request(shared):
    async def ask():
        await asyncio.wait_for(shared.generate("Hi", sampling_params=ENDLESS), 0.05)

    before = aborts(shared.client)
    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(ask())
    assert aborts_become(shared.client, before + 1)


def test_validators_and_grammars_do_not_hold_up_the_loop(shared):
    """The validator waits for the loop: on the loop's own thread it would wait for itself."""
    validating, turned = threading.Event(), threading.Event()

    def wait_for_the_loop(number):
        validating.set()
        assert turned.wait(timeout=20)
        return number

    async def ask():
        task = asyncio.create_task(shared.generate("Hi", schema=Annotated[int, AfterValidator(wait_for_the_loop)]))
        await until(validating.is_set)
        asyncio.get_running_loop().call_later(0.05, turned.set)
        return await task

    assert asyncio.run(ask()) == shared.llm.generate("Hi", schema=int)


def test_a_grammar_is_compiled_and_a_prompt_written_on_another_thread(shared, monkeypatch):
    seen = set()

    def watched(function):
        def call(*arguments):
            seen.add(threading.current_thread())
            return function(*arguments)

        return call

    monkeypatch.setattr(shared.llm.client, "prepare", watched(shared.llm.client.prepare))
    monkeypatch.setattr(shared.llm.prompt_writer, "write", watched(shared.llm.prompt_writer.write))

    async def ask():
        await shared.generate("Hi", regex="[0-9]{2}")
        await collected(shared.stream("Hi", regex="[0-9]{2}"))

    asyncio.run(ask())
    assert seen
    assert threading.current_thread() not in seen


def test_what_is_cancelled_while_its_prompt_is_written_is_aborted_afterwards(shared, monkeypatch):
    write, begun, go_on = shared.llm.prompt_writer.write, threading.Event(), threading.Event()

    def held_up(question):
        begun.set()
        assert go_on.wait(timeout=20)
        return write(question)

    monkeypatch.setattr(shared.llm.prompt_writer, "write", held_up)

    async def ask(call):
        begun.clear()
        go_on.clear()
        task = asyncio.create_task(call)
        await until(begun.is_set)
        started = time.monotonic()
        await cancelled(task)
        assert time.monotonic() - started < 10  # it did not wait for what is held up
        go_on.set()

    before = aborts(shared.client)
    for call in (shared.generate, lambda *prompt, **options: collected(shared.stream(*prompt, **options))):
        asyncio.run(ask(call("Hi", sampling_params=ENDLESS)))
        before += 1
        assert aborts_become(shared.client, before)


def test_closing_ends_what_is_awaited_with_an_error_and_refuses_more(tiny_folder):
    async def ask():
        async with AsyncLLM(tiny_folder) as llm:
            awaited = asyncio.create_task(llm.generate("Hi", sampling_params=ENDLESS))
            streamed = asyncio.create_task(collected(llm.stream("Hi", sampling_params=ENDLESS)))
            await until(lambda: llm.client.metrics().running == 2)
        for task in (awaited, streamed):
            with pytest.raises(GenerationError, match="closed before the answer was finished"):
                await task
        await llm.close()
        with pytest.raises(EngineClosed):
            await llm.generate("Hi")
        with pytest.raises(EngineClosed):
            await collected(llm.stream("Hi"))

    asyncio.run(ask())


def test_an_ended_loop_leaves_nothing_running_and_the_next_one_is_served(shared):
    async def leave():
        asyncio.get_running_loop().create_task(shared.generate("Hi", sampling_params=ENDLESS))
        await until(lambda: shared.client.metrics().running)

    before = aborts(shared.client)
    asyncio.run(leave())
    assert aborts_become(shared.client, before + 1)
    assert asyncio.run(shared.generate("Hi", schema=int)) == shared.llm.generate("Hi", schema=int)
