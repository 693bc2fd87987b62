"""Clients that go away, and engines that fail, in the middle of an answer."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import urllib.parse
from collections.abc import Iterator

import openai
import pytest
from serving import client_of

from structgen import LLM
from structgen.engine.client import DeltaStream
from structgen.engine.request import Request

ENDLESS = {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}], "ignore_eos": True}


@pytest.fixture
def aborted(served_llm, monkeypatch) -> threading.Event:
    """Set once the engine was told to abort a request of this test."""
    event = threading.Event()
    submit, abort = served_llm.client.submit_choices, served_llm.client.abort
    request_ids: set[str] = set()  # the server may still be winding up the request of the test before

    def submit_and_note(request: Request) -> tuple[DeltaStream, ...]:
        streams = submit(request)
        request_ids.update(stream.request_id for stream in streams)
        return streams

    def abort_and_tell(request_id: str) -> None:
        abort(request_id)
        if request_id in request_ids:
            event.set()

    monkeypatch.setattr(served_llm.client, "submit_choices", submit_and_note)
    monkeypatch.setattr(served_llm.client, "abort", abort_and_tell)
    return event


@contextlib.contextmanager
def posted(client, body) -> Iterator[http.client.HTTPConnection]:
    """A request on a connection of its own, which ends with the block."""
    address = urllib.parse.urlsplit(str(client.base_url)).netloc
    with contextlib.closing(http.client.HTTPConnection(address, timeout=60)) as connection:
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        yield connection


@pytest.mark.parametrize("choices", [1, 3])
def test_a_client_that_leaves_a_stream_ends_its_request(client, aborted, choices):
    body = {**ENDLESS, "stream": True, "n": choices}
    with posted(client, body) as connection, connection.getresponse() as response:
        assert response.readline().startswith(b"data: ")
        assert not aborted.is_set()
    assert aborted.wait(timeout=30)


def test_a_client_that_does_not_wait_for_its_answer_ends_its_request(client, aborted):
    with posted(client, ENDLESS):
        assert not aborted.is_set()
    assert aborted.wait(timeout=30)


def test_an_answer_that_was_read_is_not_aborted_and_the_next_one_is_whole(client):
    for _ in range(3):
        answer = client.chat.completions.create(
            model="tiny", messages=ENDLESS["messages"], max_tokens=8, extra_body={"ignore_eos": True}
        )
        assert answer.usage.completion_tokens == 8


def test_an_engine_that_ends_ends_a_stream_with_an_error(tiny_folder):
    with LLM(tiny_folder) as llm, client_of(llm, model_name="tiny") as client:
        stream = client.chat.completions.create(
            model="tiny", messages=ENDLESS["messages"], extra_body={"ignore_eos": True}, stream=True
        )
        next(stream)
        llm.close()
        with pytest.raises(openai.APIError, match="engine was closed"):
            list(stream)
        with pytest.raises(openai.InternalServerError, match="engine is closed") as caught:
            client.chat.completions.create(model="tiny", messages=ENDLESS["messages"])
    assert caught.value.status_code == 503
