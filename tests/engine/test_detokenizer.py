"""Text as it comes, against the text of all tokens at once."""

from __future__ import annotations

import itertools

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from structgen.engine.detokenizer import Detokenizer


def pieces_of(data, cuts):
    borders = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in itertools.pairwise(borders)]


def reference(text, stop):
    """Cut before the stop string that is complete first, looking at one character after the other."""
    for end in range(1, len(text) + 1):
        starts = [end - len(word) for word in stop if text[:end].endswith(word)]
        if starts:
            return text[: min(starts)]
    return text


def run(pieces, stop=()):
    detokenizer = Detokenizer(dict(enumerate(pieces)).__getitem__, stop)
    deltas = [detokenizer.add(token_id) for token_id in range(len(pieces))]
    return deltas, detokenizer.flush(), detokenizer.stopped


text = st.text(st.sampled_from("ab<é日🙂"), max_size=24)
words = st.lists(st.text(st.sampled_from("ab<é"), min_size=1, max_size=4), max_size=3)
cuts = st.lists(st.integers(0, 200), max_size=30)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # hypothesis' own first draw takes a second
@given(text, words, cuts)
def test_any_token_borders_give_the_text_up_to_the_first_stop_string(text, words, cuts):
    deltas, rest, stopped = run(pieces_of(text.encode(), cuts), words)
    expected = reference(text, words)
    assert "".join(deltas) + rest == expected
    assert stopped == any(word in text for word in words)


@given(text, words, cuts)
def test_text_is_held_back_only_while_it_may_become_a_stop_string(text, words, cuts):
    pieces = pieces_of(text.encode(), cuts)
    deltas, _, stopped = run(pieces, words)
    if stopped:
        return
    for count in range(1, len(pieces) + 1):
        whole = b"".join(pieces[:count]).decode(errors="ignore")
        held = whole[len("".join(deltas[:count])) :]
        assert not held or any(word.startswith(held) and word != held for word in words)


@given(text, cuts)
def test_a_character_is_never_split(text, cuts):
    deltas, rest, _ = run(pieces_of(text.encode(), cuts))
    assert "\ufffd" not in "".join(deltas) + rest


def test_bytes_that_are_no_utf8_become_replacement_characters():
    deltas, rest, _ = run([b"a\xff", b"\xe6\x97", b"b"])
    assert "".join(deltas) + rest == "a\ufffd\ufffdb"


def test_half_a_character_at_the_end_is_dropped():
    deltas, rest, _ = run(["é".encode()[:1]])
    assert deltas == [""]
    assert rest == ""


def test_nothing_follows_a_stop_string():
    deltas, rest, stopped = run([b"one ST", b"OP two", b"three"], ["STOP"])
    assert deltas == ["one ", "", ""]
    assert (rest, stopped) == ("", True)
