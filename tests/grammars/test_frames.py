"""Arrays and objects against all their texts, spelled out."""

from __future__ import annotations

import itertools

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from structgen.grammars import TokenVocabulary
from structgen.grammars.expr import Rule, call, literal
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.values import ArraySpec, Contains, Item, array_value

BYTES = TokenVocabulary.from_bytes([bytes([value]) for value in range(256)] + [b""], eos_token_ids=[256])
ONE = Rule("one", lambda: literal(b"1"))
NULL = Rule("null", lambda: literal(b"null"))
EITHER = {ONE: b"1", NULL: b"null"}
LONGEST = 5  # elements of the arrays spelled out: more than any bound below asks for


def automaton_of(expr):
    return TokenAutomaton(Rule("value", lambda: expr), BYTES)


def live_texts(automaton, alphabet, length):
    """Every text of at most ``length`` bytes of ``alphabet`` that may go on, and those of them that may end."""
    matcher = automaton.matcher()
    live, whole, layer = set(), set(), {b"": matcher.start}
    while layer:
        live |= layer.keys()
        whole |= {text for text, state in layer.items() if matcher.is_accepting(state)}
        reached = {}
        for text, state in layer.items():
            for byte in alphabet:
                if len(text) < length and (after := matcher.advance(state, byte)) > 0:
                    reached[text + bytes([byte])] = after
        layer = reached
    return live, whole


def prefixes(texts, length):
    return {text[:end] for text in texts for end in range(min(len(text), length) + 1)}


def same_up_to(automaton, texts, length):
    alphabet = sorted(set(b"".join(texts)) | set(b"[]{},:1n"))
    live, whole = live_texts(automaton, alphabet, length)
    assert live == prefixes(texts, length)
    assert whole == {text for text in texts if len(text) <= length}


# Arrays

ITEMS = [Item(value, counts) for value in EITHER for counts in (frozenset[int](), frozenset({0}))]
ways = st.lists(st.sampled_from(ITEMS), max_size=2).map(dict.fromkeys).map(tuple)


@st.composite
def array_specs(draw):
    prefix = tuple(draw(st.lists(ways.filter(len), max_size=2)))
    rest = draw(ways)
    high = draw(st.none() | st.integers(0, 4))
    if not rest:
        high = len(prefix) if high is None else min(high, len(prefix))
    low = draw(st.integers(0, 3))
    contains = tuple(
        Contains(least, None if more is None else least + more)
        for least, more in draw(st.lists(st.tuples(st.integers(0, 2), st.none() | st.integers(0, 1)), max_size=1))
    )
    used = frozenset(range(len(contains)))

    def kept(items):
        return tuple(dict.fromkeys(Item(item.value, item.counts & used) for item in items))

    return ArraySpec(tuple(map(kept, prefix)), kept(rest), low, high, contains)


def array_texts(spec):
    """Every text of at most `LONGEST` elements."""
    texts = set()
    for length in range(LONGEST + 1):
        if length < spec.low or (spec.high is not None and length > spec.high):
            continue
        places = [spec.prefix[place] if place < len(spec.prefix) else spec.rest for place in range(length)]
        for chosen in itertools.product(*places):
            counts = [sum(counter in item.counts for item in chosen) for counter in range(len(spec.contains))]
            if all(
                one.low <= count and (one.high is None or count <= one.high)
                for one, count in zip(spec.contains, counts, strict=True)
            ):
                texts.add(b"[" + b",".join(EITHER[item.value] for item in chosen) + b"]")
    return texts


@settings(max_examples=150, deadline=None)
@given(array_specs())
def test_an_array_goes_on_exactly_where_it_can_be_finished(spec):
    texts = array_texts(spec)
    assume(texts)
    # An array of three elements can be finished by LONGEST: no bound asks for more than four.
    same_up_to(automaton_of(array_value(spec)), texts, len(b"[1,1,1"))


def test_a_long_array_builds_no_states_by_its_length():
    automaton = automaton_of(array_value(ArraySpec(rest=(Item(ONE),))))
    before = automaton.accepts("[" + "1," * 10 + "1]")
    states = automaton._stacks.states
    assert before
    assert automaton.accepts("[" + "1," * 10_000 + "1]")
    assert automaton._stacks.states == states


def test_distance_falls_with_some_token_wherever_an_array_is():
    spec = ArraySpec(((Item(NULL),),), (Item(ONE, frozenset({0})), Item(NULL)), 4, 9, (Contains(2, 3),))
    automaton = automaton_of(array_value(spec))
    matcher = automaton.matcher()
    state = matcher.start
    for _ in range(automaton.distance):
        if matcher.is_accepting(state):
            break
        following = [after for byte in range(256) if (after := matcher.advance(state, byte)) > 0]
        best = min(following, key=matcher.distance)
        assert matcher.distance(best) < matcher.distance(state)
        state = best
    assert matcher.is_accepting(state)


def test_an_array_may_hold_itself():
    nest = Rule("nest", lambda: array_value(ArraySpec(rest=(Item(nest),), high=2)))
    automaton = automaton_of(call(nest))
    assert automaton.accepts("[[],[[],[]]]")
    assert not automaton.accepts("[[],[],[]]")
    assert not automaton.accepts("[[],[[],[]]")
