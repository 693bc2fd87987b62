from __future__ import annotations

import numpy as np
import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from structgen.errors import UnsupportedModel
from structgen.grammars import ALL_TOKENS, DEAD, TokenAutomaton, TokenVocabulary, compile_choice
from structgen.grammars.expr import Rule, sequence, special_token
from structgen.grammars.json_schema import compile_json_schema

TEXTS = ["the weather in Stockholm is cold", "räksmörgås, 日本語 and 🙂🙂", "def f(x):\n    return {'a': [1, 2]}\n"] * 3
MIXED = ["  two spaces", "tab\there", "日本🙂", "é\r\n", "a" * 30, "{'k': 0.5}"]


@pytest.fixture(scope="module")
def byte_level():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<|end|>", "<|call|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.add_tokens([AddedToken("    ", special=False, normalized=False)])
    return tokenizer


@pytest.fixture(scope="module")
def sentencepiece_like():
    pieces = [
        "<unk>",
        "<s>",
        "</s>",
        *(f"<0x{byte:02X}>" for byte in range(256)),
        "\u2581",
        *"abcdehlnortw",
        "\u2581the",
    ]
    tokenizer = Tokenizer(
        models.BPE({piece: number for number, piece in enumerate(pieces)}, [], byte_fallback=True, unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return tokenizer


@pytest.mark.parametrize("kind", ["byte_level", "sentencepiece_like"])
@pytest.mark.parametrize("text", MIXED)
def test_the_bytes_of_a_texts_tokens_are_the_texts_bytes(kind, text, request):
    tokenizer = request.getfixturevalue(kind)
    vocabulary = TokenVocabulary.from_tokenizer(tokenizer, eos_token_ids=[0])
    assert vocabulary.decode(tokenizer.encode(text, add_special_tokens=False).ids) == text.encode()


def test_a_transformers_tokenizer_names_its_end(byte_level):
    wrapped = PreTrainedTokenizerFast(tokenizer_object=byte_level, eos_token="<|end|>")
    vocabulary = TokenVocabulary.from_tokenizer(wrapped)
    assert vocabulary.eos_token_ids == (byte_level.token_to_id("<|end|>"),)
    assert len(vocabulary) == len(wrapped)


def test_well_known_ends_are_found_where_nothing_names_one(sentencepiece_like):
    assert TokenVocabulary.from_tokenizer(sentencepiece_like).eos_token_ids == (2,)


def test_special_tokens_have_a_name_and_no_text(byte_level):
    vocabulary = TokenVocabulary.from_tokenizer(byte_level, eos_token_ids=[0])
    assert vocabulary.special_tokens == {0: "<|end|>", 1: "<|call|>"}
    assert vocabulary.token_bytes(1) == b""
    with compile_choice(["<|call|>"], vocabulary).matcher() as matcher:
        assert matcher.advance(matcher.start, 1) == DEAD


def test_a_special_symbol_is_its_token_and_never_its_text(byte_level):
    vocabulary = TokenVocabulary.from_tokenizer(byte_level, eos_token_ids=[0])
    automaton = TokenAutomaton(Rule("call", lambda: sequence(special_token(1), special_token(1))), vocabulary)
    assert not automaton.accepts("<|call|><|call|>")
    with automaton.matcher() as matcher:
        assert matcher.forced_tokens(matcher.start) == [1, 1]


def test_added_text_tokens_are_text(byte_level):
    vocabulary = TokenVocabulary.from_tokenizer(byte_level, eos_token_ids=[0])
    assert vocabulary.token_bytes(byte_level.token_to_id("    ")) == b"    "


def test_ids_without_a_token_are_never_allowed(byte_level):
    size = byte_level.get_vocab_size() + 100
    vocabulary = TokenVocabulary.from_tokenizer(byte_level, eos_token_ids=[0], size=size)
    everything = np.unpackbits(vocabulary.masks.rows[ALL_TOKENS].view(np.uint8), bitorder="little")
    assert everything[: size - 100].all()
    assert not everything[size - 100 :].any()
    row = np.empty(len(everything) // 32, np.int32)
    with compile_json_schema({"type": "string"}, vocabulary).matcher() as matcher:
        matcher.fill_mask(matcher.start, row)
        assert not np.unpackbits(row.view(np.uint8), bitorder="little")[size - 100 :].any()


def test_tokens_with_the_same_bytes_are_allowed_together():
    vocabulary = TokenVocabulary.from_bytes([b"a", b"b", b"a", b""], [3])
    row = np.empty(1, np.int32)
    with compile_choice(["a"], vocabulary).matcher() as matcher:
        matcher.fill_mask(matcher.start, row)
        assert row[0] == 0b101


def test_several_end_tokens_end_a_text():
    vocabulary = TokenVocabulary.from_bytes([b"a", b"", b""], [1, 2])
    row = np.empty(1, np.int32)
    with compile_choice(["a"], vocabulary).matcher() as matcher:
        matcher.fill_mask(matcher.advance(matcher.start, 0), row)
        assert row[0] == 0b110


def test_an_end_tokens_bytes_are_no_text():
    vocabulary = TokenVocabulary.from_bytes([b"a", b"b"], [1])
    with compile_choice(["ab"], vocabulary).matcher() as matcher:
        assert matcher.advance(matcher.advance(matcher.start, 0), 1) == DEAD


def test_a_tokenizer_whose_tokens_are_no_fixed_bytes_is_refused():
    words = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"))
    words.decoder = decoders.WordPiece()
    with pytest.raises(UnsupportedModel, match="WordPiece"):
        TokenVocabulary.from_tokenizer(words)
    with pytest.raises(UnsupportedModel, match="from_bytes"):
        TokenVocabulary.from_tokenizer(object())


def test_an_end_token_out_of_range_is_an_error():
    with pytest.raises(ValueError, match="token id 7"):
        TokenVocabulary.from_bytes([b"a"], [7])
