"""Pages under random arrivals, forks, aborts, preemption and eviction: none is lost, and none says a wrong thing."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from paged_memory import PagedMemory

from structgen.engine.kv import InFlight, KVManager, PagePool
from structgen.engine.step import CacheGroup

PAGE = 4
FULL = CacheGroup((0,), None)
WINDOW = CacheGroup((1,), 6)
NARROW = CacheGroup((2,), 1)
LAYOUTS = ([FULL], [FULL, WINDOW], [WINDOW], [WINDOW, FULL, NARROW], [NARROW])


happened: Counter[str] = Counter()


class PagesUnderLoad(RuleBasedStateMachine):
    sequences = Bundle("sequences")

    @initialize(groups=st.sampled_from(LAYOUTS), pages=st.integers(2, 14))
    def start(self, groups, pages):
        self.groups = groups
        self.manager = KVManager(groups, [pages] * len(groups), PAGE)
        self.memory = PagedMemory(self.manager)
        self.live = []

    @rule(
        target=sequences,
        tokens=st.builds(lambda shared, own: [0] * shared + own, st.integers(0, 24), st.lists(st.just(1), min_size=1)),
        salt=st.sampled_from(["", "", "other"]),
    )
    def arrive(self, tokens, salt):
        sequence = self.manager.new_sequence(list(tokens), salt)
        found = self.manager.found(sequence)
        copies = self.manager.open(sequence)
        if copies is None:
            happened["turned away"] += 1
            assert sequence.tip is None
            return multiple()
        self.memory.copy(copies)
        assert PAGE * found <= sequence.computed < min(PAGE * (found + 1), len(tokens))
        assert bool(copies) == (sequence.computed > PAGE * found)
        if found:
            happened["prefix hit"] += 1
        if copies:
            happened["page in part"] += 1
        self.live.append(sequence)
        return sequence

    @rule(sequence=sequences, count=st.integers(1, 12))
    def compute(self, sequence, count):
        if sequence not in self.live:
            return
        count = min(count, len(sequence.tokens) - sequence.computed)
        if not count:
            return
        before = [(pool.free, pool.cached) for pool in self.manager.pools]
        copies = self.manager.extend(sequence, count)
        if copies is None:
            happened["no pages"] += 1
            assert before == [(pool.free, pool.cached) for pool in self.manager.pools]
            return
        if copies:
            happened["copied on write"] += 1
        self.memory.copy(copies)
        self.memory.write(sequence, count)
        self.manager.advance(sequence, count)

    @rule(sequence=sequences, token=st.integers(0, 1))
    def decode(self, sequence, token):
        if len(sequence.tokens) < 40:
            sequence.tokens.append(token)
            self.compute(sequence, 1)

    @rule(target=sequences, sequence=sequences, token=st.integers(0, 1))
    def fork(self, sequence, token):
        if sequence not in self.live:
            return multiple()
        fork = self.manager.fork(sequence, [*sequence.tokens[: sequence.computed], token])
        self.live.append(fork)
        return fork

    @rule(sequence=sequences)
    def preempt(self, sequence):
        if sequence in self.live:
            self.manager.release(sequence)
            copies = self.manager.open(sequence)
            if copies is None:
                self.live.remove(sequence)
            else:
                self.memory.copy(copies)

    @rule(sequence=consumes(sequences))
    def end(self, sequence):
        self.manager.release(sequence)
        if sequence in self.live:
            self.live.remove(sequence)

    @invariant()
    def nothing_is_lost_and_everything_reads_as_it_was_written(self):
        happened["states"] += 1
        for group, pool in enumerate(self.manager.pools):
            held = {page for sequence in self.live for page in sequence.tables[group] if page >= 0}
            assert pool.held == len(held)
            assert pool.free + pool.cached + pool.held == pool.total
        for sequence in self.live:
            self.memory.check(sequence, self.groups)
        self.manager.check()

    def teardown(self):
        for sequence in self.live:
            self.manager.release(sequence)
        assert all(pool.held == 0 for pool in self.manager.pools)
        self.manager.check()


LOAD = settings(max_examples=100, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck))


def test_no_page_is_lost_or_written_by_two():
    happened.clear()
    run_state_machine_as_test(PagesUnderLoad, settings=settings(LOAD, derandomize=True))
    print(dict(happened))
    assert happened.keys() >= {"turned away", "prefix hit", "page in part", "no pages", "copied on write", "states"}


@pytest.mark.slow
def test_no_page_is_lost_in_other_histories_either():
    run_state_machine_as_test(PagesUnderLoad, settings=settings(LOAD, max_examples=1500))
    print(dict(happened))


def manager_of(pages, groups=(FULL,)):
    return KVManager(groups, [pages] * len(groups), PAGE)


def computed(manager, tokens, salt=""):
    """A sequence all of whose tokens are computed."""
    sequence = manager.new_sequence(list(tokens), salt)
    assert manager.open(sequence) is not None
    manager.extend(sequence, len(tokens) - sequence.computed)
    manager.advance(sequence, len(tokens) - sequence.computed)
    return sequence


def test_full_pages_outlive_their_sequence_and_are_found_again():
    manager = manager_of(8)
    manager.release(computed(manager, range(10)))
    (pool,) = manager.pools
    assert (pool.free, pool.cached, pool.held) == (6, 2, 0)
    again = manager.new_sequence([*range(10), 99])
    assert manager.open(again) == []
    assert again.computed == 8


def test_the_last_token_is_left_for_its_logits():
    manager = manager_of(8)
    manager.release(computed(manager, range(8)))
    assert manager.found(manager.new_sequence(list(range(8)))) == 1
    assert manager.found(manager.new_sequence(list(range(9)))) == 2


def test_of_a_page_that_begins_alike_a_copy_is_made():
    manager = manager_of(8)
    sequence = computed(manager, range(8))
    other = manager.new_sequence([*range(6), 99, 98])
    (copy,) = manager.open(other)
    assert (copy.source, copy.target) == (sequence.tables[0][1], other.tables[0][1])
    assert other.computed == 6
    same = manager.new_sequence(list(range(8)))
    assert len(manager.open(same)) == 1
    assert same.computed == 7, "the last token is left for its logits"
    apart = manager.new_sequence([*range(4), 50, 51])
    assert manager.open(apart) == []
    assert apart.computed == 4


@pytest.mark.parametrize(("pages", "computed_before"), [(2, 4), (3, 6)])
def test_a_page_that_is_to_be_copied_is_not_taken_for_its_copy(pages, computed_before):
    manager = manager_of(pages)
    manager.release(computed(manager, range(8)))
    alone = manager.new_sequence([*range(6), 99, 98])
    copies = manager.open(alone)
    assert alone.computed == computed_before
    assert [copy.target for copy in copies] == list(alone.tables[0])[1:] * (computed_before == 6)
    manager.check()


def test_salts_do_not_see_each_other():
    manager = manager_of(8)
    manager.release(computed(manager, range(10), "mine"))
    assert manager.found(manager.new_sequence(list(range(10)), "yours")) == 0
    assert manager.found(manager.new_sequence(list(range(10)), "mine")) == 2


def test_the_least_recently_used_leaf_goes_first():
    manager = manager_of(4)
    for start in (0, 100):
        manager.release(computed(manager, range(start, start + 8)))
    manager.release(computed(manager, range(9)[:9]))  # the first two pages again, and a partial one
    newcomer = manager.new_sequence(list(range(200, 208)))
    assert manager.open(newcomer) is not None
    assert manager.found(manager.new_sequence(list(range(9)))) == 2
    assert manager.found(manager.new_sequence(list(range(100, 109)))) == 0


def test_a_prefix_loses_its_tail_before_its_head():
    manager = manager_of(4)
    manager.release(computed(manager, range(16)))
    newcomer = manager.new_sequence(list(range(100, 108)))
    assert manager.open(newcomer) is not None
    assert manager.found(manager.new_sequence(list(range(17)))) == 2


def test_where_two_computed_the_same_the_first_ones_pages_win():
    manager = manager_of(8)
    first, second = (manager.new_sequence(list(range(5))) for _ in range(2))
    for sequence in (first, second):
        manager.open(sequence)
        manager.extend(sequence, 4)
    assert first.tables[0][0] != second.tables[0][0]
    manager.advance(first, 4)
    manager.advance(second, 4)
    assert first.tables[0][0] == second.tables[0][0]
    assert manager.pools[0].held == 3


def test_a_fork_copies_a_partial_page_only_when_it_is_written():
    manager = manager_of(8)
    sequence = computed(manager, range(6))
    fork = manager.fork(sequence, [*range(6), 7])
    assert list(fork.tables[0]) == list(sequence.tables[0])
    (copy,) = manager.extend(fork, 1)
    assert copy.source == sequence.tables[0][1]
    assert copy.target == fork.tables[0][1]
    sequence.tokens.append(8)
    assert manager.extend(sequence, 1) == []


def test_a_copy_needs_a_page_though_room_was_made_for_the_rest():
    manager = manager_of(3)
    sequence = manager.new_sequence(list(range(12)))
    assert manager.open(sequence) is not None
    manager.advance(sequence, 2)
    fork = manager.fork(sequence, list(range(12)))
    assert manager.extend(sequence, 1) is None
    manager.release(fork)
    assert manager.extend(sequence, 1) == []


def test_pages_that_no_window_reaches_are_let_go_of():
    manager = manager_of(8, [FULL, WINDOW])
    sequence = computed(manager, range(20))
    assert list(sequence.tables[1][:3]) == [-1] * 3
    assert [pool.held for pool in manager.pools] == [5, 2]
    assert manager.pools[1].cached == 3


def test_a_prefix_counts_only_where_it_is_whole_in_every_group():
    """Another sequence takes the window's oldest pages; the first pages' keys are then gone there."""
    manager = KVManager([FULL, WINDOW], [20, 4], PAGE)
    manager.release(computed(manager, range(14)))
    assert manager.found(manager.new_sequence(list(range(9)))) == 2
    other = manager.new_sequence(list(range(100, 108)))
    assert manager.open(other) is not None
    assert manager.extend(other, 8) == []
    assert manager.found(manager.new_sequence(list(range(9)))) == 0


def test_a_pool_counts_holders():
    pool = PagePool(2)
    page = pool.take()
    pool.share(page)
    assert not pool.release(page, cached=True)
    assert pool.release(page, cached=True)
    assert (pool.free, pool.cached, pool.held) == (1, 1, 0)
    pool.share(page)
    assert (pool.free, pool.cached, pool.held) == (1, 0, 1)
    assert pool.release(page, cached=True)
    pool.evict(page)
    assert (pool.free, pool.cached, pool.held) == (2, 0, 0)


def in_flight_of(*token_lists):
    manager = manager_of(20)
    return InFlight(PAGE), [manager.new_sequence(list(tokens)) for tokens in token_lists]


def test_a_prefix_in_flight_is_awaited_to_where_the_two_part():
    in_flight, (leader, follower, stranger) = in_flight_of(range(20), [*range(10), 99, 98, 97], [7] * 9)
    in_flight.claim(leader)
    claim = in_flight.awaited(follower, 0)
    assert claim.writer is leader
    assert in_flight.awaited(stranger, 0) is None
    in_flight.withdraw(leader, 1)
    assert claim.key in in_flight
    in_flight.withdraw(leader, 1)
    assert claim.key not in in_flight
    assert in_flight.awaited(follower, 2) is None


@pytest.mark.parametrize("end", ["done", "dead"])
def test_nothing_stays_in_flight_for_ever(end):
    in_flight, (leader, follower) = in_flight_of(range(20), range(20))
    in_flight.claim(leader)
    claim = in_flight.awaited(follower, 0)
    in_flight.withdraw(leader, 5 if end == "done" else None)
    assert claim.key not in in_flight
    in_flight.claim(follower)
    assert in_flight.awaited(leader, 0).writer is follower
