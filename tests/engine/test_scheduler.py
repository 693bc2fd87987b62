"""The scheduler against a clock and a model that are not real; the pages are."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from paged_memory import PagedMemory

from structgen.engine.kv import KVManager
from structgen.engine.scheduler import Scheduler
from structgen.engine.step import CacheGroup
from structgen.engine.task import Task, TaskState

PAGE = 4
FULL = CacheGroup((0,), None)
WINDOW = CacheGroup((1,), 6)
LAYOUTS = ([FULL], [FULL, WINDOW], [WINDOW])


class Engine:
    """A scheduler, and a model whose every answer is as long as was asked and made of tokens of its own."""

    def __init__(self, *, pages=100, groups=(FULL,), max_num_seqs=16, max_num_batched_tokens=32):
        self.groups = groups
        self.budget, self.max_num_seqs = max_num_batched_tokens, max_num_seqs
        self.kv = KVManager(groups, [pages] * len(groups), PAGE)
        self.scheduler = Scheduler(self.kv, max_num_seqs=max_num_seqs, max_num_batched_tokens=max_num_batched_tokens)
        self.memory = PagedMemory(self.kv)
        self.left = {}
        self.followers = {}
        self.ends = {}
        self.steps = 0
        self.prompt_tokens_computed = 0

    @property
    def known(self):
        return len(self.left) + len(self.ends) + sum(map(len, self.followers.values()))

    def submit(self, prompt, answer=1, *, choices=1, priority=0, deadline=None, salt=""):
        """With several choices the others follow the first, which is returned, until its prompt is computed."""
        first = self.known
        task, *followers = (
            Task(self.kv.new_sequence(list(prompt), salt), arrival=first + n, priority=priority, deadline=deadline)
            for n in range(choices)
        )
        self._lead(task, followers, answer)
        return task

    def _lead(self, task, followers, answer):
        self.left[task] = answer
        self.followers[task] = [(follower, answer) for follower in followers]
        self.scheduler.submit(task)

    def end(self, task, why="aborted"):
        self.scheduler.end(task)
        del self.left[task]
        self.ends[task] = (why, self.steps)
        if orphans := self.followers.pop(task):
            (heir, answer), *others = orphans
            self._lead(heir, [other for other, _ in others], answer)

    def step(self):
        plan = self.scheduler.schedule()
        self.steps += 1
        assert plan.rows or not self.left
        assert sum(row.length for row in plan.rows) <= self.budget
        assert self.scheduler.running <= self.max_num_seqs
        self.memory.copy(plan.copies)
        for task, start, length in plan.rows:
            assert task.state is TaskState.RUNNING
            assert (start, length > 0) == (task.sequence.computed, True)
            self.memory.check(task.sequence, self.groups)
            self.memory.write(task.sequence, length)
            self.prompt_tokens_computed += max(0, min(start + length, task.prompt_tokens) - start)
        for row in plan.rows:
            self.scheduler.computed(row)
            if not row.task.remaining:
                self._share(row.task)
                self._generate(row.task)
        return plan

    def _share(self, leader):
        followers, self.followers[leader] = self.followers[leader], []
        for task, answer in followers:
            self.scheduler.fork(task, leader)
            happened[f"forked and {task.state.value}"] += 1
            self.left[task], self.followers[task] = answer, []
            self._generate(task)

    def _generate(self, task):
        self.left[task] -= 1
        if self.left[task]:
            task.sequence.tokens.append(1000 + task.arrival)
        else:
            self.end(task, "done")

    def run(self, limit=10_000):
        while self.left:
            self.step()
            assert self.steps < limit

    def when(self, task):
        """The step in which a task was done."""
        why, step = self.ends[task]
        assert why == "done"
        return step


happened: Counter[str] = Counter()


class TasksUnderLoad(RuleBasedStateMachine):
    @initialize(groups=st.sampled_from(LAYOUTS), pages=st.integers(11, 18), seqs=st.integers(1, 6))
    def start(self, groups, pages, seqs):
        self.engine = Engine(groups=groups, pages=pages, max_num_seqs=seqs, max_num_batched_tokens=12)
        self.now = 0

    @rule(
        shared=st.integers(0, 20),
        own=st.integers(1, 8),
        answer=st.integers(1, 16),
        priority=st.integers(0, 2),
        patience=st.none() | st.integers(1, 40),
        salt=st.sampled_from(["", "", "other"]),
        together=st.integers(1, 4),
        choices=st.sampled_from([1, 1, 1, 2, 4]),
    )
    def arrive(self, shared, own, answer, priority, patience, salt, together, choices):
        deadline = None if patience is None else self.now + patience
        for _ in range(together):
            number = self.engine.known
            prompt = [number // 8] * shared + [2000 + number] * own
            self.engine.submit(prompt, answer, choices=choices, priority=priority, deadline=deadline, salt=salt)

    @precondition(lambda self: self.engine.left)
    @rule(choice=st.integers(0, 99))
    def abort(self, choice):
        tasks = list(self.engine.left)
        task = tasks[choice % len(tasks)]
        happened[f"aborted while {task.state.value}"] += 1
        self.engine.end(task)

    @rule(steps=st.integers(1, 5))
    def go_on(self, steps):
        for _ in range(steps):
            self.now += 1
            while late := self.engine.scheduler.expired(self.now):  # who waited behind one of them may come up too
                assert all(task.deadline <= self.now for task in late)
                happened["too late"] += len(late)
                for task in late:
                    self.engine.end(task)
            plan = self.engine.step()
            happened["preempted"] += len(plan.preempted)
            happened["steps"] += 1

    @invariant()
    def pages_are_where_they_should_be(self):
        self.engine.kv.check()
        waiting = [task for task in self.engine.left if task.state is not TaskState.RUNNING]
        assert self.engine.scheduler.waiting == len(waiting)
        assert all(task.sequence.tip is None for task in waiting)
        assert all(task.deadline is None or task.deadline > self.now for task in self.engine.left)

    def teardown(self):
        """Whatever came, all is done in the end, and nobody holds a page."""
        work = sum(
            (len(task.sequence.tokens) + left) * (1 + len(self.engine.followers[task]))
            for task, left in self.engine.left.items()
        )
        self.engine.run(limit=self.engine.steps + 20 * work + 1)
        happened["done"] += sum(why == "done" for why, _ in self.engine.ends.values())
        assert all(pool.held == 0 for pool in self.engine.kv.pools)


LOAD = settings(max_examples=100, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck))


def test_every_task_is_done_unless_it_was_ended():
    happened.clear()
    run_state_machine_as_test(TasksUnderLoad, settings=settings(LOAD, derandomize=True))
    print(dict(happened))
    states = {f"aborted while {state.value}" for state in (TaskState.WAITING, TaskState.JOINING, TaskState.RUNNING)}
    assert happened.keys() >= {*states, "too late", "done", "forked and running", "forked and waiting"}
    assert happened["preempted"] > 0


@pytest.mark.slow
def test_every_task_is_done_in_other_histories_too():
    run_state_machine_as_test(TasksUnderLoad, settings=settings(LOAD, max_examples=1000))
    print(dict(happened))


def test_generating_comes_before_prompts_and_prompts_are_cut():
    engine = Engine(max_num_batched_tokens=16)
    generating = [engine.submit([n], 50) for n in range(3)]
    engine.step()
    long = engine.submit(range(100, 200), 1)
    (*rows, last) = engine.step().rows
    assert [(row.task, row.length) for row in rows] == [(task, 1) for task in generating]
    assert (last.task, last.length) == (long, 13)


def test_a_short_prompt_does_not_wait_behind_a_long_one():
    engine = Engine(max_num_batched_tokens=32, pages=300)
    long = engine.submit(range(1000), 1)
    engine.step()
    short = engine.submit([5] * 10, 1)
    engine.step()
    assert engine.when(short) == 2
    engine.run()
    assert engine.when(long) == 32  # 1,010 tokens in steps of 32


def test_a_long_prompt_gets_half_a_step_whatever_comes_after_it():
    engine = Engine(max_num_batched_tokens=32)
    long = engine.submit(range(320), 1)
    while long in engine.left:
        engine.submit([500 + engine.steps] * 30, 1)
        engine.submit([900 + engine.steps] * 30, 1)
        engine.step()
    assert engine.when(long) <= 20


def test_sixteen_with_one_prefix_compute_it_once():
    engine = Engine(max_num_batched_tokens=512, pages=1000)
    tasks = [engine.submit([*range(70), *[100 + n] * 7], 4) for n in range(16)]
    assert len(engine.step().rows) == 1
    assert [task.state for task in tasks[1:]] == [TaskState.JOINING] * 15
    assert len(engine.step().rows) == 16
    engine.run()
    assert engine.prompt_tokens_computed == 70 + 16 * 7
    assert [task.cached_tokens for task in tasks] == [0] + [70] * 15


def test_a_prefix_is_joined_while_its_prompt_goes_on():
    engine = Engine(max_num_batched_tokens=16, pages=1000)
    leader = engine.submit(range(400), 1)
    follower = engine.submit([*range(20), 999], 1)
    engine.run()
    assert follower.cached_tokens == 20
    assert engine.when(follower) < engine.when(leader) / 4


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_when_the_leader_dies_one_of_those_who_wait_takes_over(steps):
    engine = Engine(max_num_batched_tokens=16, pages=1000)
    leader, *others = (engine.submit([*range(60), 100 + n], 1) for n in range(4))
    for _ in range(1 + steps):
        engine.step()
    engine.end(leader)
    assert len(engine.step().rows) == 1
    engine.run()
    assert engine.prompt_tokens_computed == 60 + len(others)


def test_the_urgent_do_not_wait_for_the_less_urgent():
    engine = Engine(max_num_batched_tokens=16, pages=1000)
    engine.submit(range(60), 1, priority=1)
    engine.step()
    urgent = engine.submit(range(60), 1)
    engine.step()
    assert urgent.state is TaskState.RUNNING


def test_the_smaller_priority_starts_first():
    engine = Engine(max_num_seqs=1)
    late, soon, first = (engine.submit([n], 2, priority=p) for n, p in enumerate((5, 0, -1)))
    engine.run()
    assert engine.when(first) < engine.when(soon) < engine.when(late)


def test_without_pages_the_latest_gives_way_and_the_first_is_never_touched():
    engine = Engine(pages=12)
    first, second, third = (engine.submit([n] * 7, 24) for n in range(3))
    engine.run()
    assert first.preemptions == 0
    assert second.preemptions + third.preemptions > 0
    assert engine.when(first) <= engine.when(second) <= engine.when(third)


def test_the_less_urgent_give_their_pages_to_the_urgent():
    engine = Engine(pages=12)
    low = engine.submit([1] * 30, 10, priority=1)
    engine.step()
    high = engine.submit([2] * 30, 2)
    engine.step()
    assert low.state is TaskState.WAITING
    engine.run()
    assert engine.when(high) < engine.when(low)


def test_nobody_gives_way_for_ever():
    """A flood of urgent tasks: after three times the low one is left alone."""
    engine = Engine(pages=12)
    low = engine.submit([1] * 30, 10, priority=1)
    while low in engine.left:
        if engine.steps % 4 == 3:
            engine.submit([100 + engine.steps] * 30, 2)
        engine.step()
        assert engine.steps < 100
    assert low.preemptions == 3


def test_who_gave_way_finds_its_pages_again():
    engine = Engine(pages=20)
    low = engine.submit([1] * 30, 10, priority=1)
    for _ in range(5):
        engine.step()
    engine.submit([2] * 61, 2)
    engine.step()
    assert low.state is TaskState.WAITING
    while low.state is not TaskState.RUNNING:
        plan = engine.step()
    (start,) = (row.start for row in plan.rows if row.task is low)
    assert start == 16  # of 34: the other took 16 of the 20 pages


def test_a_sequence_as_long_as_all_pages_runs_alone():
    engine = Engine(pages=10)
    assert engine.kv.longest_sequence == 40
    tasks = [engine.submit([n] * 20, 20) for n in range(3)]
    engine.run()
    assert all(engine.ends[task][0] == "done" for task in tasks)


def test_choices_compute_their_prompt_once_and_share_its_last_page():
    engine = Engine(pages=100)
    engine.submit(range(14), 4, choices=5)
    assert [row.length for row in engine.step().rows] == [14]
    assert engine.kv.pools[0].held == 4  # all of them have the same pages
    plan = engine.step()
    assert [row.length for row in plan.rows] == [1] * 5
    assert len(plan.copies) == 4  # the last one keeps the page
    engine.run()
    assert engine.prompt_tokens_computed == 14


def test_a_choice_without_a_place_starts_again_later_with_what_is_in_the_tree():
    engine = Engine(max_num_seqs=2)
    engine.submit(range(14), 4, choices=3)
    engine.step()
    assert (engine.scheduler.running, engine.scheduler.waiting) == (2, 1)
    engine.run()
    assert engine.prompt_tokens_computed == 14


def test_choices_do_not_overtake_who_waits():
    engine = Engine(max_num_seqs=2)
    engine.submit(range(40), 4, choices=2)
    before = engine.submit([7], 1, priority=-1)
    blocked = engine.submit([8], 1, priority=-1)
    engine.step()
    engine.step()
    engine.run()
    assert max(engine.when(before), engine.when(blocked)) < min(
        step for task, (_, step) in engine.ends.items() if task not in (before, blocked)
    )


def test_a_deadline_is_told_once():
    engine = Engine()
    task = engine.submit([1], 5, deadline=10.0)
    engine.submit([2], 5, deadline=11.0)
    assert engine.scheduler.expired(9.9) == []
    assert engine.scheduler.expired(10.0) == [task]
    assert engine.scheduler.expired(10.5) == []
