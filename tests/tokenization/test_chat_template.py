from __future__ import annotations

import json

import pytest
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from structgen.engine.tokenization.chat_template import ChatTemplate
from structgen.engine.weights import open_checkpoint
from structgen.errors import InvalidModelFile, InvalidRequest

# Shaped as llama's: a dated system part, tools as indented JSON, no trimming marks, calls back from the assistant.
HEADERS = """\
{{- bos_token }}
{%- if tools is not none %}
    {{- "Cutting knowledge: " + strftime_now("%Y") + "\\n" }}
    {%- for tool in tools %}
        {{- tool | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{%- for message in messages %}
    {%- if message.tool_calls is defined %}
        {%- set call = message.tool_calls[0].function %}
        {{- '<|header|>assistant<|end|>' }}
        {{- '{"name": "' + call.name + '", "parameters": ' + (call.arguments | tojson) + "}" }}
    {%- else %}
        {{- '<|header|>' + message['role'] + '<|end|>\\n\\n'+ message['content'] | trim + eos_token }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|header|>assistant<|end|>\\n\\n' }}
{%- endif %}
"""
# Shaped as mistral's: roles must alternate, loop controls, lines that are blocks only.
ALTERNATING = """\
{{ bos_token }}{% for message in messages %}
    {% if message['role'] == 'system' %}
        {% continue %}
    {% endif %}
    {% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{ raise_exception('Conversation roles must alternate user/assistant/user/...') }}
    {% endif %}
    {% if message['role'] == 'user' %}
[INST] {{ message['content'] }} [/INST]
    {% elif message['role'] == 'assistant' %}
        {% generation %}{{ message['content'] }}{{ eos_token }}{% endgeneration %}

    {% else %}
        {% break %}
    {% endif %}
{% endfor %}"""
# Shaped as qwen's: namespaces, tools as one line of JSON, an option of its own.
NAMESPACES = """\
{%- if tools %}
    {{- '<|im_start|>system\\n<tools>' }}
    {%- for tool in tools %}{{- "\\n" }}{{- tool | tojson }}{%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- endif %}
{%- set ns = namespace(last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- if message.role == "user" and not(message.content.startswith('<r>') and message.content.endswith('</r>')) %}
        {%- set ns.last = (messages|length - 1) - loop.index0 %}{%- break %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + ('*' if loop.index0 == ns.last else '') }}
    {{- '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}"""

CONVERSATIONS = [
    [{"role": "user", "content": "Hello"}],
    [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "  Ünïcode & <html> 'quotes' \"too\" 你好\n"},
    ],
    [
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "Two."},
        {"role": "user", "content": "<r>three</r>"},
    ],
]
TOOLS = [{"type": "function", "function": {"name": "gå", "description": "<b> & 'c'", "parameters": {"type": "object"}}}]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


def reference(template: str, messages, **options) -> str:
    """What transformers writes."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), **TOKENS)
    return tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False, **options)


@pytest.mark.parametrize("template", [HEADERS, ALTERNATING, NAMESPACES], ids=["headers", "alternating", "namespaces"])
@pytest.mark.parametrize("tools", [None, TOOLS], ids=["plain", "tools"])
@pytest.mark.parametrize("prompt", [True, False], ids=["prompt", "closed"])
def test_a_conversation_is_written_as_transformers_writes_it(template, tools, prompt):
    for messages in CONVERSATIONS:
        if template == ALTERNATING and messages[0]["role"] == "system":
            continue
        options = {"tools": tools, "add_generation_prompt": prompt}
        expected = reference(template, messages, **options)
        assert ChatTemplate(template, special_tokens=TOKENS).render(messages, **options) == expected


def test_calls_and_absent_contents_are_written_as_transformers_writes_them():
    call = {"name": "gå", "arguments": {"till": "Åre", "n": [1, 2.5, None, True]}}
    messages = [{"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": call}]}]
    written = ChatTemplate(HEADERS, special_tokens=TOKENS).render(messages)
    assert written == reference(HEADERS, messages, add_generation_prompt=True)
    assert '{"till": "Åre", "n": [1, 2.5, null, true]}' in written


def test_a_template_has_options_of_its_own():
    template = ChatTemplate(NAMESPACES)
    written = template.render(CONVERSATIONS[0], enable_thinking=False)
    assert written == reference(NAMESPACES, CONVERSATIONS[0], add_generation_prompt=True, enable_thinking=False)
    assert written.endswith("</think>\n\n")


@pytest.mark.model
def test_smollm2_writes_a_conversation_as_transformers_does(smollm2):
    with open_checkpoint(smollm2) as checkpoint:
        template = checkpoint.chat_template()
    for messages in CONVERSATIONS:
        for prompt in (True, False):
            expected = reference(template.source, messages, add_generation_prompt=prompt)
            assert template.render(messages, add_generation_prompt=prompt) == expected
    assert template.render(CONVERSATIONS[0]).startswith(
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM"
    )


def test_tools_may_have_a_template_of_their_own():
    template = ChatTemplate("plain", tool_source="with {{ tools[0].function.name }}")
    assert (template.render([]), template.render([], tools=[]), template.render([], tools=TOOLS)) == (
        "plain", "plain", "with gå",
    )  # fmt: skip


def test_what_a_template_refuses_is_a_clear_error():
    template = ChatTemplate(ALTERNATING, special_tokens=TOKENS, origin="m.gguf")
    with pytest.raises(InvalidRequest, match=r"template of m\.gguf cannot write .*roles must alternate"):
        template.render([{"role": "assistant", "content": "?"}])


@pytest.mark.parametrize("source", ["{{ messages[0]['content'] + 1 }}", "{{ nothing.at.all }}", "{{ 1 / 0 }}"])
def test_what_a_template_fails_on_is_a_clear_error(source):
    with pytest.raises(InvalidRequest, match="cannot write this conversation"):
        ChatTemplate(source).render(CONVERSATIONS[0])


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.append(1) }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ (messages | attr('__class__')).__base__.__subclasses__() }}",
        "{% for i in range(1000000000) %}x{% endfor %}",
    ],
)
def test_a_template_cannot_leave_its_sandbox(source):
    with pytest.raises(InvalidRequest):
        ChatTemplate(source).render(CONVERSATIONS[0])


def test_a_template_cannot_change_the_conversation_or_see_more_than_data():
    messages = [{"role": "user", "content": "a"}]
    ChatTemplate("{% set x = messages %}{{ x }}").render(messages)
    assert messages == [{"role": "user", "content": "a"}]
    with pytest.raises(InvalidRequest, match="plain JSON data"):
        ChatTemplate("{{ messages[0].content.close() }}").render([{"role": "user", "content": object()}])


def test_a_malformed_template_names_its_file_and_line():
    with pytest.raises(InvalidModelFile, match=r"m\.gguf: the chat template is not valid Jinja, line 2"):
        ChatTemplate("\n{% if %}", origin="m.gguf")


def test_json_is_written_for_models_and_not_for_web_pages():
    value = {"b": "<å>", "a": 1}
    assert ChatTemplate("{{ v | tojson }}").render([], v=value) == json.dumps(value, ensure_ascii=False)
    assert ChatTemplate("{{ v | tojson(sort_keys=true, indent=1) }}").render([], v=value) == (
        json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1)
    )
