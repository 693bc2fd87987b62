"""`model.generate` says what the grammar allows, however it searches."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from structgen.adapters.bits import forbidden
from structgen.adapters.rows import Rows
from structgen.adapters.transformers import GrammarLogitsProcessor
from structgen.grammars import TokenVocabulary, compile_choice, compile_json_schema, compile_regex

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 6}},
    "required": ["city"],
    "additionalProperties": False,
}
PROMPTS = ["What is the weather in Stockholm today?", "true"]


@pytest.fixture(scope="module")
def tokenizer(tiny_folder):
    tokenizer = AutoTokenizer.from_pretrained(tiny_folder, padding_side="left")
    tokenizer.pad_token = "<|im_start|>"
    return tokenizer


@pytest.fixture(scope="module")
def model(tiny_folder):
    return AutoModelForCausalLM.from_pretrained(tiny_folder).eval()


@pytest.fixture(scope="module")
def vocabulary(tokenizer):
    return TokenVocabulary.from_tokenizer(tokenizer)


@pytest.fixture(scope="module")
def answers(model, tokenizer):
    """A function that gives what the model says to two prompts of different length."""

    def ask(processor, **options):
        torch.manual_seed(0)
        inputs = tokenizer(PROMPTS, return_tensors="pt", padding=True)
        options = {"max_new_tokens": 120, "pad_token_id": tokenizer.pad_token_id} | options
        found = model.generate(**inputs, **options, logits_processor=[processor])
        return [row[inputs.input_ids.shape[1] :].tolist() for row in found]

    return ask


SEARCHES = [
    {"do_sample": False},
    {"do_sample": True, "temperature": 3.0},
    {"do_sample": True, "temperature": 3.0, "num_return_sequences": 5},
    {"do_sample": False, "num_beams": 4, "num_return_sequences": 3},
    {"do_sample": True, "num_beams": 3, "num_return_sequences": 2},
]


@pytest.mark.parametrize("search", SEARCHES, ids=" ".join)
def test_every_row_is_an_answer_of_the_grammar(answers, tokenizer, vocabulary, search):
    automaton = compile_json_schema(CITY, vocabulary)
    found = answers(GrammarLogitsProcessor(automaton), **search)
    assert len(found) == 2 * search.get("num_return_sequences", 1)
    for row in found:
        end = row.index(tokenizer.eos_token_id)
        assert set(row[end + 1 :]) <= {tokenizer.pad_token_id, tokenizer.eos_token_id}  # beam search writes the latter
        text = vocabulary.decode(row[:end]).decode()
        assert automaton.accepts(text)
        assert list(json.loads(text)) == ["city"]


def test_beams_end_although_few_texts_are_there(answers, tokenizer, vocabulary):
    """With fewer texts than beams, some rows hold tokens that the grammar does not allow, at minus infinity."""
    automaton = compile_choice(["true", "today"], vocabulary)
    found = answers(GrammarLogitsProcessor(automaton), num_beams=6, num_return_sequences=1)
    texts = [vocabulary.decode(row[: row.index(tokenizer.eos_token_id)]).decode() for row in found]
    assert set(texts) <= {"true", "today"}


def test_drafts_that_are_looked_up_in_the_prompt_change_nothing(model, tokenizer, vocabulary):
    automaton = compile_regex(r"(What is the weather in Stockholm (today|tomorrow)\? ){1,3}", vocabulary)
    inputs = tokenizer("What is the weather in Stockholm today? What is", return_tensors="pt")
    options = {"max_new_tokens": 80, "do_sample": False, "pad_token_id": tokenizer.pad_token_id}
    plain = model.generate(**inputs, **options, logits_processor=[GrammarLogitsProcessor(automaton)])
    drafted = model.generate(
        **inputs, **options, prompt_lookup_num_tokens=5, logits_processor=[GrammarLogitsProcessor(automaton)]
    )
    assert plain.tolist() == drafted.tolist()
    text = vocabulary.decode(plain[0, inputs.input_ids.shape[1] :].tolist())
    assert automaton.accepts(text)


def test_a_processor_that_is_used_again_starts_anew(answers, vocabulary):
    processor = GrammarLogitsProcessor(compile_json_schema(CITY, vocabulary))
    assert answers(processor) == answers(processor)


def test_ids_beyond_the_tokenizer_are_never_allowed(vocabulary):
    automaton = compile_regex("(?s:.)*", vocabulary)
    width = len(vocabulary) + 75
    scores = GrammarLogitsProcessor(automaton)(torch.tensor([[5, 6]]), torch.zeros(1, width))
    allowed = torch.isfinite(scores)[0]
    assert allowed[: len(vocabulary)].sum() > 200
    assert not allowed[len(vocabulary) :].any()


def test_fewer_scores_than_tokens_are_masked_as_far_as_they_go(vocabulary):
    automaton = compile_regex("(?s:.)*", vocabulary)
    processor = GrammarLogitsProcessor(automaton)
    wide = processor(torch.tensor([[5, 6]]), torch.zeros(1, len(vocabulary)))
    narrow = GrammarLogitsProcessor(automaton)(torch.tensor([[5, 6]]), torch.zeros(1, 100))
    assert torch.equal(wide[:, :100], narrow)


def test_an_end_is_allowed_exactly_where_the_text_may_end(letters):
    automaton = compile_regex("ab|abc", letters)
    rows, end = Rows(automaton), letters.eos_token_ids[0]
    row, may_end = [7, 7], []
    for token in (None, ord("a"), ord("b"), ord("c")):
        row += [] if token is None else [token]
        masks = torch.from_numpy(rows.masks(np.array([row])))
        may_end.append(not forbidden(masks, len(letters))[0, end])
    assert may_end == [False, False, True, True]


def test_a_state_follows_its_tokens_and_not_its_place(letters):
    """Rows change places, one is copied, one dropped, and one goes back, as in a search."""
    automaton = compile_regex("a+b+", letters)
    rows = Rows(automaton)
    a, b = ord("a"), ord("b")
    rows.masks(np.array([[1, 2], [3, 4]]))
    rows.masks(np.array([[3, 4, a], [1, 2, b]]))  # the second is no text of the grammar
    found = rows.masks(np.array([[1, 2, b, a], [3, 4, a, a], [3, 4, a, b], [3, 4, a, b]]))
    allowed = [np.flatnonzero(row).tolist() for row in ~forbidden(torch.from_numpy(found), len(letters)).numpy()]
    end = letters.eos_token_ids[0]
    assert allowed[0] == [end]
    assert allowed[1] == [a, b, 257]  # the last one is "ab"
    assert allowed[2] == allowed[3] == [b, end]
