"""Arrays and objects against all their texts, spelled out."""

from __future__ import annotations

import itertools

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from vocabularies import bytewise

from structgen.grammars import DEAD
from structgen.grammars.expr import Rule, call, literal
from structgen.grammars.language import ALL
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.values import (
    ArraySpec,
    Contains,
    Item,
    ObjectSpec,
    Others,
    array_value,
    object_value,
)

VOCABULARY = bytewise()
ONE = Rule("one", lambda: literal(b"1"))
NULL = Rule("null", lambda: literal(b"null"))
EITHER = {ONE: b"1", NULL: b"null"}
LONGEST = 5  # elements of the arrays spelled out: more than any bound below asks for


def automaton_of(expr):
    return TokenAutomaton(Rule("value", lambda: expr), VOCABULARY)


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


def can_begin(automaton, text):
    with automaton.matcher() as matcher:
        return matcher.advance_bytes(matcher.start, text) != DEAD


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
    states = automaton.stats().states
    assert before
    assert automaton.accepts("[" + "1," * 10_000 + "1]")
    assert automaton.stats().states == states


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


# Objects

NAMES = ("a", "ab", "b")
FRESH = "~"  # in no name and no text of the tests: what makes a key a new one


@st.composite
def object_specs(draw):
    names = tuple(draw(st.permutations(NAMES)))[: draw(st.integers(0, 3))]
    values = tuple(draw(st.sampled_from([ONE, ONE, None])) for _ in names)
    may = [place for place, value in enumerate(values) if value is not None]
    required = draw(st.frozensets(st.sampled_from(may))) if may else frozenset()
    others = (Others(ALL, ONE),) if draw(st.booleans()) else ()
    low, high = draw(st.integers(0, 3)), draw(st.none() | st.integers(0, 4))
    implications = ()
    if len(names) > 1 and (others or low == 0) and draw(st.booleans()):
        first, then = draw(st.permutations(range(len(names))))[:2]
        implications = ((frozenset({first}), draw(st.sampled_from([then, None]))),)
    return ObjectSpec(names, values, others, required, low, high, implications, ordered=draw(st.booleans()))


def may_end(spec, keys):
    there = {spec.names.index(key) for key in keys if key in spec.names}
    return (
        spec.required <= there
        and spec.low <= len(keys)
        and (spec.high is None or len(keys) <= spec.high)
        and all(then in there for first, then in spec.implications if first <= there)
    )


def may_follow(spec, keys, key):
    if key in keys:
        return False
    if key not in spec.names:
        return bool(spec.others)
    place = spec.names.index(key)
    ahead = [spec.names.index(other) if other in spec.names else len(spec.names) for other in keys]
    return spec.values[place] is not None and not (spec.ordered and any(other > place for other in ahead))


def can_finish(spec, keys, beginning=None):
    """Whether an object with these keys, and after them one that begins so if that is not ``None``, can be finished."""
    if beginning is None and may_end(spec, keys):
        return True
    if len(keys) > 5 or (spec.high is not None and len(keys) >= spec.high):
        return False
    following = {*spec.names, (beginning or "") + FRESH * (len(keys) + 1)}
    return any(
        may_follow(spec, keys, key) and can_finish(spec, [*keys, key])
        for key in following
        if key.startswith(beginning or "")
    )


def text_of(keys):
    return ("{" + ",".join(f'"{key}":1' for key in keys)).encode()


@settings(max_examples=200, deadline=None)
@given(object_specs(), st.lists(st.sampled_from(["", "a", "ab", "b", "abc", "c"]), max_size=4), st.data())
def test_an_object_goes_on_exactly_where_it_can_be_finished(spec, keys, data):
    assume(can_finish(spec, []))
    automaton = automaton_of(object_value(spec))
    there = []
    for key in keys:
        before = text_of(there) + (b"," if there else b"")
        for end in range(len(key) + 1):
            expected = can_finish(spec, there, key[:end])
            assert can_begin(automaton, before + b'"' + key[:end].encode()) == expected, (before, key[:end])
        expected = may_follow(spec, there, key) and can_finish(spec, [*there, key])
        escaped = "".join(f"\\u{ord(mark):04x}" if data.draw(st.booleans()) else mark for mark in key)
        assert can_begin(automaton, before + f'"{escaped}"'.encode()) == expected, (before, escaped)
        if not expected:
            break
        there.append(key)
        assert automaton.accepts(text_of(there) + b"}") == may_end(spec, there)
        assert can_begin(automaton, text_of(there) + b",") == can_finish(spec, there, "")
    assert automaton.accepts(text_of([]) + b"}") == may_end(spec, [])
