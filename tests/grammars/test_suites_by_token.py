"""The official suite and MaskBench through automata, token by token: over bytes and over SmolLM2's vocabulary."""

from __future__ import annotations

import json

import numpy as np
import pytest
from schema_suites import DATA, URIS, groups, maskbench_cases, remotes

from structgen.engine.weights import open_checkpoint
from structgen.errors import GrammarError, UnsatisfiableSchema
from structgen.grammars import TokenVocabulary, compile_json_schema
from structgen.grammars.sampling import byte_vocabulary

pytestmark = [pytest.mark.skipif(not DATA.is_dir(), reason=f"no suites at {DATA}"), pytest.mark.timeout(1200)]


class Reader:
    """A vocabulary, and how a text becomes its tokens."""

    def __init__(self, vocabulary, tokens_of) -> None:
        self.vocabulary, self.tokens_of = vocabulary, tokens_of

    def wrong(self, schema, tests, **options):
        """The numbers of the tests that come out wrong, ``None`` where the schema is refused."""
        try:
            automaton = compile_json_schema(schema, self.vocabulary, property_order="any", **options)
        except UnsatisfiableSchema:
            return [number for number, test in enumerate(tests) if test["valid"]]
        except GrammarError:
            return None
        return [number for number, test in enumerate(tests) if self.accepts(automaton, test["data"]) != test["valid"]]

    def accepts(self, automaton, value):
        tokens = self.tokens_of(json.dumps(value, ensure_ascii=False))
        with automaton.matcher() as matcher:
            row = np.zeros((len(self.vocabulary) + 31) // 32, np.int32)
            state = matcher.start
            for token in tokens:
                matcher.fill_mask(state, row)
                allowed = bool(row[token // 32] >> (token % 32) & 1)
                state = matcher.advance(state, token)
                assert allowed == (state >= 0)
                if not allowed:
                    return False
            return matcher.is_accepting(state)


@pytest.fixture(scope="module", params=["bytes", "smollm2"])
def reader(request):
    if request.param == "bytes":
        return Reader(byte_vocabulary(), lambda text: text.encode("utf-8", "surrogatepass"))
    with open_checkpoint(request.getfixturevalue("smollm2")) as checkpoint:
        tokenizer = checkpoint.tokenizer()
    vocabulary = TokenVocabulary.from_tokenizer(tokenizer)
    return Reader(vocabulary, lambda text: tokenizer.encode(text, add_special_tokens=False).ids)


@pytest.mark.parametrize(("folder", "formats"), [("", "annotate"), ("optional/format", "assert")])
@pytest.mark.parametrize(
    "draft", [pytest.param(draft, marks=() if draft == "draft2020-12" else pytest.mark.slow) for draft in URIS]
)
def test_the_official_suite_comes_out_right_or_its_schema_is_refused(reader, draft, folder, formats):
    options = {"default_dialect": URIS[draft], "registry": remotes(), "numbers": "any", "formats": formats}
    accepted = []
    for file, group in groups(draft, folder):
        for number in reader.wrong(group["schema"], group["tests"], **options) or ():
            test = group["tests"][number]
            if not test["valid"]:
                accepted.append((file, group["description"], test["description"]))
            elif formats == "annotate":
                assert is_beyond(reader, test["data"]), (file, group["description"], test["description"])
    assert not accepted


def is_beyond(reader, value):
    """Whether the tokens do not spell the value: SmolLM2's tokenizer leaves out bytes that it has no token for."""
    text = json.dumps(value, ensure_ascii=False)
    spelled = b"".join(map(reader.vocabulary.token_bytes, reader.tokens_of(text)))
    return spelled != text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("step", [200, pytest.param(1, marks=pytest.mark.slow)])
def test_maskbench_instances_are_accepted_exactly_where_they_are_valid(reader, step):
    refused, cases = 0, maskbench_cases(step)
    for case in cases:
        wrong = reader.wrong(case["schema"], case["tests"])
        refused += wrong is None
        assert all(is_beyond(reader, case["tests"][number]["data"]) for number in wrong or ()), (case["id"], wrong)
    assert refused <= len(cases) / 50
