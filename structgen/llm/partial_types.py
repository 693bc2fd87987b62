"""What of a type's value can be shown while its JSON is being written."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

import typing_extensions
from pydantic import AliasChoices, BaseModel, RootModel, TypeAdapter
from pydantic.fields import FieldInfo
from typing_extensions import override

from structgen.llm.partial_json import OPEN_LEVELS, Growing, GrowingDict, GrowingList, JsonPlace, Place
from structgen.llm.typed_dicts import adapter_of

__all__ = ["TypePlace"]


class _Member(NamedTuple):
    name: str
    place: TypePlace


class TypePlace(Place):
    """JSON that becomes a value of a Python type.

    Pydantic models, TypedDicts, dictionaries and lists are shown in parts: of a model and a dictionary the members that
    are whole, or are shown in parts themselves; of a list the items that are whole. Any other type is shown once it is
    whole, with its validators run. A model that is shown in parts has no attributes but those that are there, none by
    default either, and its own validators have not run.

    Parameters
    ----------
    kind : type
        What pydantic knows.
    level : int
        How many values around it are shown in parts.
    """

    def __init__(self, kind: Any, level: int = 0) -> None:
        super().__init__(self._validate)
        self._kind = kind
        self._level = level

    @override
    def open(self, bracket: str) -> Growing | None:
        kind = _shown(self._kind)
        if self._level == OPEN_LEVELS:
            return None
        if kind is Any:
            return JsonPlace(self._level).open(bracket)
        if bracket == "[":
            return GrowingList(self._item, finished=False) if get_origin(kind) is list or kind is list else None
        if bracket != "{":
            return None
        if get_origin(kind) is dict or kind is dict:
            return GrowingDict(lambda key: self._item, finished=False)
        if typing_extensions.is_typeddict(kind):
            return GrowingDict(lambda key: self._members.get(key, _UNKNOWN).place, finished=False)
        return _GrowingModel(kind, self._members) if _is_model(kind) else None

    def _validate(self, text: str) -> object:
        return self._adapter.validate_json(text)

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return adapter_of(self._kind)

    @cached_property
    def _item(self) -> Place:
        """The items of a list, or the members of a dictionary."""
        kind = _shown(self._kind)
        arguments = get_args(kind)
        item = arguments[-1] if arguments else Any
        if get_origin(kind) is list or kind is list:
            return TypePlace(item, OPEN_LEVELS)
        return TypePlace(item, self._level + 1)

    @cached_property
    def _members(self) -> Mapping[str, _Member]:
        """Those of a model or a TypedDict, by their keys in JSON."""
        kind = _shown(self._kind)
        if _is_model(kind):
            fields: dict[str, FieldInfo] = kind.model_fields
            return {
                _key_of(name, field): _Member(name, TypePlace(_kind_of(field), self._level + 1))
                for name, field in fields.items()
            }
        hints = typing_extensions.get_type_hints(kind)
        return {name: _Member(name, TypePlace(hint, self._level + 1)) for name, hint in hints.items()}


class _GrowingModel(Growing):
    """A pydantic model that has the attributes that are there."""

    def __init__(self, kind: type[BaseModel], members: Mapping[str, _Member]) -> None:
        blank = kind.__new__(kind)
        blank.__setstate__(
            {
                "__dict__": {},
                "__pydantic_fields_set__": set(),
                "__pydantic_extra__": None,
                "__pydantic_private__": None,
            }
        )
        super().__init__(blank, finished=False)
        self._members = members

    @override
    def place(self, key: str | None) -> Place:
        return self._members.get(key or "", _UNKNOWN).place

    @override
    def put(self, key: str | None, value: object) -> None:
        member = self._members.get(key or "")
        if member is not None:
            vars(self.value)[member.name] = value
            self.value.model_fields_set.add(member.name)


_UNKNOWN = _Member("", TypePlace(Any, OPEN_LEVELS))


def _shown(kind: Any) -> Any:
    """The type itself, without what is said about it, and without None beside it."""
    if isinstance(kind, typing_extensions.TypeAliasType):
        return _shown(kind.__value__)
    origin = get_origin(kind)
    if origin is Annotated:
        return _shown(get_args(kind)[0])
    if origin in (Union, UnionType):
        others = [one for one in get_args(kind) if one is not type(None)]
        return _shown(others[0]) if len(others) == 1 else kind
    return kind


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel) and not issubclass(kind, RootModel)


def _kind_of(field: FieldInfo) -> Any:
    return Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation


def _key_of(name: str, field: FieldInfo) -> str:
    """What a field is called in JSON, as pydantic writes its schema."""
    alias = field.validation_alias or field.alias or name
    if isinstance(alias, AliasChoices):
        alias = next((one for one in alias.choices if isinstance(one, str)), name)
    return alias if isinstance(alias, str) else name
