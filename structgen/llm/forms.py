"""The forms that an answer can have: its grammar, how the model is told, how its text is read."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from structgen._reasons import encodable, validation_reason
from structgen.engine.request import GrammarSpec
from structgen.errors import AnswerRefused, GrammarLimitExceeded, InvalidRequest, ToolError, UnsupportedSchema
from structgen.llm.calls import CallFormat, Tool, ToolCall
from structgen.llm.instructions import describe_choices, describe_pattern, describe_schema
from structgen.llm.json_schema import bounded_nesting, close_objects
from structgen.llm.partial_json import JsonPlace, PartialReader
from structgen.llm.typed_dicts import adapter_of

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = [
    "AnswerForm",
    "CallForm",
    "ChoiceForm",
    "GrammarForm",
    "RegexForm",
    "SchemaForm",
    "TagForm",
    "TextForm",
    "TypeForm",
    "answer_form",
]


class AnswerForm(ABC):
    """What an answer must be. A form has no state: it serves any number of requests at once.

    Attributes
    ----------
    grammar : GrammarSpec or None
        What holds the model to it.
    opening : str
        Text that every answer begins with; it is put behind the prompt and not generated.
    instructions : str
        How the model is told, in a few lines of a system part; may be empty.
    """

    grammar: GrammarSpec | None = None
    opening: str = ""
    instructions: str = ""

    @abstractmethod
    def read(self, text: str) -> object:
        """Return the value that a whole answer, without ``opening``, stands for.

        Raises
        ------
        AnswerRefused
            The answer is well-formed and still not acceptable; the message says why, for the model to read.
        """

    def partial(self) -> PartialReader | None:
        """Return what reads an answer while it is written; None where there is nothing to show before its end."""
        return None


class TextForm(AnswerForm):
    """Any text."""

    @override
    def read(self, text: str) -> object:
        return text


class RegexForm(TextForm):
    """A text that matches a regular expression as a whole."""

    def __init__(self, pattern: str) -> None:
        if not isinstance(pattern, str):
            raise InvalidRequest(f"regex: expected a pattern as a string, not {type(pattern).__name__}")
        self.grammar = GrammarSpec("regex", pattern)
        self.instructions = describe_pattern(pattern)


class ChoiceForm(TextForm):
    """One of several texts."""

    def __init__(self, choices: Sequence[str]) -> None:
        choices = list(choices) if isinstance(choices, Iterable) and not isinstance(choices, str) else []
        if not choices or not all(isinstance(choice, str) for choice in choices):
            raise InvalidRequest("choice: expected a list of at least one string")
        self.grammar = GrammarSpec("choice", choices)
        self.instructions = describe_choices(choices)


class GrammarForm(TextForm):
    """A text of a context-free grammar, about which the model is not told."""

    def __init__(self, grammar: str) -> None:
        if not isinstance(grammar, str):
            raise InvalidRequest(f"grammar: expected GBNF as a string, not {type(grammar).__name__}")
        self.grammar = GrammarSpec("gbnf", grammar)


class TagForm(TextForm):
    """A text as a structural tag has it, about which the model is not told."""

    def __init__(self, spec: Mapping[str, object] | str) -> None:
        if not isinstance(spec, (Mapping, str)):
            raise InvalidRequest(f"structural_tag: expected a mapping or JSON text, not {type(spec).__name__}")
        self.grammar = GrammarSpec("structural_tag", spec if isinstance(spec, str) else dict(spec))


class SchemaForm(AnswerForm):
    """JSON under a JSON Schema; read as ``json.loads`` reads it."""

    def __init__(self, schema: Mapping[str, object], on_unsupported: str = "error") -> None:
        self._schema = dict(schema)
        self.grammar = _schema_grammar(self._schema, on_unsupported)
        with bounded_nesting():
            self.instructions = describe_schema(self._schema)

    @override
    def read(self, text: str) -> object:
        try:
            value = json.loads(text)
            _validate(self._schema, text)
        except (RecursionError, GrammarLimitExceeded) as error:
            raise AnswerRefused("The JSON is nested too deeply.", text) from error
        return value

    @override
    def partial(self) -> PartialReader:
        return PartialReader(JsonPlace())


class TypeForm(AnswerForm):
    """JSON that pydantic makes a value of a Python type of."""

    def __init__(self, kind: Any, on_unsupported: str = "error") -> None:
        from pydantic import PydanticUserError

        try:
            self._adapter: TypeAdapter[Any] = adapter_of(kind)
            schema = self._adapter.json_schema(mode="validation")
        except (PydanticUserError, NameError) as error:
            raise InvalidRequest(f"schema: {kind!r} is not a type that pydantic can write as JSON: {error}") from error
        with bounded_nesting():
            schema = close_objects(schema)
            self.instructions = describe_schema(schema)
        self._kind = kind
        self.grammar = _schema_grammar(schema, on_unsupported)
        self._also = schema if on_unsupported == "validate" else None

    @override
    def read(self, text: str) -> object:
        from pydantic import ValidationError

        try:
            if self._also is not None:
                _validate(self._also, text)
            return self._adapter.validate_json(text)
        except ValidationError as error:
            raise AnswerRefused(validation_reason(error), text) from error
        except UnicodeEncodeError as error:  # pydantic cannot carry half a surrogate pair in a validator's message
            raise AnswerRefused(encodable(error.object), text) from error

    @override
    def partial(self) -> PartialReader:
        from structgen.llm.partial_types import TypePlace

        return PartialReader(TypePlace(self._kind))


class CallForm(AnswerForm):
    """One call of one of several tools."""

    def __init__(self, tools: Sequence[Tool], call_format: CallFormat, *, shown_by_template: bool) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._format = call_format
        self.opening = call_format.opening
        with bounded_nesting():
            self.grammar = call_format.grammar(tools)
            self.instructions = "" if shown_by_template else call_format.system_part(tools)

    @override
    def read(self, text: str) -> object:
        try:
            (call,) = self._format.parse(self.opening + text)
            tool = self._tools[call.name]
            tool.validate(call.arguments)
        except ToolError as error:
            raise AnswerRefused(str(error), text) from error
        return ToolCall(call.name, call.arguments, tool)


def _schema_grammar(schema: Mapping[str, object], on_unsupported: str) -> GrammarSpec:
    return GrammarSpec("json_schema", schema, {} if on_unsupported == "error" else {"on_unsupported": on_unsupported})


def _validate(schema: Mapping[str, object], text: str) -> None:
    """Refuse JSON that is not valid under ``schema``."""
    from structgen.grammars.json_schema.validation import SchemaValidator

    try:
        refusal = SchemaValidator(schema).refusal(text.encode("utf-8", "surrogatepass"))
    except UnsupportedSchema:  # a schema that the validator does not take has a grammar that is exact
        return
    if refusal is not None:
        raise AnswerRefused(f"{refusal.path or 'The value'}: {refusal.why}", text)


def answer_form(
    schema: object = None,
    regex: str | None = None,
    choice: Sequence[str] | None = None,
    grammar: str | None = None,
    structural_tag: Mapping[str, object] | str | None = None,
    on_unsupported: str = "error",
) -> AnswerForm:
    """Return the form that the caller's arguments ask for.

    Parameters
    ----------
    schema : object
        A JSON Schema as a mapping, or a type that pydantic knows.
    regex : str or None
        A pattern.
    choice : sequence of str or None
        The texts to choose from.
    grammar : str or None
        A grammar in GBNF.
    structural_tag : mapping, str or None
        Prose and tags, as `compile_structural_tag` takes them.
    on_unsupported : {"error", "validate"}
        What is done with keywords of a schema that no grammar holds, as `compile_json_schema` has it.

    Raises
    ------
    InvalidRequest
        More than one is given, or one is of the wrong kind.
    """
    forms = {"schema": schema, "regex": regex, "choice": choice, "grammar": grammar, "structural_tag": structural_tag}
    given = [name for name, value in forms.items() if value is not None]
    if len(given) > 1:
        raise InvalidRequest(f"{' and '.join(given)}: an answer has one form; give one of them")
    if on_unsupported not in ("error", "validate"):
        raise InvalidRequest(f"on_unsupported: is 'error' or 'validate', not {on_unsupported!r}")
    if on_unsupported == "validate" and schema is None:
        raise InvalidRequest("on_unsupported: is about a schema; give one, or leave it out")
    if regex is not None:
        return RegexForm(regex)
    if choice is not None:
        return ChoiceForm(choice)
    if grammar is not None:
        return GrammarForm(grammar)
    if structural_tag is not None:
        return TagForm(structural_tag)
    if schema is None:
        return TextForm()
    return SchemaForm(schema, on_unsupported) if isinstance(schema, Mapping) else TypeForm(schema, on_unsupported)
