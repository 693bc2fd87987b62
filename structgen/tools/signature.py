"""A function's parameters as a pydantic model, and a call's arguments bound to them."""

from __future__ import annotations

import inspect
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.fields import FieldInfo

from structgen._reasons import encodable, first_line, validation_reason
from structgen.errors import ToolError
from structgen.tools.schema import arguments_schema

__all__ = ["CallSignature"]

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class _Argument(NamedTuple):
    """One parameter, as a field of the model."""

    field_name: str
    parameter: inspect.Parameter
    definition: tuple[Any, Any]
    """Annotated type and default, as ``create_model`` takes them."""

    @property
    def keeps_default(self) -> bool:
        """Whether the function's own default is right when the call leaves the argument out."""
        default = self.parameter.default
        return default is not inspect.Parameter.empty and not isinstance(default, FieldInfo)


class CallSignature:
    """What a function can be called with.

    Every parameter is one property of one JSON object: a positional-only one by its name, ``*rest: T`` as an array
    of ``T``, ``**options: T`` as an object of ``T``, both of which may be left out.

    Parameters
    ----------
    signature : inspect.Signature
        The parameters that a call fills in.
    resolve : Callable
        From a parameter's name and annotation to its type.
    descriptions : Mapping[str, str]
        What the docstring says of each parameter; ``Field(description=...)`` goes before it.

    Raises
    ------
    ToolError
        A parameter has no annotation, or one that JSON cannot carry; the message names it.
    """

    def __init__(
        self,
        signature: inspect.Signature,
        resolve: Callable[[str, object], Any],
        descriptions: Mapping[str, str],
    ) -> None:
        self._signature = signature
        self._arguments = [
            # Fields have names of their own: a parameter may be called ``json``, ``copy`` or ``_private``.
            _Argument(f"argument_{place}", parameter, _definition(parameter, resolve, descriptions.get(parameter.name)))
            for place, parameter in enumerate(signature.parameters.values())
        ]
        try:
            self._model = _model(self._arguments)
            self.schema = arguments_schema(self._model)
        except Exception as error:  # pydantic raises many kinds, some of them from the user's own hooks
            raise ToolError(self._explain(error)) from error

    def bind(self, arguments: Mapping[str, object]) -> inspect.BoundArguments:
        """The arguments, validated and converted, as Python passes them.

        An argument that is left out is the function's own default, the same object as in a plain call.

        Raises
        ------
        ToolError
            They do not fit; the message names each argument that does not.
        """
        try:  # through JSON, so that pydantic's rules for JSON hold: a list for a tuple, text for a date
            values = self._model.model_validate_json(json.dumps(arguments))
        except ValidationError as error:
            raise ToolError(validation_reason(error)) from error
        except UnicodeEncodeError as error:  # pydantic cannot carry half a surrogate pair in a validator's message
            raise ToolError(encodable(error.object)) from error
        except (TypeError, ValueError, RecursionError) as error:
            raise ToolError(f"arguments are not JSON values: {error}") from error
        bound = inspect.BoundArguments(self._signature, OrderedDict(self._passed(values)))
        _refuse_repeated(bound)
        bound.apply_defaults()  # a positional-only argument may follow one that was left out
        return bound

    def _passed(self, values: BaseModel) -> list[tuple[str, Any]]:
        passed: list[tuple[str, Any]] = []
        for argument in self._arguments:
            if argument.keeps_default and argument.field_name not in values.model_fields_set:
                continue
            value = getattr(values, argument.field_name)
            is_rest = argument.parameter.kind is inspect.Parameter.VAR_POSITIONAL
            passed.append((argument.parameter.name, tuple(value) if is_rest else value))
        return passed

    def _explain(self, error: Exception) -> str:
        """Which parameter it is that pydantic cannot take."""
        for argument in self._arguments:
            try:
                arguments_schema(_model([argument]))
            except Exception as its_error:  # the same kinds as of the whole
                return f"parameter {argument.parameter.name!r}: {first_line(its_error)}"
        return first_line(error)


def _model(arguments: Sequence[_Argument]) -> type[BaseModel]:
    fields: dict[str, Any] = {argument.field_name: argument.definition for argument in arguments}
    return create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)


def _definition(
    parameter: inspect.Parameter, resolve: Callable[[str, object], Any], description: str | None
) -> tuple[Any, Any]:
    if parameter.annotation is inspect.Parameter.empty:
        raise ToolError(
            f"parameter {parameter.name!r} has no type annotation; give it one (Any, if it may be anything)"
        )
    resolved = resolve(parameter.name, parameter.annotation)
    default = ... if parameter.default is inspect.Parameter.empty else parameter.default
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        resolved, default = list[resolved], Field(default_factory=list)
    elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
        resolved, default = dict[str, resolved], Field(default_factory=dict)
    return _with_metadata(resolved, Field(alias=parameter.name, description=description)), default


def _with_metadata(resolved: Any, ours: Any) -> Any:
    """``Annotated`` with ``ours`` first: what the author wrote in ``Field`` goes before it."""
    if get_origin(resolved) is Annotated:
        inner, *theirs = get_args(resolved)
        return Annotated[(inner, ours, *theirs)]
    return Annotated[resolved, ours]


def _refuse_repeated(bound: inspect.BoundArguments) -> None:
    """``**options`` must not bring an argument that has a parameter of its own."""
    parameters = bound.signature.parameters
    for name, parameter in parameters.items():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            continue
        for key in cast("Mapping[str, object]", bound.arguments.get(name, {})):
            own = parameters.get(key)
            if own is not None and own.kind not in (*_VARIADIC, inspect.Parameter.POSITIONAL_ONLY):
                raise ToolError(f"{name}.{key}: there is a parameter {key!r}; give it by its own name")
