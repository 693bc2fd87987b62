"""Teams: every member works once a step, a lost core costs a few steps, and nothing is left behind."""

from __future__ import annotations

import gc
import threading
import time

import pytest

from structgen.engine.cpu.team import CoreWatch, Team, available_cores


def test_each_member_works_once_and_all_at_the_same_time():
    team, together = Team(3), threading.Barrier(3, timeout=10)
    seen: list[int] = []

    def work(member: int) -> None:
        together.wait()  # which passes only if three are there
        seen.append(member)

    for members in (3, 3):
        seen.clear()
        team.run(work, members)
        assert sorted(seen) == [0, 1, 2]


def test_a_step_may_have_fewer_members():
    team, seen = Team(3), []
    team.run(seen.append, 1)
    team.run(seen.append, 2)
    assert sorted(seen) == [0, 0, 1]


def test_threads_end_with_their_team():
    before = set(threading.enumerate())
    team = Team(3)
    team.run(lambda member: None, 3)
    own = set(threading.enumerate()) - before
    assert len(own) == 2
    del team
    gc.collect()
    deadline = time.monotonic() + 10
    while any(thread.is_alive() for thread in own) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(thread.is_alive() for thread in own)


def test_an_error_of_the_caller_s_part_waits_for_the_others():
    team, ended = Team(2), []

    def work(member: int) -> None:
        if member == 0:
            raise ZeroDivisionError
        time.sleep(0.1)
        ended.append(member)

    with pytest.raises(ZeroDivisionError):
        team.run(work, 2)
    assert ended == [1]
    team.run(ended.append, 2)
    assert sorted(ended) == [0, 1, 1]


def test_there_is_a_core():
    assert available_cores() >= 1


def members_over(watch: CoreWatch, steps: int, lost: float) -> list[int]:
    found = []
    for _ in range(steps):
        found.append(watch.next_members())
        watch.note(found[-1], lost)
    return found


def test_two_late_steps_in_a_row_leave_one_thread_for_a_while():
    watch = CoreWatch(2)
    assert members_over(watch, 3, 0.1) == [2, 2, 2]
    assert members_over(watch, 1, 0.5) == [2]
    assert members_over(watch, 1, 0.2) == [2]
    assert members_over(watch, 2, 0.6) == [2, 2]
    assert members_over(watch, 17, 0.0) == [1] * 16 + [2]


def test_a_core_that_stays_taken_is_tried_ever_less_often():
    found = members_over(CoreWatch(2), 4000, 0.5)
    tries = [place for place, members in enumerate(found) if members == 2]
    assert tries[:5] == [0, 1, 18, 51, 116]
    assert len(tries) == 10


@pytest.mark.parametrize("at_fault", [[0, 1], [1]])
def test_an_error_in_any_part_is_the_caller_s(at_fault):
    team = Team(2)

    def work(member: int) -> None:
        if member in at_fault:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        team.run(work, 2)
    at_fault.clear()
    team.run(work, 2)
