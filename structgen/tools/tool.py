"""A function as a tool."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from structgen.errors import ToolError
from structgen.llm.arguments import decode_arguments
from structgen.llm.declarations import TOOL_NAME
from structgen.tools.annotations import AnnotationResolver
from structgen.tools.documentation import Documentation, read_docstring
from structgen.tools.signature import CallSignature

__all__ = ["Tool", "tool"]

P = ParamSpec("P")
R = TypeVar("R")

_RECEIVERS = ("self", "cls")


class Tool(Generic[P, R]):
    """A function that a model can call. It is called like the function, without any validation.

    Parameters
    ----------
    function : Callable
        A function, coroutine function or method (a bound one, unless it is wrapped inside its class's body; then the
        tool binds as the method would: use ``instance.method``). Its annotated signature gives the schema.
    name : str, optional
        What the model calls it, :data:`~structgen.llm.declarations.TOOL_NAME`; the function's own name if left out.
    description : str, optional
        What it does, for the model; the docstring without its sections if left out.
    scope : Mapping[str, object], optional
        Local variables in which annotations given as text are looked up, beside the function's module and closure.

    Raises
    ------
    ToolError
        The function cannot be a tool; the message says which parameter is why.
    """

    def __init__(
        self,
        function: Callable[P, R] | classmethod[Any, P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        scope: Mapping[str, object] | None = None,
    ) -> None:
        self._function: Any = cast("Tool[P, R]", function).__wrapped__ if isinstance(function, Tool) else function
        plain = _plain_function(self._function)
        self.name = name if name is not None else plain.__name__
        if not re.fullmatch(TOOL_NAME, self.name):
            raise ToolError(f"{self.name!r} cannot be a tool's name, {TOOL_NAME}; give it one: @tool(name=...)")
        try:
            documentation = self._read(plain, scope or {})
        except ToolError as error:
            raise ToolError(f"{plain.__qualname__}: {error}") from error
        self.description = description if description is not None else documentation.description
        self.is_async = inspect.iscoroutinefunction(_without_binding(self._function))
        self.__doc__ = plain.__doc__
        self.__name__ = plain.__name__
        self.__wrapped__: Any = self._function

    def _read(self, plain: FunctionType, scope: Mapping[str, object]) -> Documentation:
        """Read signature and docstring."""
        self._binds_to_class = isinstance(self._function, classmethod)
        self._needs_receiver = _needs_receiver(self._function, plain, scope)
        signature = _signature(self._function, plain, self._needs_receiver)
        documentation = read_docstring(inspect.getdoc(plain), signature.parameters)
        resolver = AnnotationResolver(plain, scope)
        self._signature = CallSignature(signature, resolver.resolve, documentation.parameters)
        return documentation

    @property
    def parameters(self) -> dict[str, Any]:
        """JSON Schema of the arguments: a closed object. A new dictionary each time.

        Raises
        ------
        ToolError
            It is a method that was not taken from an instance.
        """
        self._check_bound()
        return copy.deepcopy(self._signature.schema)

    def validate(self, arguments: Mapping[str, object] | str | None) -> inspect.BoundArguments:
        """The arguments of a call, checked and converted; nothing is run.

        Parameters
        ----------
        arguments : Mapping, str or None
            JSON values or JSON text; ``None``, an empty text and ``null`` are no arguments.

        Returns
        -------
        inspect.BoundArguments
            ``args`` and ``kwargs`` for the function, its own defaults filled in.

        Raises
        ------
        ToolError
            They do not fit; the message names the tool and each argument that does not.
        """
        self._check_bound()
        try:
            return self._signature.bind(decode_arguments(arguments))
        except ToolError as error:
            raise ToolError(f"{self.name}: {error}") from error

    def run(self, arguments: Mapping[str, object] | str | None) -> R:
        """Validate the arguments, call the function and return what it returns (for an async one, its coroutine).

        Raises
        ------
        ToolError
            The arguments do not fit. What the function itself raises passes through.
        """
        bound = self.validate(arguments)
        return self._function(*bound.args, **bound.kwargs)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself; nothing is validated."""
        return self._function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Tool[..., R]:
        if not self._needs_receiver or (instance is None and not self._binds_to_class):
            return self
        bound = copy.copy(self)
        bound._function = bound.__wrapped__ = self._function.__get__(instance, owner)
        bound._needs_receiver = False
        return bound

    def _check_bound(self) -> None:
        if self._needs_receiver:
            raise ToolError(f"{self.name} is a method: take the tool from an instance, instance.{self.__name__}")

    def __repr__(self) -> str:
        return f"Tool({self.name!r}, {self.__wrapped__!r})"


@overload
def tool(
    function: Callable[P, R] | classmethod[Any, P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
) -> Tool[P, R]: ...


@overload
def tool(*, name: str | None = None, description: str | None = None) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(
    function: Callable[P, R] | classmethod[Any, P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
) -> Tool[P, R] | Callable[[Callable[P, R]], Tool[P, R]]:
    """Make a tool of a function: ``@tool``, ``@tool(name=...)`` or ``tool(function)``.

    The signature gives the parameters and the docstring (NumPy, Google or Sphinx style) their descriptions. Above
    ``@staticmethod`` or ``@classmethod``, not below.

    Parameters
    ----------
    function : Callable
        As in :class:`Tool`.
    name, description : str, optional
        As in :class:`Tool`.

    Raises
    ------
    ToolError
        The function cannot be a tool.
    """
    if function is not None:
        return Tool(function, name=name, description=description, scope=_callers_scope())

    def decorate(function: Callable[P, R]) -> Tool[P, R]:
        return Tool(function, name=name, description=description, scope=_callers_scope())

    return decorate


def _callers_scope() -> Mapping[str, object]:
    """The local variables where :func:`tool` was called; two frames up from here."""
    frame = inspect.currentframe()
    caller = frame.f_back.f_back if frame is not None and frame.f_back is not None else None
    return dict(caller.f_locals) if caller is not None else {}


def _plain_function(function: object) -> FunctionType:
    """The function inside a method, ``staticmethod``, ``classmethod`` or wrapper."""
    inner: object = inspect.unwrap(_without_binding(inspect.unwrap(cast("Callable[..., Any]", function))))
    if isinstance(inner, FunctionType):
        return inner
    raise ToolError(f"{function!r} is neither a function nor a method; write a function that calls it")


def _without_binding(function: Any) -> Callable[..., Any]:
    return getattr(function, "__func__", function)


def _needs_receiver(function: object, plain: FunctionType, scope: Mapping[str, object]) -> bool:
    """Whether the first parameter is filled by binding and not by a call.

    Raises
    ------
    ToolError
        It is a method that was taken from its class and can no longer be bound.
    """
    if isinstance(function, classmethod):
        return True
    if isinstance(function, (staticmethod, MethodType)):
        return False
    home = plain.__qualname__.rpartition(".")[0]
    first = next(iter(inspect.signature(plain).parameters.values()), None)
    if first is None or not home or home.endswith("<locals>"):
        return False
    looks_bound = first.name in _RECEIVERS or first.annotation is inspect.Parameter.empty
    in_class_body = scope.get("__qualname__") == home
    if looks_bound and not in_class_body:
        raise ToolError("is an unbound method; make the tool of an instance's method")
    return looks_bound


def _signature(function: Callable[..., Any], plain: FunctionType, needs_receiver: bool) -> inspect.Signature:
    if not needs_receiver:
        return inspect.signature(function)
    signature = inspect.signature(plain)
    return signature.replace(parameters=list(signature.parameters.values())[1:])
