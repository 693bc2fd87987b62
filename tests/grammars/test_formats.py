"""The formats of JSON Schema against the official suite and against what others say of the same texts."""

from __future__ import annotations

import datetime
import ipaddress
import itertools
import json
import random
import re
from pathlib import Path

import pytest
from ecma_patterns import JavaScript
from language_samples import changed, members_of

from structgen.grammars.json_schema.formats import format_language
from structgen.grammars.json_schema.formats.definitions import DEFINITIONS
from structgen.grammars.json_schema.formats.table import KEYS, PATH, line_of

SUITE = Path(__file__).parents[3] / "shared" / "data" / "json-schema-test-suite"

WRONGLY_REFUSED = {
    # no automaton of reasonable size decodes Punycode
    ("hostname", "xn--9n2bp8q.xn--9t4b11yi5a"),
    ("hostname", "xn--zca29lwxobi7a"),
    ("hostname", "xn--qmbc"),
    ("hostname", "xn--ll-0ea"),
    ("hostname", "xn--wva3je"),
    ("hostname", "xn--4dbc5h"),
    ("hostname", "xn--4dbc8h"),
    ("hostname", "xn--k8j5u"),
    ("hostname", "xn--bck0j"),
    ("hostname", "xn--vek778f"),
    ("hostname", "xn--ngba1o"),
    ("hostname", "xn--0-gyc"),
    ("hostname", "xn--11b2ezcw70k"),
    ("hostname", "xn--11b2ezcs70k"),
    ("hostname", "xn--ngba5hb2804a"),
    ("idn-hostname", "xn--ihqwcrb4cv8a8dqg056pqjye"),
    # nor counts the length of a label that is encoded
    *(("idn-hostname", "παράδειγμα" * 5 + "πα" + dot + "com") for dot in ".\u3002\uff0e\uff61"),
    # nor knows which groups a pattern has
    ("regex", r"(?<n>a)\k<n>"),
}


def texts_near(name, choose, count=300):
    """Members of a format and texts that nearly are."""
    members = members_of(format_language(name, "draft2020-12"), choose, count)
    return members + [changed(text, choose) for text in members]


def compare(name, is_valid, texts):
    """The format holds exactly those texts that are valid."""
    language = format_language(name, "draft2020-12")
    assert [text for text in texts if language.contains(text) != is_valid(text)] == []
    assert any(map(is_valid, texts))
    assert not all(map(is_valid, texts))


@pytest.mark.skipif(not SUITE.exists(), reason="the official suite is not here")
@pytest.mark.parametrize("draft", ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"])
def test_formats_hold_what_the_official_suite_says(draft):
    refused = set()
    for path in sorted((SUITE / draft / "optional" / "format").glob("*.json")):
        for group in json.loads(path.read_text("utf-8")):
            name = group["schema"]["format"]
            language = format_language(name, draft)
            assert (language is None) == (name == "unknown")
            for test in group["tests"] if language is not None else ():
                if not isinstance(test["data"], str) or language.contains(test["data"]) == test["valid"]:
                    continue
                assert test["valid"], f"{name} accepts {test['data']!r}: {test['description']}"
                refused.add((name, test["data"]))
    assert refused <= WRONGLY_REFUSED
    if draft == "draft2020-12":
        assert refused == WRONGLY_REFUSED


def test_the_file_has_the_automata_of_the_definitions():
    lines = "".join(line_of(key, define()) + "\n" for key, define in DEFINITIONS.items())
    assert PATH.read_text("ascii") == lines, "write it anew as its module says"
    assert set(DEFINITIONS) == KEYS | {"hostname before Punycode"}


def test_an_unknown_format_is_none_and_a_known_one_is_made_once():
    assert format_language("color", "draft7") is None
    assert format_language("date", "draft4") is format_language("date", "draft2020-12")
    assert format_language("hostname", "draft4").contains("ab--cd.example")
    assert not format_language("hostname", "draft7").contains("ab--cd.example")


def test_a_date_is_one_of_the_calendar():
    def is_valid(text):
        try:
            return len(text) == 10 and bool(datetime.date.fromisoformat(text))
        except ValueError:
            return False

    years = ["0001", "0004", "0100", "0400", "1600", "1900", "1999", "2000", "2023", "2024", "2100", "2400", "9999"]
    days = [f"{month:02}-{day:02}" for month in range(14) for day in range(34)]
    compare("date", is_valid, [f"{year}-{day}" for year, day in itertools.product(years, days)])


def test_a_leap_second_is_at_midnight_in_utc():
    language = format_language("time", "draft7")
    quarters = [(hour, minute) for hour in range(24) for minute in (0, 15, 30, 45)]
    choose = random.Random(1)
    for hour, minute in [*itertools.product(range(24), (14, 29, 44, 59)), *((hour, 30) for hour in range(24))]:
        sign = choose.choice([1, -1])
        for ahead in quarters:
            utc = (hour * 60 + minute - sign * (ahead[0] * 60 + ahead[1])) % 1440
            text = f"{hour:02}:{minute:02}:60{'+' if sign > 0 else '-'}{ahead[0]:02}:{ahead[1]:02}"
            assert language.contains(text) == (utc == 1439), text


def test_addresses_are_those_that_python_reads():
    choose = random.Random(1)

    def is_v4(text):
        return _can(ipaddress.IPv4Address, text) and text.isascii()

    def is_v6(text):
        return _can(ipaddress.IPv6Address, text) and "%" not in text and text.isascii()

    compare("ipv4", is_v4, texts_near("ipv4", choose))
    compare("ipv6", is_v6, texts_near("ipv6", choose))


def _can(read, text):
    try:
        read(text)
    except ValueError:
        return False
    return True


def test_host_names_are_labels_within_their_lengths():
    label = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?")

    def is_valid(text):
        labels = text.split(".")
        return len(text) <= 253 and all(label.fullmatch(one) and len(one) <= 63 and one[2:4] != "--" for one in labels)

    choose = random.Random(1)
    long = [".".join(["a" * 63] * 3 + ["b" * count]) for count in (60, 61, 62)] + ["a" * 64, "a-" * 31 + "b", "a" * 63]
    compare("hostname", is_valid, texts_near("hostname", choose) + long)


def test_international_host_names_can_be_encoded():
    idna = pytest.importorskip("idna", reason="nothing here encodes international names")
    choose = random.Random(1)
    names = members_of(format_language("idn-hostname", "draft7"), choose, 2000, longest=12)
    assert sum(not name.isascii() for name in names) > 1000
    for name in names:
        if not name.isascii():
            assert len(idna.encode(name)) <= 253


def test_pointers_have_no_tilde_that_escapes_nothing():
    def is_pointer(text):
        return (not text or text[0] == "/") and not re.search("~(?![01])", text)

    choose = random.Random(1)
    texts = ["".join(choose.choices("/~01a#é", k=choose.randrange(7))) for _ in range(2000)]
    compare("json-pointer", is_pointer, texts)
    relative = re.compile(r"(0|[1-9][0-9]*)(#|.*)", re.DOTALL)

    def is_relative(text):
        found = relative.fullmatch(text)
        return bool(found) and (found[2] == "#" or is_pointer(found[2]))

    compare("relative-json-pointer", is_relative, texts)


@pytest.mark.skipif(JavaScript.find() is None, reason="no JavaScript engine: the extra `dev` installs one")
def test_what_the_format_regex_holds_javascript_can_compile():
    engine = JavaScript(JavaScript.find())
    patterns = members_of(format_language("regex", "draft7"), random.Random(1), 3000, longest=30)
    assert [pattern for pattern in patterns if engine.matches(pattern, [], strict=True) is None] == []
    engine.close()


@pytest.mark.parametrize(
    ("name", "members", "others"),
    [
        ("email", ["a" * 64 + "@b.c", '"a\\"b"@c', "a@" + "b" * 63], ["a" * 65 + "@b.c", "a@b..c", '"a"b"@c', "a@b_c"]),
        ("email", ["a@" + ".".join("b" * 63 for _ in range(3))], ["aaaa@" + ".".join(["b" * 63] * 4)]),
        ("idn-email", ["é" * 16 + "@b", "a" * 64 + "@é.c"], ["é" * 65 + "@b", "é@é..c", "é@-b"]),
        ("uri", ["a:", "a:b", "a://", "a:/", "a:/b//c", "http://[v1.a:b]/", "http://a:/"], ["a:///\\", "http://[::g]"]),
        ("uri-reference", ["", "a/b:c", "//", "///", "?#", "a:b"], ["1:b", ":", "##", "[a]"]),
        ("iri", ["http://é/?\ue000"], ["http://é/\ue000", "http://\ufdd0/", "http://\U0001ffff/"]),
        ("uri-template", ["{a}{?b*,c:12}", "é"], ["{=a}", "{a", "<", "{a:}", "{a*:1}"]),
        ("duration", ["P1Y2M3DT4H5M6S", "PT1M"], ["P1YT", "P1H", "P1.5D"]),
        ("regex", ["a{1,3}", "((()))", "[a-f0-9]*", r"(?=a(b))\p{Lu}|c"], ["(", "a**", "a{3,1}", "[z-a]", r"\a", "a{"]),
        ("time", ["00:00:00Z", "23:59:60.5z"], ["00:00:00", "23:59:60+00:01"]),
    ],
)
def test_the_nearest_texts_inside_and_outside_a_format_are_told_apart(name, members, others):
    language = format_language(name, "draft2020-12")
    assert [text for text in members + others if language.contains(text)] == members
