from __future__ import annotations

import pytest
from gguf.constants import TokenType
from gguf_files import tokenizer_fields, write_gguf
from mixed_text import mixed_texts
from transformers import AutoTokenizer
from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

from structgen.engine.weights import open_checkpoint
from structgen.errors import InvalidModelFile
from structgen.grammars._token_bytes import END_TOKENS


def open_vocabulary(path, tokens, **others):
    """A file that holds the ids of some tokens; those in angles are control tokens."""
    types = [TokenType.CONTROL if text.startswith("<") else TokenType.NORMAL for text in tokens]
    fields = tokenizer_fields("gpt2", tokens, types, merges=[], pre="gpt-2", **others)
    template = {"tokenizer.chat_template": "{{ bos_token }}|{{ eos_token }}|{{ pad_token }}"}
    return open_checkpoint(write_gguf(path / "m.gguf", fields=fields | template))


def test_end_tokens_are_the_named_ones_then_the_well_known_ones(tmp_path):
    tokens = ["a", "<|endoftext|>", "<|im_end|>", "<|eom_id|>", "<|im_start|>", "|end|"]
    with open_vocabulary(tmp_path, tokens, eos_token_id=2) as checkpoint:
        assert checkpoint.eos_token_ids == (2, 1, 3)
    with open_vocabulary(tmp_path, tokens, eos_token_id=0, eot_token_id=3, eom_token_id=3) as checkpoint:
        assert checkpoint.eos_token_ids == (0, 3, 1, 2)
    with open_vocabulary(tmp_path, ["a", "b"]) as checkpoint:
        assert (checkpoint.bos_token_id, checkpoint.eos_token_ids) == (None, ())


@pytest.mark.parametrize("name", sorted(END_TOKENS))
def test_every_name_that_ends_an_answer_under_a_grammar_ends_one_of_a_gguf_model(tmp_path, name):
    with open_vocabulary(tmp_path, ["a", name]) as checkpoint:
        assert checkpoint.eos_token_ids == (1,)


def test_the_chat_template_knows_the_special_tokens(tmp_path):
    with open_vocabulary(tmp_path, ["<s>", "</s>"], bos_token_id=0, eos_token_id=1) as checkpoint:
        assert checkpoint.chat_template().render([]) == "<s>|</s>|"


def test_a_named_token_outside_the_vocabulary_is_a_clear_error(tmp_path):
    with (
        open_vocabulary(tmp_path, ["a"], eos_token_id=7) as checkpoint,
        pytest.raises(InvalidModelFile, match=r"eos_token_id is 7 and not one of the 1 tokens"),
    ):
        checkpoint.eos_token_ids  # noqa: B018 - the look itself raises


def test_a_file_without_kinds_of_tokens_still_knows_its_ends(tmp_path):
    fields = tokenizer_fields("gpt2", ["a", "</s>"], [], merges=[], pre="gpt-2", eos_token_id=1)
    del fields["tokenizer.ggml.token_type"]
    with open_checkpoint(write_gguf(tmp_path / "m.gguf", fields=fields)) as checkpoint:
        assert checkpoint.tokenizer().encode("a</s>").ids == [0, 1]
        assert checkpoint.tokenizer().decode([0, 1]) == "a"


@pytest.mark.model
def test_smollm2_writes_known_ids(smollm2):
    with open_checkpoint(smollm2) as checkpoint:
        tokenizer = checkpoint.tokenizer()
    # Its original splits every digit off; transformers' GGUF reader does not, and puts the space before it.
    assert tokenizer.encode("Hello 123 world\n\n  <|im_start|>x").tokens == [
        "Hello", "Ġ", "1", "2", "3", "Ġworld", "ĊĊĠĠ", "<|im_start|>", "x",
    ]  # fmt: skip
    assert tokenizer.encode("<|im_start|>user\n<|im_end|>").ids == [1, 4093, 198, 2]
    for text in mixed_texts(300):
        assert tokenizer.decode(tokenizer.encode(text).ids) == text


@pytest.mark.slow
@pytest.mark.model
def test_smollm2_writes_what_transformers_writes_once_digits_are_split_as_in_the_original(smollm2):
    reference = AutoTokenizer.from_pretrained(smollm2.parent, gguf_file=smollm2.name)
    assert isinstance(reference, PreTrainedTokenizerFast)
    with open_checkpoint(smollm2) as checkpoint:
        tokenizer = checkpoint.tokenizer()
    reference.backend_tokenizer.pre_tokenizer = tokenizer.pre_tokenizer
    for text in mixed_texts(3000, ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]):
        ids = reference(text, add_special_tokens=False).input_ids
        assert tokenizer.encode(text, add_special_tokens=False).ids == ids, text
