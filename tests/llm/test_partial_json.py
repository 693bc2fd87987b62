"""The value of a JSON text that is still being written: against a writer that says what it has written."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter
from typing_extensions import TypedDict

from structgen.llm.partial_json import OPEN_LEVELS, JsonPlace, PartialReader
from structgen.llm.partial_types import TypePlace

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=30,
)


def pieces(value: Any, show: Callable[[Any], None], level: int = 0) -> Iterator[str]:
    """Write a value piece by piece, and show it, or what is there of it, before the piece is handed out."""
    if isinstance(value, dict) and level < OPEN_LEVELS:
        members: dict[str, Any] = {}
        show(members)
        yield "{ "
        for place, (key, member) in enumerate(value.items()):
            yield f"{', ' if place else ''}{json.dumps(key)} :"
            yield from pieces(member, lambda shown, key=key: members.__setitem__(key, shown), level + 1)
        yield "}"
    elif isinstance(value, list) and level < OPEN_LEVELS:
        items: list[Any] = []
        show(items)
        yield "["
        for place, item in enumerate(value):
            items.append(item)
            yield f"{',' if place else ''}\n{json.dumps(item)} "
        yield "]"
    else:
        show(value)
        yield f" {json.dumps(value, ensure_ascii=False)}\n"  # what comes after a number ends it


@given(JSON, st.integers(1, 5))
def test_after_each_piece_the_value_is_what_was_written(value, size):
    reader, shown = PartialReader(JsonPlace()), []
    for piece in pieces(value, shown.append):
        for start in range(0, len(piece), size):
            reader.feed(piece[start : start + size])
        assert json.dumps(reader.value) == json.dumps(shown[0])
    assert json.dumps(reader.value) == json.dumps(value)


class Counting(PartialReader):
    """It counts the characters that it reads again."""

    again = 0

    def _between(self, start, end):
        self.again += end - start
        return super()._between(start, end)


class Item(BaseModel):
    name: str
    tags: list[str] = []
    price: float | None = None


class Shop(BaseModel):
    model_config = ConfigDict(frozen=True)
    title: str
    owner: Item
    items: list[Item] = []
    by_name: dict[str, Item] = {}
    open: bool = True


class Node(BaseModel):
    child: Node | None = None
    children: list[Node] = []


ITEM = {"name": 'a "b" \\', "tags": ["x", "]"], "price": 1.5}
SHOP = {"title": "T", "owner": ITEM, "items": [ITEM, ITEM], "by_name": {"a": ITEM}}


def nested(depth):
    return {"child": nested(depth - 1), "children": [{}]} if depth else {}


@pytest.mark.parametrize(
    ("kind", "value"),
    [(list[Item], [ITEM] * 200), (Shop, {**SHOP, "items": [ITEM] * 200}), (Node, nested(60)), (list[int], [7] * 500)],
    ids=["models", "model", "nested", "numbers"],
)
@pytest.mark.parametrize("place", [TypePlace, lambda kind: JsonPlace()], ids=["typed", "plain"])
def test_no_text_is_read_more_often_than_levels_are_shown(kind, value, place):
    reader, text = Counting(place(kind)), json.dumps(value)
    for start in range(0, len(text), 3):
        reader.feed(text[start : start + 3])
    assert reader.again <= (1 + OPEN_LEVELS) * len(text)


def growth(kind, value):
    """Each different value that a type's text has on its way, but for the None at its beginning."""
    reader, found = PartialReader(TypePlace(kind)), []
    for char in json.dumps(value):
        reader.feed(char)
        if reader.value is not None and (not found or found[-1] != reader.value):
            found.append(copy.deepcopy(reader.value))
    return found


def test_a_list_of_models_grows_by_whole_models():
    assert growth(list[Item], [ITEM, {"name": "b"}]) == [[], [Item(**ITEM)], [Item(**ITEM), Item(name="b")]]


def test_a_model_has_what_is_there_and_shows_no_defaults_before_its_end():
    begun, *_, last = found = growth(Shop, SHOP)
    assert isinstance(begun, Shop)
    assert begun.model_fields_set == set()
    assert not hasattr(begun, "title")
    assert not hasattr(begun, "open")
    assert repr(begun) == "Shop()"
    assert last == Shop.model_validate(SHOP)
    fields = [shop.model_fields_set for shop in found]
    assert all(before <= after for before, after in itertools.pairwise(fields))
    assert [vars(shop["owner"]).keys() for shop in map(vars, found[:6]) if "owner" in shop][:3] == [
        set(),
        {"name"},
        {"name", "tags"},
    ]
    assert all(isinstance(item, Item) for shop in found for item in vars(shop).get("items", []))


class Renamed(BaseModel):
    first: int = Field(alias="erste")
    second: int = Field(validation_alias=AliasChoices("zweite", "deux"))


class Place(TypedDict):
    city: str
    zip: Annotated[int, Field(ge=0)]


@dataclass
class Point:
    x: int
    y: int


def test_aliases_are_the_keys_and_fields_the_attributes():
    assert [vars(one) for one in growth(Renamed, {"erste": 1, "zweite": 2})] == [
        {},
        {"first": 1},
        {"first": 1, "second": 2},
    ]


def test_dictionaries_grow_by_their_members():
    assert growth(Place, {"city": "Ulm", "zip": 89073}) == [{}, {"city": "Ulm"}, {"city": "Ulm", "zip": 89073}]
    blank = growth(dict[str, Item], {"a": {"name": "b"}})
    assert blank[-1] == {"a": Item(name="b")}
    assert growth(dict, {"a": [1, {"b": 2}]})[-2:] == [{"a": [1]}, {"a": [1, {"b": 2}]}]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Point, {"x": 1, "y": 2}),
        (set[int], [1, 2]),
        (tuple[int, str], [1, "a"]),
        (Item | Point, {"x": 1, "y": 2}),
        (str, "text"),
        (Literal["a", "b"], "a"),
    ],
    ids=str,
)
def test_any_other_type_is_shown_once_it_is_whole(kind, value):
    assert growth(kind, value) == [TypeAdapter(kind).validate_python(value)]


def test_none_beside_a_type_and_what_is_said_about_it_do_not_hide_it():
    kind = Annotated[list[Annotated[int, Field(ge=0)]] | None, Field(description="numbers")]
    assert growth(kind, [1, 2]) == [[], [1], [1, 2]]
    assert growth(kind, None) == []


def refuse(value: Any) -> Any:
    raise RuntimeError("a fault in a validator")


def test_what_is_refused_is_not_shown_and_raises_nothing():
    odd = Annotated[int, AfterValidator(lambda number: number if number % 2 else refuse(number))]
    assert growth(list[odd], [1, 2, 3]) == [[], [1], [1, 3]]

    class Broken(BaseModel):
        good: int
        bad: Annotated[int, AfterValidator(refuse)]

    assert [vars(one) for one in growth(Broken, {"good": 1, "bad": 2})] == [{}, {"good": 1}]
