"""``typing.TypedDict`` for pydantic before Python 3.12, where it takes only that of typing_extensions."""

from __future__ import annotations

from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typing_extensions

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["adapter_of"]


def adapter_of(kind: Any) -> TypeAdapter[Any]:
    """Return pydantic's adapter of a type in which any ``TypedDict`` may stand.

    Those inside of classes, such as a dataclass's fields, are pydantic's own business: there it refuses that of
    ``typing`` before Python 3.12.

    Raises
    ------
    PydanticUserError, NameError
        Pydantic cannot take the type, or an annotation in it names nothing.
    """
    from pydantic import PydanticUserError, TypeAdapter

    try:
        return TypeAdapter(kind)
    except PydanticUserError as error:
        if error.code != "typed-dict-version":
            raise
    return TypeAdapter(_rebuilt(kind, {}))


def _rebuilt(kind: Any, known: dict[Any, Any]) -> Any:
    """The same type of typing_extensions' dictionaries; ``known`` are those rebuilt so far, which may be inside."""
    if typing_extensions.is_typeddict(kind):
        return known[kind] if kind in known else _rebuilt_class(kind, known)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return kind
    if origin is Annotated:
        return Annotated[(_rebuilt(arguments[0], known), *arguments[1:])]
    changed = tuple(_rebuilt(argument, known) for argument in arguments)
    if changed == arguments:
        return kind
    if origin in (Union, UnionType):
        return Union[changed]  # noqa: UP007 - of a tuple
    generic: Any = origin
    return generic[changed[0] if len(changed) == 1 else changed]


def _rebuilt_class(kind: Any, known: dict[Any, Any]) -> Any:
    make: Any = typing_extensions.TypedDict
    copy = known[kind] = make(kind.__name__, {})
    hints = typing_extensions.get_type_hints(kind, localns={kind.__name__: kind}, include_extras=True)
    # Which keys are required was decided with the class and its bases; Required and NotRequired stay in the hints.
    kept = ("__module__", "__qualname__", "__doc__", "__total__", "__required_keys__", "__optional_keys__")
    for name in (*kept, "__pydantic_config__"):
        if hasattr(kind, name):
            setattr(copy, name, getattr(kind, name))
    copy.__annotations__ = {name: _rebuilt(hint, known) for name, hint in hints.items()}
    return copy
