"""Writing the rules: each conjunction that can be reached becomes one, its body an expression of the grammar IR."""

from __future__ import annotations

from collections.abc import Iterable

from structgen.errors import UnsatisfiableSchema, UnsupportedSchema
from structgen.grammars.expr import NEVER, Expr, Rule, alternation, literal
from structgen.grammars.json_schema.array_plans import ArrayPlan, ItemPlan
from structgen.grammars.json_schema.atoms import Atom
from structgen.grammars.json_schema.conjunctions import Conjunction
from structgen.grammars.json_schema.object_plans import ObjectPlan
from structgen.grammars.json_schema.plans import Plan, Planner
from structgen.grammars.json_schema.uniqueness import why_not_unique
from structgen.grammars.json_schema.ways import FALSE, NULL, TRUE, Ways
from structgen.grammars.language import Language
from structgen.grammars.values import (
    ArraySpec,
    Contains,
    Item,
    ObjectSpec,
    Others,
    array_value,
    object_value,
    regular,
    string_value,
)

__all__ = ["Writer"]

_LITERALS = ((NULL, literal(b"null")), (FALSE, literal(b"false")), (TRUE, literal(b"true")))


class _Body:
    """The body of a rule, written after the rule itself, since rules may lead back to themselves."""

    __slots__ = ("expr",)

    def __init__(self) -> None:
        self.expr = NEVER

    def __call__(self) -> Expr:
        return self.expr


class Writer:
    """Writes the rules of a schema.

    Parameters
    ----------
    planner : Planner
        What works the conditions out.
    numbers : {"canonical", "any"}
        How numbers may be spelled.
    ordered : bool
        Whether declared keys come in order.
    """

    def __init__(self, planner: Planner, numbers: str, *, ordered: bool) -> None:
        self._planner, self._numbers, self._ordered = planner, numbers, ordered
        self._rules: dict[Conjunction, Rule] = {}
        self._pending: list[tuple[Conjunction, _Body]] = []

    def write(self, root: Atom) -> Rule:
        """The rule of the values that meet ``root``, all rules that it reaches with it.

        Raises
        ------
        UnsatisfiableSchema
            There are no such values.
        UnsupportedSchema
            Something cannot be held exactly.
        """
        conjunction = self._planner.algebra.conjunction(root)
        if not self._planner.is_satisfiable(conjunction):
            raise UnsatisfiableSchema("", "no JSON value can meet it: the schema is unsatisfiable")
        rule = self._rule(conjunction, "the schema")
        while self._pending:
            one, body = self._pending.pop()
            body.expr = self._body(self._planner.plan(one))
        return rule

    def _rule(self, conjunction: Conjunction, name: str = "") -> Rule:
        rule = self._rules.get(conjunction)
        if rule is None:
            body, pointer = _Body(), conjunction.pointer
            rule = self._rules[conjunction] = Rule(name or pointer.rpartition("/")[2] or "value", body, pointer)
            self._pending.append((conjunction, body))
        return rule

    def _live(self, conjunction: Conjunction) -> Rule | None:
        return self._rule(conjunction) if self._planner.is_satisfiable(conjunction) else None

    def _body(self, plan: Plan) -> Expr:
        known = self._planner.is_satisfiable
        return alternation(
            *self._scalars(plan.scalars),
            *(self._array(one) for one in plan.arrays if one.is_satisfiable(known)),
            *(self._object(one) for one in plan.objects if one.is_satisfiable(known)),
        )

    def _scalars(self, ways: Ways) -> Iterable[Expr]:
        yield from (expr for bit, expr in _LITERALS if ways.literals & bit)
        yield from (regular(numbers.dfa(self._numbers)) for numbers in ways.numbers)
        yield from (string_value(strings) for strings in ways.strings)

    def _object(self, plan: ObjectPlan) -> Expr:
        values = {name: self._live(value) for name, value in plan.values.items()}
        others = [Others(one.keys, rule, one.meets) for one in plan.others if (rule := self._live(one.value))]
        if not others:  # what is not declared cannot be there then
            values = {name: rule for name, rule in values.items() if rule is not None}
        places = {name: place for place, name in enumerate(values)}
        low = plan.low if plan.low > len(plan.required) else 0
        high = plan.high if plan.high is not None and (others or plan.high < len(values)) else None
        return object_value(
            ObjectSpec(
                tuple(values),
                tuple(values.values()),
                tuple(others),
                frozenset(places[name] for name in plan.required),
                low,
                high,
                self._implications(plan, values),
                plan.obligations,
                self._ordered,
            )
        )

    def _implications(
        self, plan: ObjectPlan, values: dict[str, Rule | None]
    ) -> tuple[tuple[frozenset[int], int | None], ...]:
        """The implications between keys that can be there."""
        places = {name: place for place, name in enumerate(values)}
        return tuple(
            (frozenset(places[key] for key in keys), places[other] if other is not None and values.get(other) else None)
            for keys, other in plan.implications
            if all(values.get(key) is not None for key in keys) and other not in plan.required
        )

    def _array(self, plan: ArrayPlan) -> Expr:
        prefix: list[tuple[Item, ...]] = []
        for place in plan.prefix:
            items = self._items(place)
            if not items:
                break
            prefix.append(items)
        rest = self._items(plan.rest) if len(prefix) == len(plan.prefix) else ()
        high = plan.high
        if not rest and (high is None or high > len(prefix)):
            high = len(prefix)
        if plan.unique and (high is None or high > 1):
            self._check_unique(plan)
            return self._distinct_strings(plan, rest, high)
        return array_value(
            ArraySpec(
                tuple(prefix),
                rest,
                plan.low,
                high,
                tuple(Contains(one.low, one.high) for one in plan.counters),
            )
        )

    def _distinct_strings(self, plan: ArrayPlan, rest: tuple[Item, ...], high: int | None) -> Expr:
        """An array of distinct strings: an object's keys without values."""
        languages: list[Language] = []
        for item in plan.rest:
            inside = self._planner.plan(item.value)
            scalars = inside.scalars
            if scalars.literals or scalars.numbers or plan.prefix or plan.counters:
                raise UnsupportedSchema(
                    f"{plan.pointer}/uniqueItems",
                    "uniqueItems",
                    "it is held for elements that are all strings and under one schema; give items the type string",
                )
            languages += scalars.strings
        names = tuple(dict.fromkeys(text for one in languages for text in one.texts or ()))
        others = tuple(Others(one, rest[0].value) for one in languages if one.texts is None)
        values = tuple(rest[0].value for _ in names)
        return object_value(ObjectSpec(names, values, others, low=plan.low, high=high, ordered=False, is_set=True))

    def _items(self, items: Iterable[ItemPlan]) -> tuple[Item, ...]:
        return tuple(Item(rule, item.counts) for item in items if (rule := self._live(item.value)))

    def _check_unique(self, plan: ArrayPlan) -> None:
        has_inside = [any(map(self._has_inside, place)) for place in (*plan.prefix, plan.rest)]
        why = why_not_unique(self._planner.algebra, plan, has_inside)
        if why is not None:
            raise UnsupportedSchema(f"{plan.pointer}/uniqueItems", "uniqueItems", why)

    def _has_inside(self, item: ItemPlan) -> bool:
        """Whether an element read so can be an array or an object."""
        known, plan = self._planner.is_satisfiable, self._planner.plan(item.value)
        return any(one.is_satisfiable(known) for one in (*plan.arrays, *plan.objects))
