"""The automaton against the slow acceptor, on random grammars over a dozen tokens."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from reference_acceptor import after_byte, after_special, may_end, start_of
from vocabularies import allowed, bytewise

from structgen.errors import EmptyLanguage, GrammarError, GrammarLimitExceeded, InvalidGrammar, MatcherClosed
from structgen.grammars import DEAD, FINISHED, NO_TOKENS, TokenAutomaton, TokenVocabulary, compile_choice
from structgen.grammars.automaton.rule_book import RuleBook
from structgen.grammars.expr import (
    EPSILON,
    NEVER,
    Expr,
    Rule,
    alternation,
    byte_set,
    call,
    joined,
    literal,
    repetition,
    sequence,
    special_token,
)

TOKENS = [b"a", b"b", b"c", b"ab", b"abc", b"ca", b"cc", b"bab", b"ab", b"", b"", b""]
SPECIAL, PADDING, END = 9, 10, 11


@pytest.fixture(scope="module")
def vocabulary():
    return TokenVocabulary(TOKENS, [END], {SPECIAL: "<|call|>"})


def expressions(rules: list[Rule]) -> st.SearchStrategy[Expr]:
    leaves = st.one_of(
        st.sampled_from([EPSILON, NEVER, special_token(SPECIAL)]),
        st.text("abc", min_size=1, max_size=3).map(lambda text: literal(text.encode())),
        st.sets(st.sampled_from(b"abc"), min_size=1).map(byte_set),
        # A symbol before each call, so that no rule is left-recursive.
        st.sampled_from(rules).map(lambda rule: sequence(byte_set(b"ab"), call(rule))),
    )
    return st.recursive(leaves, _composites, max_leaves=8)


def _composites(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    lists = st.lists(inner, min_size=1, max_size=3)
    bounds = st.tuples(st.integers(0, 2), st.one_of(st.none(), st.integers(0, 2)))
    return st.one_of(
        lists.map(lambda parts: sequence(*parts)),
        lists.map(lambda parts: alternation(*parts)),
        st.builds(
            lambda part, low_more: repetition(part, low_more[0], None if low_more[1] is None else sum(low_more)),
            inner,
            bounds,
        ),
        st.builds(joined, st.lists(st.tuples(inner, st.booleans()), min_size=1, max_size=3), inner),
    )


@st.composite
def grammars(draw: st.DrawFn) -> Rule:
    bodies: list[Expr] = []
    rules = [Rule(f"r{number}", lambda number=number: bodies[number]) for number in range(3)]
    bodies.extend(draw(expressions(rules)) for _ in rules)
    return rules[0]


def automaton_of(start: Rule, vocabulary: TokenVocabulary) -> TokenAutomaton:
    """The automaton, where there is one: a grammar that matches nothing is another test's."""
    try:
        return TokenAutomaton(start, vocabulary)
    except EmptyLanguage:
        reject()


def reference_step(stacks, token_id):
    if token_id == SPECIAL:
        return after_special(stacks, token_id)
    for byte in TOKENS[token_id]:
        stacks = after_byte(stacks, byte)
    return stacks if TOKENS[token_id] else frozenset()


@settings(max_examples=120, deadline=None)
@given(grammars(), st.lists(st.integers(0, SPECIAL), max_size=6), st.randoms())
def test_every_bit_of_a_mask_equals_a_step_that_can_still_be_finished(vocabulary, start, wanted, random):
    try:
        automaton = TokenAutomaton(start, vocabulary)
    except EmptyLanguage:
        assert not reference_alive(start)
        return
    row = np.empty(1, np.int32)
    with automaton.matcher() as matcher:
        state, stacks = matcher.start, start_of(start)
        for choice in wanted:
            expected = {token for token in range(END) if reference_step(stacks, token)}
            if may_end(stacks):
                expected.add(END)
            matcher.fill_mask(state, row)
            assert allowed(row) == expected
            assert {token for token in range(len(TOKENS)) if matcher.advance(state, token) != DEAD} == expected
            assert matcher.is_accepting(state) == may_end(stacks) == (END in expected)
            token = choice if choice in expected else random.choice(sorted(expected))
            if token == END:
                assert matcher.advance(state, token) == FINISHED
                break
            state, stacks = matcher.advance(state, token), reference_step(stacks, token)


def test_bytes_may_be_read_across_tokens(vocabulary):
    automaton = TokenAutomaton(
        Rule("abcc", lambda: sequence(literal(b"abc"), repetition(byte_set(b"c"), 0, 1))), vocabulary
    )
    with automaton.matcher() as matcher:
        state = matcher.advance_bytes(matcher.start, b"ab")
        assert state == matcher.advance(matcher.start, TOKENS.index(b"ab"))
        assert matcher.advance_bytes(state, b"") == state
        assert matcher.is_accepting(matcher.advance_bytes(state, b"cc"))
        assert matcher.advance_bytes(state, b"cccc") == DEAD
        assert matcher.advance_bytes(DEAD, b"a") == matcher.advance_bytes(FINISHED, b"a") == DEAD


def reference_alive(start: Rule) -> bool:
    stacks = start_of(start)
    return may_end(stacks) or any(reference_step(stacks, token) for token in range(END))


@settings(max_examples=60, deadline=None)
@given(grammars(), st.randoms())
def test_some_allowed_token_always_lowers_the_distance(vocabulary, start, random):
    automaton = automaton_of(start, vocabulary)
    row = np.empty(1, np.int32)
    with automaton.matcher() as matcher:
        state, walked = matcher.start, 0
        while not matcher.is_accepting(state):
            distance = matcher.distance(state)
            assert 1 <= distance < 1000
            assert matcher.fill_mask_within(state, row, distance - 1)
            assert not matcher.fill_mask_within(state, row, -1)
            matcher.fill_mask_within(state, row, distance - 1)
            state = matcher.advance(state, random.choice(sorted(allowed(row))))
            walked += 1
        assert walked <= automaton.matcher().distance(matcher.start)


@settings(max_examples=60, deadline=None)
@given(grammars())
def test_no_accepted_text_is_shorter_than_min_tokens(vocabulary, start):
    automaton = automaton_of(start, vocabulary)
    frontier, tokens = {start_of(start)}, 0
    while not any(map(may_end, frontier)) and tokens < 4:
        frontier = {after for stacks in frontier for token in range(END) if (after := reference_step(stacks, token))}
        tokens += 1
    if any(map(may_end, frontier)):
        assert automaton.min_tokens == tokens
        assert automaton.min_tokens <= automaton.matcher().distance(automaton.matcher().start)
    else:
        assert automaton.min_tokens >= tokens


@given(grammars())
@settings(max_examples=40, deadline=None)
def test_forced_bytes_are_those_that_alone_may_come(vocabulary, start):
    automaton = automaton_of(start, vocabulary)
    with automaton.matcher() as matcher:
        stacks = start_of(start)
        for byte in matcher.forced_bytes(matcher.start)[:20]:
            assert not may_end(stacks)
            assert not after_special(stacks, SPECIAL)
            assert [other for other in b"abc" if after_byte(stacks, other)] == [byte]
            stacks = after_byte(stacks, byte)


def test_a_left_recursive_rule_is_refused(vocabulary):
    rule = Rule("expression", lambda: alternation(sequence(call(rule), literal(b"a")), literal(b"b")))
    with pytest.raises(GrammarError, match=r"'expression' calls itself before it reads anything"):
        TokenAutomaton(rule, vocabulary)


def test_recursion_of_any_depth_is_one_automaton():
    vocabulary = TokenVocabulary.from_bytes([b"[", b"]", b"[[", b""], [3])
    rule = Rule("nested", lambda: sequence(literal(b"["), repetition(call(rule), 0, 1), literal(b"]")))
    automaton = TokenAutomaton(rule, vocabulary)
    assert automaton.accepts("[" * 1000 + "]" * 1000)
    assert not automaton.accepts("[" * 1000 + "]" * 999)


def test_a_list_does_not_grow_the_stack():
    vocabulary = TokenVocabulary.from_bytes([b"a", b",", b""], [2])
    rule = Rule("list", lambda: sequence(literal(b"a"), repetition(sequence(literal(b","), call(rule)), 0, 1)))
    automaton = TokenAutomaton(rule, vocabulary)
    automaton.accepts("a,a")
    before = automaton.nbytes
    assert automaton.accepts("a" + ",a" * 5000)
    assert automaton.nbytes == before


def test_tables_beyond_their_limit_are_refused():
    vocabulary = TokenVocabulary.from_bytes([b"[", b"]", b""], [2])
    rule = Rule("nested", lambda: sequence(literal(b"["), repetition(call(rule), 0, 1), literal(b"]")))
    empty = TokenAutomaton(rule, vocabulary).nbytes
    automaton = TokenAutomaton(rule, vocabulary, max_bytes=empty + 50_000)
    with pytest.raises(GrammarLimitExceeded, match="max_bytes"):
        automaton.accepts("[" * 100_000)


def test_a_state_reads_the_same_while_another_thread_grows_the_tables():
    vocabulary = TokenVocabulary.from_bytes([b"[", b"]", b""], [2])
    rule = Rule("nested", lambda: sequence(literal(b"["), repetition(call(rule), 0, 1), literal(b"]")))
    automaton = TokenAutomaton(rule, vocabulary)
    matcher = automaton.matcher()
    grower = threading.Thread(target=lambda: automaton.accepts("[" * 20_000))
    distances, reads = set(), 0
    grower.start()
    while grower.is_alive():
        distances.add((matcher.distance(matcher.start), matcher.is_accepting(matcher.start)))
        reads += 1
    grower.join()
    assert reads > 100
    assert distances == {(2, False)}


def test_threads_may_write_a_rule_at_once():
    barrier, bodies = threading.Barrier(4), []
    rule = Rule("shared", lambda: (barrier.wait(5), literal(b"a"))[1])
    threads = [threading.Thread(target=lambda: bodies.append(rule.body)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bodies == [literal(b"a")] * 4


def test_batched_masks_and_slots_hold_what_fill_mask_writes(vocabulary):
    row, rows = np.empty(1, np.int32), np.empty((3, 1), np.int32)
    with compile_choice(["abc", "cc", "cab"], vocabulary).matcher() as matcher:
        states = [matcher.start, matcher.advance(matcher.start, 2), FINISHED]
        matcher.fill_masks(states, rows)
        for state, batched in zip(states, rows, strict=True):
            matcher.fill_mask(state, row)
            assert (batched == row).all()
            assert (vocabulary.masks.rows[matcher.mask_row(state)] == row).all()
        assert matcher.mask_row(DEAD) == NO_TOKENS


@pytest.mark.parametrize("texts", ["abc", ["a", 1], ["\ud800"]])
def test_a_choice_is_between_texts(vocabulary, texts):
    with pytest.raises(InvalidGrammar):
        compile_choice(texts, vocabulary)


def test_states_go_with_their_matcher(vocabulary):
    matcher = compile_choice(["abc", "cc"], vocabulary).matcher()
    state = matcher.start
    matcher.close()
    with pytest.raises(MatcherClosed):
        matcher.advance(state, 0)


def test_what_is_no_state_token_or_row_is_an_error(vocabulary):
    with compile_choice(["abc", "cc"], vocabulary).matcher() as matcher:
        for use in (
            lambda: matcher.advance(10**6, 0),
            lambda: matcher.advance(matcher.start, len(TOKENS)),
            lambda: matcher.advance(matcher.start, -1),
            lambda: matcher.fill_mask(matcher.start, np.empty(2, np.int32)),
            lambda: matcher.fill_mask(matcher.start, np.empty(1, np.int64)),
            lambda: matcher.fill_masks([matcher.start], np.empty((2, 1), np.int32)),
        ):
            with pytest.raises(ValueError, match=r"not a state|not in a vocabulary|mask row is|as many rows"):
                use()


def test_no_mask_is_written_where_the_caller_may_not_write(vocabulary):
    automaton = compile_choice(["a"], vocabulary)
    rows = np.frombuffer(bytes(4 * -(-len(vocabulary) // 32)), np.int32)[None]
    with automaton.matcher() as matcher:
        for write in (
            lambda: matcher.fill_mask(matcher.start, rows[0]),
            lambda: matcher.fill_mask(DEAD, rows[0]),
            lambda: matcher.fill_masks([matcher.start], rows),
            lambda: matcher.fill_mask_within(matcher.start, rows[0], 5),
        ):
            with pytest.raises(ValueError, match="read-only"):
                write()
    assert not rows.any()


def test_a_finished_text_allows_end_tokens_only(vocabulary):
    row = np.empty(1, np.int32)
    with compile_choice(["a"], vocabulary).matcher() as matcher:
        state = matcher.advance(matcher.advance(matcher.start, 0), END)
        assert state == FINISHED
        matcher.fill_mask(state, row)
        assert allowed(row) == {END}
        assert matcher.advance(state, END) == FINISHED
        assert matcher.advance(state, 0) == DEAD
        matcher.fill_mask(DEAD, row)
        assert allowed(row) == set()


def test_forced_tokens_stop_where_two_tokens_are_allowed():
    vocabulary = TokenVocabulary.from_bytes([b"a", b"b", b"c", b"bc", b""], [4])
    with compile_choice(["aabc"], vocabulary).matcher() as matcher:
        assert matcher.forced_tokens(matcher.start) == [0, 0]
        assert matcher.forced_bytes(matcher.start) == b"aabc"


def test_explain_names_the_rule_and_what_may_come(vocabulary):
    rule = Rule("greeting", lambda: sequence(literal(b"a"), byte_set(b"bc")), "/properties/greeting")
    with TokenAutomaton(rule, vocabulary).matcher() as matcher:
        places, following, ends = matcher.explain(matcher.advance(matcher.start, 0))
        assert places == [("greeting", "/properties/greeting")]
        assert (following, ends) == (b"bc", False)


def test_rules_that_are_entered_together_are_written_together(monkeypatch):
    rules = [Rule(f"r{number}", lambda number=number: body(number)) for number in range(400)]

    def body(number: int) -> Expr:
        deeper = [call(rules[number + 1])] if number + 1 < len(rules) else []
        return alternation(*deeper, literal(b"c"))

    wanted = list[int]()
    lower = RuleBook.lower_with_callees
    monkeypatch.setattr(
        RuleBook, "lower_with_callees", lambda book, number: (wanted.append(number), lower(book, number))
    )
    automaton = TokenAutomaton(Rule("start", lambda: sequence(literal(b"a"), call(rules[0]))), bytewise())
    with automaton.matcher() as matcher:
        assert matcher.advance_bytes(matcher.start, b"ac") > DEAD
    assert 1 <= len(wanted) <= 8
