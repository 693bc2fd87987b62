"""The official suite and MaskBench through the algebra alone: what it gives, read value by value."""

from __future__ import annotations

import collections

import pytest
from schema_suites import DATA, URIS, groups, maskbench_cases, remotes
from value_acceptor import accepts

from structgen.errors import GrammarError, UnsatisfiableSchema
from structgen.grammars.json_schema.compile import schema_rule

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no suites at {DATA}")

REFUSED = {
    "uniqueItems validation",  # elements that may be arrays or objects
    "uniqueItems with an array of items",
    "validate definition against metaschema",  # draft 4's meta-schema has unique elements of any type
    "remote ref, containing refs itself",
    "float division = inf",  # more states than a number's automaton may have
}
FORMAT_FILES = {"ecmascript-regex.json", "hostname.json", "idn-hostname.json"}
"""Formats of which part is left out, as `format_language` says."""


def compiled(schema, draft, formats):
    try:
        return schema_rule(
            schema,
            default_dialect=URIS[draft],
            registry=remotes(),
            property_order="any",
            numbers="any",
            formats=formats,
        )
    except UnsatisfiableSchema:
        return None


def wrong_tests(draft, folder, formats):
    """Each test that does not come out as it must: accepted wrongly, rejected wrongly, or its schema refused."""
    wrong = collections.defaultdict(list)
    for file, group in groups(draft, folder):
        place = (file, group["description"])
        try:
            rule = compiled(group["schema"], draft, formats)
        except GrammarError:
            wrong["refused"].append(place)
            continue
        for test in group["tests"]:
            accepted = rule is not None and accepts(rule.body, test["data"])
            if accepted != test["valid"]:
                wrong["accepted" if accepted else "rejected"].append((*place, test["description"]))
    return wrong


@pytest.mark.parametrize(
    "draft", [pytest.param(draft, marks=() if draft == "draft2020-12" else pytest.mark.slow) for draft in URIS]
)
def test_every_test_of_the_official_suite_comes_out_right_or_its_schema_is_refused(draft):
    wrong = wrong_tests(draft, "", "annotate")
    assert {description for _, description in wrong.pop("refused")} <= REFUSED
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("draft", URIS)
def test_no_format_of_the_official_suite_accepts_what_is_none(draft):
    wrong = wrong_tests(draft, "optional/format", "assert")
    assert {file for file, *_ in wrong.pop("rejected", [])} <= FORMAT_FILES
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("draft", URIS)
def test_identifiers_and_unknown_keywords_mean_what_the_optional_tests_say(draft):
    for file, group in groups(draft, "optional"):
        if file in ("id.json", "unknownKeyword.json", "refOfUnknownKeyword.json", "anchor.json", "dynamicRef.json"):
            rule = compiled(group["schema"], draft, "annotate")
            for test in group["tests"]:
                accepted = rule is not None and accepts(rule.body, test["data"])
                assert accepted == test["valid"], (file, group["description"], test["description"])


@pytest.mark.parametrize("step", [60, pytest.param(1, marks=pytest.mark.slow)])
def test_maskbench_instances_are_accepted_exactly_where_they_are_valid(step):
    refused, cases = 0, maskbench_cases(step)
    for case in cases:
        try:
            rule = schema_rule(case["schema"], property_order="any")
        except UnsatisfiableSchema:
            assert not any(test["valid"] for test in case["tests"]), case["id"]
        except GrammarError:
            refused += 1
        else:
            for number, test in enumerate(case["tests"]):
                assert accepts(rule.body, test["data"]) == test["valid"], (case["id"], number)
    assert refused <= len(cases) / 50
