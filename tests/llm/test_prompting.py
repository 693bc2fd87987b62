"""What the model gets to read, whatever its chat template can do."""

from __future__ import annotations

import pytest
from tiny_model import CHATML, build_tokenizer

from structgen.engine.tokenization.chat_template import ChatTemplate
from structgen.errors import InvalidRequest
from structgen.llm.calls import as_tools, load_call_format
from structgen.llm.forms import CallForm, answer_form
from structgen.llm.messages import read_messages
from structgen.llm.prompting import PromptWriter, Question

NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHATML
WITH_TOOLS = (
    "{% if tools %}TOOLS: {{ tools | tojson }}\n{% endif %}{% for message in messages %}{{ message.role }}: "
    "{{ message.content }}{% for call in message.tool_calls or [] %}CALL {{ call.function.name }} "
    "{{ call.function.arguments | tojson }}{% endfor %}\n{% endfor %}"
)
NOW = {"type": "function", "function": {"name": "now", "description": "Tell the time."}}
CALLED = [
    {"role": "user", "content": "What time is it?"},
    {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "now", "arguments": '{"zone":"中"}'}}]},
    {"role": "tool", "tool_call_id": "1", "content": "noon"},
    {"role": "user", "content": "Thanks."},
]


def writer(template):
    template = None if template is None else ChatTemplate(template)
    return PromptWriter(build_tokenizer(), template, load_call_format("hermes"))


def read_back(writer, question):
    return build_tokenizer().decode(list(writer.write(question)), skip_special_tokens=False)


def chat(template, messages, form=None, tools=(), show_form=True):
    made = writer(template)
    offered = tuple(as_tools(tools)) if tools else ()
    if tools:
        form = CallForm(offered, load_call_format("hermes"), shown_by_template=made.knows_tools)
    question = Question(form or answer_form(), tuple(read_messages(messages)), tools=offered, show_form=show_form)
    return read_back(made, question)


FORM = answer_form(choice=["yes", "no"])


def test_a_prompt_goes_through_the_template_as_a_users_message():
    made = writer(CHATML)
    text = read_back(made, made.question("Hi", answer_form()))
    assert text == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


def test_the_form_is_told_in_a_system_part():
    made = writer(CHATML)
    text = read_back(made, made.question("Hi", FORM))
    assert text.startswith(f"<|im_start|>system\n{FORM.instructions}<|im_end|>\n<|im_start|>user\nHi")
    assert FORM.instructions not in read_back(made, made.question("Hi", FORM, show_form=False))


def test_the_form_follows_the_callers_own_system_message():
    text = chat(CHATML, [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}], FORM)
    assert text.startswith(f"<|im_start|>system\nBe kind.\n\n{FORM.instructions}<|im_end|>\n")
    assert text.count("<|im_start|>system") == 1


def test_a_template_without_a_system_role_gets_it_in_the_users_message():
    text = chat(NO_SYSTEM, [{"role": "user", "content": "Hi"}], FORM)
    assert text.startswith(f"<|im_start|>user\n{FORM.instructions}\n\nHi<|im_end|>\n")


@pytest.mark.parametrize(("template", "chat_template"), [(None, True), (CHATML, False)])
def test_raw_text_stays_raw(template, chat_template):
    made = writer(template)
    assert read_back(made, made.question("Once", answer_form(), chat_template=chat_template)) == "Once"
    shown = read_back(made, made.question("Once", FORM, chat_template=chat_template))
    assert shown == f"{FORM.instructions}\n\nOnce"


def test_without_a_template_there_is_no_chat():
    with pytest.raises(InvalidRequest, match="no chat template"):
        chat(None, [{"role": "user", "content": "Hi"}])


def test_a_template_that_knows_tools_gets_them():
    text = chat(WITH_TOOLS, CALLED, tools=[NOW])
    assert text.startswith('TOOLS: [{"type": "function", "function": {"name": "now", "description": "Tell the time."')
    assert 'CALL now {"zone": "中"}' in text
    assert "tool: noon" in text
    assert text.endswith("<tool_call>\n")


def test_for_a_template_that_knows_none_the_call_format_writes_them():
    text = chat(CHATML, CALLED, tools=[NOW])
    assert text.startswith("<|im_start|>system\n")
    assert '"name": "now"' in text
    assert '<|im_start|>assistant\n<tool_call>\n{"name": "now", "arguments": {"zone": "中"}}\n</tool_call>' in text
    assert "<|im_start|>user\n<tool_response>\nnoon\n</tool_response>" in text
    assert text.endswith("<|im_start|>assistant\n<tool_call>\n")


@pytest.mark.parametrize("messages", [True, False])
def test_a_refused_answer_is_shown_with_the_reason(messages):
    made = writer(CHATML if messages else None)
    question = made.question("Yes or no?", FORM).after_refusal("no", "it must be yes")
    text = read_back(made, question)
    assert text.index("Yes or no?") < text.index("no", text.index("?")) < text.index("it must be yes")


def test_half_a_surrogate_pair_is_refused():
    made = writer(CHATML)
    with pytest.raises(InvalidRequest, match=r"surrogate.*after.*Hi"):
        made.write(made.question("Hi\ud800", answer_form()))
