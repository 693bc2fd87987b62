"""The surfaces that vLLM and SGLang drive; XGrammar's own matcher, which both of them use, is the reference."""

from __future__ import annotations

import enum
import random

import pytest
import torch

from structgen.adapters.sglang import SglangGrammar
from structgen.adapters.vllm import VllmBackend, VllmGrammar
from structgen.grammars import compile_regex

PATTERN = r"(ab|abc)*(yes|no)"


class Options(enum.Enum):
    """As vLLM's ``StructuredOutputOptions``."""

    JSON = enum.auto()
    JSON_OBJECT = enum.auto()
    REGEX = enum.auto()
    GRAMMAR = enum.auto()
    CHOICE = enum.auto()
    STRUCTURAL_TAG = enum.auto()
    LATER = enum.auto()


@pytest.fixture
def automaton(letters):
    return compile_regex(PATTERN, letters)


@pytest.fixture
def end(letters):
    return letters.eos_token_ids[0]


@pytest.fixture
def reference(letters, end):
    """XGrammar's matcher of the same pattern over the same tokens."""
    xgrammar = pytest.importorskip("xgrammar", reason="compares with XGrammar, of the extra 'bench'")
    tokens = [letters.token_bytes(token) for token in range(len(letters))]
    tokens[end] = b"</s>"
    info = xgrammar.TokenizerInfo(tokens, stop_token_ids=[end])
    compiled = xgrammar.GrammarCompiler(info).compile_regex(PATTERN)
    return xgrammar.GrammarMatcher(compiled)


def allowed_by(matcher, size: int) -> list[int]:
    """What a matcher with vLLM's surface, or XGrammar's, allows."""
    mask = torch.full((3, -(-size // 32)), -1, dtype=torch.int32)
    fill = matcher.fill_bitmask if isinstance(matcher, VllmGrammar) else matcher.fill_next_token_bitmask
    fill(mask, 1)
    assert (mask[[0, 2]] == -1).all()
    bits = (mask[1].unsqueeze(1) >> torch.arange(32)) & 1
    return torch.nonzero(bits.flatten()).flatten().tolist()


@pytest.mark.parametrize("seed", range(10))
def test_a_walk_with_rollbacks_is_that_of_xgrammar(automaton, reference, letters, end, seed):
    source, matcher = random.Random(seed), VllmGrammar(automaton)
    taken = 0
    for _ in range(60):
        if taken and (matcher.is_terminated() or source.random() < 0.2):
            back = source.randint(1, taken)
            matcher.rollback(back)
            reference.rollback(back)
            taken -= back
        allowed = allowed_by(matcher, len(letters))
        assert allowed == allowed_by(reference, len(letters))
        draft = [source.choice(allowed), source.randrange(len(letters))]
        valid = matcher.validate_tokens(draft)
        assert valid[:1] == draft[:1]
        assert matcher.accept_tokens("a request", valid)
        assert all(reference.accept_token(token) for token in valid)
        taken += len(valid)
        assert matcher.is_terminated() == reference.is_terminated()


def test_nothing_is_taken_of_tokens_that_are_not_all_allowed(automaton, letters, end):
    matcher = VllmGrammar(automaton)
    before = allowed_by(matcher, len(letters))
    for wrong in ([ord("a"), ord("x")], [-1], [len(letters)], [end]):
        assert not matcher.accept_tokens("a request", wrong)
        assert allowed_by(matcher, len(letters)) == before
    assert matcher.validate_tokens([ord("a"), ord("b"), -1, ord("c")]) == [ord("a"), ord("b")]
    with pytest.raises(ValueError, match="0 were taken"):
        matcher.rollback(1)


def test_a_reset_matcher_is_at_its_beginning(automaton, letters, end):
    matcher = VllmGrammar(automaton)
    before = allowed_by(matcher, len(letters))
    assert matcher.accept_tokens("a request", [*b"no", end])
    assert matcher.is_terminated()
    assert allowed_by(matcher, len(letters)) == [end]
    assert not matcher.accept_tokens("a request", [end])
    matcher.reset()
    assert not matcher.is_terminated()
    assert allowed_by(matcher, len(letters)) == before


def test_the_part_of_a_mask_beyond_the_vocabulary_allows_nothing(automaton, letters):
    matcher = VllmGrammar(automaton)
    assert allowed_by(matcher, len(letters) + 500) == allowed_by(matcher, len(letters))
    with pytest.raises(ValueError, match="a bit mask is int32"):
        matcher.fill_bitmask(torch.zeros(1, 2, dtype=torch.int32), 0)


TAG = """{"type": "structural_tag", "format":
    {"type": "tag", "begin": "<a>", "content": {"type": "regex", "pattern": "b"}, "end": "</a>"}}"""


@pytest.mark.parametrize(
    ("kind", "spec", "text"),
    [
        (Options.JSON, '{"enum": [12]}', "12"),
        (Options.JSON_OBJECT, "", '{"a":[1]}'),
        (Options.REGEX, "a{3}", "aaa"),
        (Options.GRAMMAR, 'root ::= "b" root | ""', "bbb"),
        (Options.GRAMMAR, 'start: "b" start | ', "bbb"),
        (Options.CHOICE, '["yes", "no"]', "no"),
        (Options.STRUCTURAL_TAG, TAG, "<a>b</a>"),
    ],
)
def test_every_type_of_request_of_vllm_compiles(letters, end, kind, spec, text):
    matcher = VllmBackend(letters, len(letters)).compile_grammar(kind, spec)
    assert matcher.accept_tokens("a request", [*text.encode(), end])
    assert matcher.is_terminated()


def test_a_type_of_request_that_is_not_known_is_refused(letters):
    with pytest.raises(ValueError, match="LATER is no type of request"):
        VllmBackend(letters, len(letters)).compile_grammar(Options.LATER, "")


def test_the_masks_of_a_backend_allow_everything_until_they_are_filled(letters):
    mask = VllmBackend(letters, 1000).allocate_token_bitmask(4)
    assert mask.shape == (4, 32)
    assert (mask == -1).all()


def test_the_scheduler_of_sglang_drives_a_grammar_to_its_end(automaton, letters, end):
    grammar = SglangGrammar(automaton).copy()
    logits = torch.randn(2, 3, len(letters), generator=torch.Generator().manual_seed(0))
    mask = grammar.allocate_vocab_mask(len(letters), 2, "cpu")
    output: list[int] = []
    for step in range(40):
        grammar.fill_vocab_mask(mask, 1)
        scores = logits[:, step % 3].clone()
        grammar.apply_vocab_mask(scores, grammar.move_vocab_mask(mask, "cpu"))
        assert torch.equal(scores[0], logits[0, step % 3])  # a request without a grammar
        token = int(scores[1].argmax())
        grammar.accept_token(token)
        if grammar.is_terminated():
            break
        output.append(token)
    else:
        grammar.rollback(len(output))
        output = [*b"abcno"]
        for token in [*output, end]:
            grammar.accept_token(token)
    assert automaton.accepts(letters.decode(output))
    grammar.accept_token(ord("x"))  # what comes behind the end is dropped
    grammar.rollback(1)
    assert not grammar.is_terminated()
    with pytest.raises(ValueError, match="is not allowed behind"):
        grammar.accept_token(ord("x"))


def test_what_must_come_can_be_jumped_over(letters):
    grammar = SglangGrammar(compile_regex("(yes|no), (sir|ma'am): é!", letters))
    assert grammar.try_jump_forward(None) is None
    grammar.accept_token(ord("y"))
    helper = grammar.try_jump_forward(None)
    assert helper is not None
    text, state = grammar.jump_forward_str_state(helper)
    assert text == "es, "
    yes = next(token for token in range(len(letters)) if letters.token_bytes(token) == b"yes")
    grammar.jump_and_retokenize([ord("y")], [yes, *b", "], state)
    for token in b"sir: \xc3":
        grammar.accept_token(token)
    assert grammar.try_jump_forward(None) is None  # the rest of a character is no text
    with pytest.raises(ValueError, match="the answer cannot be"):
        grammar.jump_and_retokenize([yes, *b", sir: \xc3"], [yes, *b"; sir"], state)
    for token in b"\xa9!":
        grammar.accept_token(token)
