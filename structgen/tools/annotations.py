"""What the annotations of a function mean, whoever wrote them as text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import FunctionType, SimpleNamespace
from typing import Any, cast, get_type_hints

from structgen.errors import ToolError

__all__ = ["AnnotationResolver"]


class AnnotationResolver:
    """Evaluates the annotations of one function.

    Names are looked up where Python would have looked: in the function's module (the original function's, when a
    decorator wraps it), in the variables it closes over, and in the scope in which it became a tool. The last is what
    makes local classes work under ``from __future__ import annotations``.

    Parameters
    ----------
    function : Callable
        The function; wrappers made with :func:`functools.wraps` are looked through.
    scope : Mapping[str, object]
        The local variables where it became a tool.
    """

    def __init__(self, function: Callable[..., Any], scope: Mapping[str, object]) -> None:
        original = inspect.unwrap(getattr(function, "__func__", function))
        self._globals: dict[str, object] = getattr(original, "__globals__", {})
        self._locals = {**scope, **_closure(original), **_type_parameters(original)}

    def resolve(self, parameter: str, annotation: object) -> Any:
        """The type that ``annotation`` stands for, ``Annotated`` kept.

        Raises
        ------
        ToolError
            It names something that is not defined, or is no type; the message names the parameter.
        """
        # An object without defaults: for a function, Python 3.10 would turn ``x: str = None`` into Optional[str].
        holder = SimpleNamespace(__annotations__={parameter: annotation})
        try:
            return get_type_hints(holder, self._globals, self._locals, include_extras=True)[parameter]
        except NameError as error:
            raise ToolError(
                f"parameter {parameter!r}: annotation {annotation!r}: {error}; "
                "define the class before the tool, in its module or in the function that makes the tool"
            ) from error
        except Exception as error:  # an annotation is an arbitrary expression
            raise ToolError(f"parameter {parameter!r}: annotation {annotation!r}: {error}") from error


def _closure(function: object) -> dict[str, object]:
    if not isinstance(function, FunctionType):
        return {}
    variables: dict[str, object] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            variables[name] = cell.cell_contents
        except ValueError:  # not assigned yet: a local function that refers to itself
            continue
    return variables


def _type_parameters(function: object) -> dict[str, object]:
    parameters = cast("tuple[object, ...]", getattr(function, "__type_params__", ()))  # Python 3.12 and later
    return {cast(str, getattr(parameter, "__name__", "")): parameter for parameter in parameters}
