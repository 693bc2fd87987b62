from __future__ import annotations

import json

import pytest
from gguf_files import write_gguf
from gguf_tokenizers import byte_level_fields
from mixed_text import SAMPLES, mixed_texts
from tokenizers import AddedToken, Tokenizer, pre_tokenizers
from tokenizers.trainers import BpeTrainer

from structgen.engine.tokenization.pre_tokenization import PRE_TOKENIZATIONS
from structgen.engine.weights import open_checkpoint
from structgen.errors import InvalidModelFile, UnsupportedModel


def split(*patterns):
    return [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        for pattern in patterns
    ]


def byte_level(use_regex):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


DIGITS = {"type": "Digits", "individual_digits": True}
NFC = {"type": "NFC"}
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    "[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
)

# (steps, normalizer, ignore_merges) as the tokenizer.json of the original has them
ORIGINALS = {
    "gpt-2": ([byte_level(True)], None, False),
    "smollm": ([DIGITS, byte_level(True)], None, False),
    "command-r": ([DIGITS, byte_level(True)], NFC, False),
    "llama-bpe": ([*split(LLAMA3), byte_level(False)], None, True),
    "qwen2": ([*split(QWEN2), byte_level(False)], NFC, False),
    "gpt-4o": ([*split(O200K), byte_level(False)], None, True),
    "tekken": ([*split(TEKKEN), byte_level(False)], None, True),
    "deepseek-v3": ([*split(*DEEPSEEK_V3), byte_level(False)], None, False),
    "deepseek-coder": (
        [*split("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+"), DIGITS, byte_level(False)],
        None,
        False,
    ),
}
SPECIAL = ["<|start|>", "<|end|>"]
USER_DEFINED = ["<tool>", "  \n"]


def train(pre: str) -> Tokenizer:
    """A small tokenizer that splits text as the original of that name does."""
    steps, normalizer, ignore_merges = ORIGINALS[pre]
    description = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": normalizer,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}, "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "vocab": {}, "merges": [], "ignore_merges": ignore_merges},
    }  # fmt: skip
    tokenizer = Tokenizer.from_str(json.dumps(description))
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = BpeTrainer(vocab_size=700, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([*SAMPLES, *mixed_texts(200, seed=1)], trainer)
    trained = json.loads(tokenizer.to_str())
    trained["model"]["vocab"]["Ġescaped"] = len(trained["model"]["vocab"])  # a token that no merges make
    tokenizer = Tokenizer.from_str(json.dumps(trained))
    tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text in SPECIAL])
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in USER_DEFINED])
    return tokenizer


def read_back(path, tokenizer, pre, **others):
    with open_checkpoint(write_gguf(path / "m.gguf", fields=byte_level_fields(tokenizer, pre, **others))) as checkpoint:
        return checkpoint.tokenizer()


@pytest.mark.parametrize("pre", ORIGINALS)
def test_ids_and_text_are_those_of_the_original(tmp_path, pre):
    original = train(pre)
    tokenizer = read_back(tmp_path, original, pre)
    assert tokenizer.get_vocab_size() == original.get_vocab_size()
    for text in mixed_texts(1000, [*SPECIAL, *USER_DEFINED]):
        ids = original.encode(text).ids
        assert tokenizer.encode(text, add_special_tokens=False).ids == ids, text
        assert tokenizer.decode(ids) == original.decode(ids)
        assert tokenizer.decode(ids, skip_special_tokens=False) == original.decode(ids, skip_special_tokens=False)


@pytest.mark.parametrize("pre", sorted(PRE_TOKENIZATIONS))
def test_every_known_splitting_loses_nothing(tmp_path, pre):
    tokenizer = read_back(tmp_path, train("gpt-2"), pre)
    for text in mixed_texts(200):
        normalized = text if tokenizer.normalizer is None else tokenizer.normalizer.normalize_str(text)
        assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False).ids) == normalized


def test_a_file_without_a_name_is_split_as_llama_cpp_always_did(tmp_path):
    fields = byte_level_fields(train("gpt-2"), "default")
    del fields["tokenizer.ggml.pre"]
    with open_checkpoint(write_gguf(tmp_path / "m.gguf", fields=fields)) as checkpoint:
        splitting = checkpoint.tokenizer().pre_tokenizer.pre_tokenize_str("It's 12345 (a+b)==c,  d")
    words = ["It", "'", "s", "Ġ", "123", "45", "Ġ", "(", "a", "+", "b", ")==", "c", ",", "Ġ", "Ġd"]
    assert [word for word, _ in splitting] == words


def test_an_unknown_splitting_is_refused_by_name(tmp_path):
    with pytest.raises(UnsupportedModel, match=r"m\.gguf: tokenizer\.ggml\.pre is 'martian'.*known are .*smollm"):
        read_back(tmp_path, train("gpt-2"), "martian")


@pytest.mark.parametrize(
    ("pre", "others", "expected"),
    [
        ("gpt-2", {}, []),
        ("llama-bpe", {}, ["<|start|>"]),
        ("llama-bpe", {"add_bos_token": False}, []),
        ("gpt-2", {"add_bos_token": True}, ["<|start|>"]),
        ("gpt-2", {"add_bos_token": True, "add_eos_token": True}, ["<|start|>", "<|end|>"]),
    ],
)
def test_text_begins_and_ends_as_the_file_or_the_family_says(tmp_path, pre, others, expected):
    original = train("gpt-2")
    ids = {"bos_token_id": original.token_to_id("<|start|>"), "eos_token_id": original.token_to_id("<|end|>")}
    tokenizer = read_back(tmp_path, original, pre, **ids, **others)
    tokens = tokenizer.encode("a").tokens
    assert tokens == [*expected[:1], "a", *expected[1:]]
    assert tokenizer.encode("a", add_special_tokens=False).tokens == ["a"]


def test_unused_places_are_not_tokens(tmp_path):
    original = train("gpt-2")
    fields = byte_level_fields(original, "llama-bpe")  # which takes whole words from the vocabulary
    fields["tokenizer.ggml.tokens"].append("PAD")
    fields["tokenizer.ggml.token_type"].append(5)
    with open_checkpoint(write_gguf(tmp_path / "m.gguf", fields=fields)) as checkpoint:
        tokenizer = checkpoint.tokenizer()
    assert tokenizer.token_to_id("PAD") is None
    assert tokenizer.get_vocab_size() == original.get_vocab_size()


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("merges", ["a zz"], "merges joins 'a' and 'zz'"),
        ("merges", ["a <tool>"], "merges joins 'a' and '<tool>', and one of them or the whole is no token"),
        ("merges", ["single"], "merges joins 'single' and ''"),
        ("merges", [1, 2], "merges is not an array of strings"),
        ("token_type", [1, 1], "token_type is not an array of"),
        ("bos_token_id", 10**6, "bos_token_id is 1000000 and not one of the"),
        ("add_bos_token", 1, "add_bos_token is 1 and not a boolean"),
        ("tokens", [], "holds no tokenizer"),
    ],
)
def test_fields_that_contradict_each_other_are_named(tmp_path, key, value, reason):
    fields = byte_level_fields(train("gpt-2"), "gpt-2") | {f"tokenizer.ggml.{key}": value}
    if not value:
        del fields[f"tokenizer.ggml.{key}"]
    with (
        open_checkpoint(write_gguf(tmp_path / "m.gguf", fields=fields)) as checkpoint,
        pytest.raises(InvalidModelFile, match=rf"m\.gguf: .*{reason}"),
    ):
        checkpoint.tokenizer()


def test_other_kinds_of_tokenizers_are_refused_by_name(tmp_path):
    fields = byte_level_fields(train("gpt-2"), "gpt-2") | {"tokenizer.ggml.model": "rwkv"}
    with (
        open_checkpoint(write_gguf(tmp_path / "m.gguf", fields=fields)) as checkpoint,
        pytest.raises(UnsupportedModel, match=r"tokenizer\.ggml\.model is 'rwkv'"),
    ):
        checkpoint.tokenizer()
