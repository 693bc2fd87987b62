"""A vocabulary knows the bytes of each token, whatever kind of tokenizer it comes from; its trie is built once."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from structgen._compiled import store
from structgen.errors import UnsupportedModel
from structgen.grammars import ALL_TOKENS, DEAD, TokenAutomaton, TokenVocabulary, _trie_files, compile_choice
from structgen.grammars._trie import build_trie
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


def test_ids_may_have_holes():
    tokenizer = Tokenizer(models.BPE({"a": 0, "b": 7}, []))
    tokenizer.decoder = decoders.ByteLevel()
    vocabulary = TokenVocabulary.from_tokenizer(tokenizer, eos_token_ids=[3])
    assert [vocabulary.token_bytes(token) for token in (0, 1, 7)] == [b"a", b"", b"b"]


def test_tokens_out_of_the_byte_level_alphabet_stand_for_their_text():
    tokenizer = Tokenizer(models.BPE({"Ġa": 0, "｜": 1, "Ċ": 2}, []))
    tokenizer.decoder = decoders.ByteLevel()
    vocabulary = TokenVocabulary.from_tokenizer(tokenizer, eos_token_ids=[])
    assert [vocabulary.token_bytes(token) for token in range(3)] == [b" a", "｜".encode(), b"\n"]


def test_tokens_given_by_their_ranks_are_bytes_whatever_they_spell():
    """As tiktoken has them: most are UTF-8, some a part of a character or of two."""
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"\xe6\x97": 256, "日".encode(): 257, b"\xa5\xe6": 258}
    vocabulary = TokenVocabulary.from_bytes([*ranks, b""], [len(ranks)])
    row = np.empty((len(vocabulary) + 31) // 32, np.int32)
    with compile_json_schema({"const": "日日"}, vocabulary).matcher() as matcher:
        state = matcher.start
        for token in (0x22, 256, 258, 0x97, 0xA5, 0x22):
            matcher.fill_mask(state, row)
            assert (row[token >> 5] >> (token & 31)) & 1
            state = matcher.advance(state, token)
        assert matcher.is_accepting(state)


def test_the_collector_of_garbage_does_not_look_through_the_tokens():
    tokens = [b"the test's " + number.to_bytes(2, "big") for number in range(60_000)] + [b""]
    vocabulary = TokenVocabulary.from_bytes(tokens, [60_000])
    gc.collect()
    large = [one for one in gc.get_objects() if type(one) in (list, set, tuple) and len(one) >= 60_000]
    assert all(one is tokens for one in large if tokens[513] in one)
    assert vocabulary.token_bytes(513) == tokens[513]


# Tries on disk


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(_trie_files, "_LARGE", 0)
    monkeypatch.setattr(store, "_folders", lambda: [tmp_path / "cache"])
    return tmp_path / "cache"


PIECES = [bytes([byte]) for byte in range(256)] + [b'":', b'","', "é".encode(), b"ab", b"ab", b""]


def is_built_anew(monkeypatch) -> bool:
    """Whether a vocabulary of `PIECES` is, which must be right anyhow."""
    built = []
    monkeypatch.setattr(_trie_files, "build_trie", lambda pieces: built.append(1) or build_trie(pieces))
    trie, expected = TokenVocabulary.from_bytes(PIECES, [261]).trie, build_trie(PIECES)
    assert all(np.array_equal(part, other) for part, other in zip(trie, expected, strict=True))
    assert [part.dtype for part in trie] == [part.dtype for part in expected]
    return bool(built)


def test_a_trie_is_built_once_and_read_from_then_on(folder, monkeypatch):
    assert is_built_anew(monkeypatch)
    assert [path.suffix for path in folder.iterdir()] == [".trie"]
    assert not is_built_anew(monkeypatch)
    TokenVocabulary.from_bytes([*PIECES[:-1], b"other", b""], [262])
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: data[:99] + b"\xff" + data[100:], lambda _: b""]
)
def test_a_file_that_is_cut_or_changed_is_found_and_built_anew(folder, monkeypatch, damage):
    assert is_built_anew(monkeypatch)
    (path,) = folder.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert is_built_anew(monkeypatch)
    assert not is_built_anew(monkeypatch)


def test_without_a_folder_to_write_tries_are_built_each_time(folder, monkeypatch):
    folder.write_bytes(b"no folder")
    assert is_built_anew(monkeypatch)
    assert is_built_anew(monkeypatch)
