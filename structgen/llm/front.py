"""LLM: a model that answers in the form that the caller asks for."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from structgen.engine.options import EngineOptions
from structgen.engine.request import SamplingParams
from structgen.engine.sources.catalog import DEFAULT_MODEL
from structgen.errors import InvalidRequest
from structgen.llm.asking import Asker
from structgen.llm.batches import OnError, ask_all
from structgen.llm.calls import Tool, as_tools, load_call_format
from structgen.llm.drawing import read_sampling_params
from structgen.llm.forms import AnswerForm, CallForm, answer_form
from structgen.llm.generator import Generator, prompt_questions
from structgen.llm.messages import are_conversations, read_messages
from structgen.llm.prompting import PromptWriter, Question
from structgen.llm.steps import blocking
from structgen.llm.streaming import AnswerStream, TextReader, ValueReader

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from structgen.grammars import TokenVocabulary

__all__ = ["LLM"]


class LLM:
    """A language model that can only say what the program can use.

    It may be used from several threads at once, inside a running event loop too, and it is a context manager;
    :meth:`close` lets the engine go, as does losing the last reference. A process that is forked cannot use it, and is
    told so by :class:`~structgen.errors.EngineClosed`; it may make one of its own.

    Parameters
    ----------
    model : str or path
        An alias such as ``"smollm2-135m"``, the path of a ``.gguf`` file or a Hugging Face folder, ``hf:org/name``;
        downloaded when it is not on disk, with a progress bar where standard error is a terminal.
    dtype : str
        What it computes in where no quantization is asked for: ``"float32"`` or ``"bfloat16"``.
    quantization : str or None
        The format of the weights of linear layers: ``"int8"`` (a scale for each output channel, activations in
        integers of up to 16 bits), ``"w8a8"`` (activations of 8 bits: less exact), ``"int4"`` (a scale and a minimum
        for each group of 32; what a GGUF file has in Q4_0, Q4_1 or Q4_K stays what it is there, and what it has in more
        bits is kept in int8), ``"fp32"``,
        ``"bf16"``; None for that of ``dtype``.
    max_num_seqs, max_model_len, max_num_batched_tokens, block_size, kv_memory, kv_cache_dtype, grammar_timeout
        How the engine runs: requests at once, tokens of a sequence, tokens of a step, tokens of a page, memory and type
        of keys and values, seconds that a grammar may take to compile; see
        :class:`~structgen.engine.options.EngineOptions`.
    call_format : str
        How this model writes tool calls: a plugin of the group ``structgen.call_formats``.

    Attributes
    ----------
    name : str
        The model's name, or the path that it was loaded from.
    tokenizer : tokenizers.Tokenizer
        The model's.
    vocabulary : TokenVocabulary
        The bytes of its tokens, as wide as its logits; what grammars are compiled for.
    max_model_len : int
        Tokens that prompt and answer may have together.
    call_format : CallFormat
        The loaded plugin.
    prompt_writer : PromptWriter
        Writes conversations as the model's token ids.
    client : EngineClient
        The engine; requests may be submitted to it directly.

    Raises
    ------
    ModelError
        The model cannot be found, fetched, read or run.
    OutOfMemory
        The weights and ``kv_memory`` are more than there is, which is seen before they are read, or ``kv_memory`` is
        too little; the message says what would do.
    InvalidRequest
        An argument is wrong.
    PluginError
        There is no such call format.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] = DEFAULT_MODEL,
        *,
        dtype: str = "float32",
        quantization: str | None = None,
        max_num_seqs: int = 16,
        max_model_len: int | None = None,
        max_num_batched_tokens: int = 512,
        block_size: int = 16,
        kv_memory: int | str | None = None,
        kv_cache_dtype: str = "auto",
        grammar_timeout: float | None = 60.0,
        call_format: str = "hermes",
    ) -> None:
        # the engine comes in here and not with the module: `import structgen` stays quick
        from structgen.engine.footprint import WeightFormat, check_fit
        from structgen.engine.local_client import LocalClient
        from structgen.engine.models.loading import load_model
        from structgen.engine.process import calm_torch
        from structgen.engine.runners import check_quantization, dtype_of, make_runner
        from structgen.engine.sources import resolve_model
        from structgen.engine.sources.console import console_progress
        from structgen.grammars import TokenVocabulary

        if not isinstance(model, (str, os.PathLike)):
            raise InvalidRequest(f"model: expected a name or a path, not {type(model).__name__}")
        options = EngineOptions(
            max_num_seqs=max_num_seqs,
            max_model_len=max_model_len,
            max_num_batched_tokens=max_num_batched_tokens,
            block_size=block_size,
            kv_memory=kv_memory,
            kv_cache_dtype=kv_cache_dtype,
            grammar_timeout=grammar_timeout,
        )
        check_quantization(quantization)
        self.call_format = load_call_format(call_format)
        calm_torch()
        with console_progress(os.fspath(model)) as progress:
            local = resolve_model(model, progress=progress)
        loaded = load_model(
            local,
            dtype=dtype_of(quantization, dtype),
            check=lambda model, files: check_fit(model, WeightFormat(quantization, dtype), options.kv_bytes, files),
        )
        runner = make_runner(loaded, options, quantization)
        self.name: str = loaded.name
        self.tokenizer: Tokenizer = loaded.tokenizer
        self.vocabulary: TokenVocabulary = TokenVocabulary.from_tokenizer(
            loaded.tokenizer, eos_token_ids=loaded.eos_token_ids, size=runner.vocab_size
        )
        self.client = LocalClient(runner, self.vocabulary, options)
        self.max_model_len: int = self.client.max_model_len
        self.prompt_writer = PromptWriter(loaded.tokenizer, loaded.chat_template, self.call_format)
        self._asker = Asker(self.client, self.prompt_writer)

    @blocking
    def generate(
        self,
        prompts: str | Sequence[str],
        *,
        schema: Any = None,
        regex: str | None = None,
        choice: Sequence[str] | None = None,
        grammar: str | None = None,
        structural_tag: Mapping[str, Any] | str | None = None,
        sampling_params: SamplingParams | None = None,
        retries: int = 2,
        chat_template: bool = True,
        show_schema: bool = True,
        return_details: bool = False,
        on_unsupported: str = "error",
        on_error: OnError = "raise",
        progress: bool | None = None,
    ) -> Any:
        """Answer one prompt or a list of them.

        Parameters
        ----------
        prompts : str or sequence of str
            Each is asked as a user's message through the model's chat template, where it has one.
        schema : type or mapping, optional
            A pydantic model, a dataclass, a TypedDict or any type that pydantic knows: a validated value of it comes
            back. Or a JSON Schema: the parsed JSON comes back. Keys that have a default may be left out by the model.
            Before Python 3.12, a TypedDict as a field of a class must be that of ``typing_extensions``.
        regex : str, optional
            A pattern that the whole answer matches; the text comes back.
        choice : sequence of str, optional
            The texts to choose from; one comes back.
        grammar : str, optional
            A grammar in GBNF (rules with ``::=``) or in Lark's syntax; a text of it comes back. The model is not told
            about it.
        structural_tag : mapping or str, optional
            Prose with tags in it (tool calls, reasoning), as XGrammar and vLLM take it; the text comes back, without
            the special tokens in it. The model is not told about it. See `compile_structural_tag`.
        sampling_params : SamplingParams, optional
            How tokens are chosen. By default the most likely ones are, and at most 512.
        retries : int
            How often to draw again when the type's own validators refuse a well-formed answer, or the schema does where
            it was not all in the grammar. The reason is shown to the model, and draws after the first leave
            temperature 0 for 0.7.
        chat_template : bool
            False: the prompts are raw text for the model to continue.
        show_schema : bool
            False: the model is not told about the form, only held to it.
        return_details : bool
            True: :class:`~structgen.llm.Answer` objects come back.
        on_unsupported : {"error", "validate"}
            What is done where the schema has a keyword that no grammar holds exactly (``uniqueItems`` over objects, a
            pattern with backreferences): it is refused; or the grammar leaves it out, and the finished answer is
            validated and drawn again as often as ``retries`` says.
        on_error : {"raise", "return"}
            What is done where an answer cannot be had. No other answer is lost by it: all are tried, and then either
            the error is raised, or it is returned in the answer's place. With several answers what is raised is
            :class:`~structgen.errors.BatchFailed`, whose ``results`` are what would have been returned.
        progress : bool, optional
            Whether to draw a bar on standard error; left out, there is one for several answers on a terminal.

        Returns
        -------
        object or list
            The value for one prompt, values in the order of the prompts for a list; text when no form is asked for.
            With ``sampling_params.n`` above 1 there is a list of values for each prompt.

        Raises
        ------
        GrammarError
            The schema or pattern is malformed, cannot be met, or uses what is not supported; nothing was generated.
        InvalidRequest, PromptTooLong, BudgetTooSmall
            The request cannot be served as asked.
        AnswerCut, AnswerRefused, GenerationError
            There is no whole, valid answer.
        BatchFailed
            Some of several answers failed for one of the last two reasons.
        """
        form = answer_form(schema, regex, choice, grammar, structural_tag, on_unsupported)
        return (
            yield from ask_all(
                self._asker,
                prompt_questions(self.prompt_writer, form, prompts, chat_template, show_schema),
                several=not isinstance(prompts, str),
                sampling_params=sampling_params,
                retries=retries,
                return_details=return_details,
                on_error=on_error,
                progress=progress,
            )
        )

    @blocking
    def chat(
        self,
        messages: Sequence[Any],
        *,
        schema: Any = None,
        regex: str | None = None,
        choice: Sequence[str] | None = None,
        grammar: str | None = None,
        structural_tag: Mapping[str, Any] | str | None = None,
        tools: Sequence[Any] | None = None,
        sampling_params: SamplingParams | None = None,
        retries: int = 2,
        show_schema: bool = True,
        return_details: bool = False,
        on_unsupported: str = "error",
        on_error: OnError = "raise",
        progress: bool | None = None,
    ) -> Any:
        """Answer one conversation or a list of them.

        Parameters
        ----------
        messages : sequence
            Messages in OpenAI's form, ``{"role": ..., "content": ...}``; or a list of such conversations.
        tools : sequence, optional
            Functions under ``@structgen.tool``, or OpenAI tool dictionaries. The answer is then one validated
            :class:`~structgen.llm.ToolCall`; ``call.run()`` runs it.
        schema, regex, choice, grammar, structural_tag, sampling_params, retries, show_schema, return_details
            As in :meth:`generate`, as are what is returned and raised.
        on_unsupported, on_error, progress
            The same.
        """
        several = are_conversations(messages)
        if several:
            read = [read_messages(one, f"messages[{place}]") for place, one in enumerate(messages)]
        else:
            read = [read_messages(messages)]
        form, offered = self._form(tools, on_unsupported, schema, regex, choice, grammar, structural_tag)
        questions = [
            Question(form, messages=tuple(conversation), tools=offered, show_form=show_schema) for conversation in read
        ]
        return (
            yield from ask_all(
                self._asker,
                questions,
                several=several,
                sampling_params=sampling_params,
                retries=retries,
                return_details=return_details,
                on_error=on_error,
                progress=progress,
            )
        )

    def stream(
        self,
        prompt: str | Sequence[Mapping[str, Any]],
        *,
        schema: Any = None,
        regex: str | None = None,
        choice: Sequence[str] | None = None,
        grammar: str | None = None,
        structural_tag: Mapping[str, Any] | str | None = None,
        tools: Sequence[Any] | None = None,
        sampling_params: SamplingParams | None = None,
        chat_template: bool = True,
        show_schema: bool = True,
        return_details: bool = False,
    ) -> AnswerStream:
        """Answer a prompt or one conversation, and yield the text as it comes.

        The text is held to its form; what its grammar does not hold is only seen at the end, and nothing is drawn
        again: there are no ``retries`` and no ``on_unsupported`` here. Closing the iterator aborts the request.
        Everything that can be known to be wrong is raised by this call and not by the first ``next``.

        Parameters
        ----------
        prompt : str or sequence of messages
            As in :meth:`generate` or :meth:`chat`.
        return_details : bool
            True: :class:`~structgen.llm.AnswerDelta` objects come, with the value so far; a cut answer shows in the
            last one.
        schema, regex, choice, grammar, structural_tag, tools, sampling_params, chat_template, show_schema
            As in :meth:`generate` and :meth:`chat`.

        Raises
        ------
        AnswerCut
            With ``return_details=False``, after the last piece of an answer that the budget or a stop string cut.
        AnswerRefused
            With ``return_details=True``, after the last delta of an answer that the type's validators refuse.
        """
        form, offered = self._form(tools, "error", schema, regex, choice, grammar, structural_tag)
        if isinstance(prompt, str) and not offered:
            question = self.prompt_writer.question(prompt, form, chat_template=chat_template, show_form=show_schema)
        else:
            messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
            question = Question(form, messages=tuple(read_messages(messages)), tools=offered, show_form=show_schema)
        deltas = self._asker.stream(question, read_sampling_params(sampling_params))
        return AnswerStream(deltas, ValueReader(form) if return_details else TextReader())

    def generator(
        self,
        schema: Any = None,
        *,
        regex: str | None = None,
        choice: Sequence[str] | None = None,
        grammar: str | None = None,
        structural_tag: Mapping[str, Any] | str | None = None,
        on_unsupported: str = "error",
    ) -> Generator:
        """Return a function from prompts to answers of one form as in :meth:`generate`, its grammar compiled now.

        Raises
        ------
        GrammarError, InvalidRequest
            As in :meth:`generate`.
        """
        form = answer_form(schema, regex, choice, grammar, structural_tag, on_unsupported)
        self._asker.prepare(form)
        return Generator(self._asker, form)

    def close(self) -> None:
        """End what is running and let the engine go."""
        self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _form(
        self, tools: Sequence[Any] | None, on_unsupported: str, *forms: Any
    ) -> tuple[AnswerForm, tuple[Tool, ...]]:
        """The form of one call of these tools, or what `answer_form` says of ``forms``."""
        if tools is None:
            return answer_form(*forms, on_unsupported=on_unsupported), ()
        if on_unsupported != "error":
            raise InvalidRequest("on_unsupported: is about a schema, and not about tools; leave it out")
        if any(one is not None for one in forms):
            raise InvalidRequest("tools: with tools the answer is a call; leave all other forms out")
        offered = as_tools(tools)
        return CallForm(offered, self.call_format, shown_by_template=self.prompt_writer.knows_tools), tuple(offered)
