"""Streams whose readers are slow: nothing is lost, nothing piles up, nobody waits for them."""

from __future__ import annotations

import threading

from deltas import gather, settled
from hypothesis import given
from hypothesis import strategies as st

from structgen.engine.mailbox import Mailbox
from structgen.engine.process import HomeProcess
from structgen.engine.request import Delta, Request, SamplingParams, TokenLogprobs, Usage

PROMPT = tuple(range(40, 60))
LONG = SamplingParams(temperature=1, seed=3, max_tokens=300, ignore_eos=True, logprobs=1)


def delta(number):
    return Delta("one", (number,), f"{number} ", (TokenLogprobs(number, -0.5),))


@given(st.lists(st.booleans(), max_size=30))
def test_however_it_is_read_the_deltas_add_up(reads):
    mailbox, found, unread = Mailbox(HomeProcess()), [], 0
    for number, read in enumerate(reads):
        mailbox.put(delta(number))
        unread += 1
        if read:
            found.append(mailbox.take())
            assert len(found[-1].token_ids) == unread
            unread = 0
    mailbox.put(Delta("one", finish_reason="stop", usage=Usage(1, len(reads))))
    found.append(mailbox.take())
    assert [one for each in found for one in each.token_ids] == list(range(len(reads)))
    assert "".join(one.text for one in found) == "".join(f"{number} " for number in range(len(reads)))
    assert [one.token_id for each in found for one in each.logprobs] == list(range(len(reads)))
    assert [one.finished for one in found] == [False] * (len(found) - 1) + [True]


def test_what_is_read_in_time_is_what_was_put():
    mailbox, one = Mailbox(HomeProcess()), delta(1)
    mailbox.put(one)
    assert mailbox.take() is one


def test_a_reader_may_wait_before_there_is_anything():
    mailbox, found = Mailbox(HomeProcess()), []
    thread = threading.Thread(target=lambda: found.append(mailbox.take()))
    thread.start()
    mailbox.put(delta(1))
    thread.join(timeout=10)
    assert found == [delta(1)]


def test_who_cannot_wait_is_woken_once_when_there_is_something():
    mailbox, woken = Mailbox(HomeProcess()), []
    mailbox.when_unread(lambda: woken.append("later"))
    assert woken == []
    mailbox.put(delta(1))
    mailbox.put(delta(2))
    assert woken == ["later"]
    mailbox.when_unread(lambda: woken.append("at once"))
    assert woken == ["later", "at once"]
    assert mailbox.take().token_ids == (1, 2)


def test_who_does_not_read_finds_the_whole_answer_in_one_delta_and_holds_up_nobody(start):
    client = start()
    unread = client.submit(Request(PROMPT, LONG))
    other = gather(client.submit(Request(PROMPT[:5], SamplingParams(max_tokens=4))))
    assert other.last.finish_reason is not None
    settled(client)
    deltas = list(unread)
    assert len(deltas) == 1
    assert len(deltas[0].token_ids) == len(deltas[0].logprobs) == deltas[0].usage.completion_tokens == 300
    read = gather(client.submit(Request(PROMPT, LONG)))
    assert (deltas[0].text, deltas[0].token_ids) == (read.text, read.token_ids)
