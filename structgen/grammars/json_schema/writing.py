"""Writing the rules: each conjunction that can be reached becomes one, its body an expression of the grammar IR."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from structgen.errors import GrammarLimitExceeded, UnsatisfiableSchema
from structgen.grammars import language
from structgen.grammars.covering import room_of
from structgen.grammars.expr import NEVER, Expr, Rule, alternation, literal
from structgen.grammars.json_layout import COMPACT, Layout
from structgen.grammars.json_schema.algebra import Algebra
from structgen.grammars.json_schema.array_plans import ArrayPlan, ItemPlan, without_last_counter
from structgen.grammars.json_schema.assertions import Formats
from structgen.grammars.json_schema.atoms import Atom
from structgen.grammars.json_schema.conjunctions import Conjunction
from structgen.grammars.json_schema.counting import counted_bounds, why_not_counted
from structgen.grammars.json_schema.implied_keys import countable
from structgen.grammars.json_schema.object_planning import MAX_NAMES
from structgen.grammars.json_schema.object_plans import ObjectPlan
from structgen.grammars.json_schema.plans import Plan, Planner
from structgen.grammars.json_schema.uniqueness import counted_by_value, why_not_strings
from structgen.grammars.json_schema.unsupported import Unsupported
from structgen.grammars.json_schema.ways import FALSE, NULL, TRUE, Ways
from structgen.grammars.values import (
    ArraySpec,
    Contains,
    Item,
    ObjectSpec,
    ObjectValue,
    Others,
    array_value,
    object_value,
    regular,
    string_value,
)

__all__ = ["Writer"]

_MAX_WAYS = 31
"""Entries of one object's other keys, and ways of one element, that the automaton tells apart."""

_LITERALS = ((NULL, literal(b"null")), (FALSE, literal(b"false")), (TRUE, literal(b"true")))


class _Body:
    """The body of a rule, written after the rule itself, since rules may lead back to themselves."""

    __slots__ = ("expr",)

    def __init__(self) -> None:
        self.expr = NEVER

    def __call__(self) -> Expr:
        return self.expr


@lru_cache(maxsize=8)
def anything(numbers: str, *, ordered: bool, layout: Layout | None) -> Rule:
    """The rule of all JSON values, the options as for `Writer`."""
    planner = Planner(Algebra(Formats(assertion=False, strict=False), Unsupported(relaxing=False)))
    return Writer(planner, numbers, ordered=ordered, layout=layout).write_anything()


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
    layout : Layout or None
        White space between tokens; ``None``: any that the documented layout has.
    """

    def __init__(self, planner: Planner, numbers: str, *, ordered: bool, layout: Layout | None = None) -> None:
        self._planner, self._numbers, self._ordered, self._layout = planner, numbers, ordered, layout
        self._unsupported = planner.algebra.unsupported
        self._rules: dict[Conjunction, Rule] = {}
        self._known_scalars: dict[object, Expr] = {}
        self._known_objects: dict[ObjectSpec, Expr] = {}
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
        return self._written(conjunction, "the schema", is_common=False)

    def write_anything(self) -> Rule:
        """The rule of all JSON values, which many grammars call."""
        return self._written(self._planner.algebra.anything, "value", is_common=True)

    def _written(self, conjunction: Conjunction, name: str, *, is_common: bool) -> Rule:
        body = _Body()
        rule = Rule(name, body, conjunction.pointer, is_common=is_common)
        if is_common or conjunction is not self._planner.algebra.anything:
            self._rules[conjunction] = rule
        self._pending.append((conjunction, body))
        while self._pending:
            one, body = self._pending.pop()
            body.expr = self._body(self._planner.plan(one))
        return rule

    def _rule(self, conjunction: Conjunction) -> Rule:
        rule = self._rules.get(conjunction)
        is_common = self._layout is None or self._layout == COMPACT  # of others there is no end
        if rule is None and is_common and conjunction is self._planner.algebra.anything:
            rule = self._rules[conjunction] = anything(self._numbers, ordered=self._ordered, layout=self._layout)
        elif rule is None:
            body, pointer = _Body(), conjunction.pointer
            rule = self._rules[conjunction] = Rule(pointer.rpartition("/")[2] or "value", body, pointer)
            self._pending.append((conjunction, body))
        return rule

    def _live(self, conjunction: Conjunction) -> Rule | None:
        return self._rule(conjunction) if self._planner.is_satisfiable(conjunction) else None

    def _body(self, plan: Plan) -> Expr:
        scalars = self._scalars(plan.scalars)
        if not plan.arrays and not plan.objects:
            return scalars
        known = self._planner.is_satisfiable
        return alternation(
            scalars,
            *(self._array(one) for one in plan.arrays if one.is_satisfiable(known)),
            *(expr for one in plan.objects for expr in self._objects(one)),
        )

    def _scalars(self, ways: Ways) -> Expr:
        key = (ways.literals, ways.numbers, ways.strings)
        expr = self._known_scalars.get(key)
        if expr is None:
            expr = self._known_scalars[key] = alternation(
                *(expr for bit, expr in _LITERALS if ways.literals & bit),
                *(regular(numbers.dfa(self._numbers)) for numbers in ways.numbers),
                *(string_value(strings) for strings in ways.strings),
            )
        return expr

    def _objects(self, plan: ObjectPlan) -> Iterable[Expr]:
        known, plans = self._planner.is_satisfiable, [plan]
        if plan.implications:
            possible = [name for name, value in plan.values.items() if known(value)]
            is_open = any(known(one.value) for one in plan.others)
            plans = countable(plan, possible, self._planner.algebra.nothing, is_open=is_open)
        return (self._object(one) for one in plans if one.is_satisfiable(known))

    def _object(self, plan: ObjectPlan) -> Expr:
        values: dict[str, Rule | None] = {name: self._live(value) for name, value in plan.values.items()}
        others = [Others(one.keys, rule, one.meets) for one in plan.others if (rule := self._live(one.value))]
        if len(others) > _MAX_WAYS:
            raise GrammarLimitExceeded(f"an object has over {_MAX_WAYS} classes of other keys; use fewer patterns")
        # What is not declared cannot be there where there are no others; nor can what is no text, in any JSON.
        if None in values.values():
            values = {name: rule for name, rule in values.items() if rule is not None or (others and _is_text(name))}
        places = {name: place for place, name in enumerate(values)}
        low, high = counted_bounds(self._least(plan), plan.high, plan.pointer)
        if high is not None and not others and high >= len(values):
            high = None
        spec = ObjectSpec(
            tuple(values),
            tuple(values.values()),
            tuple(others),
            frozenset([places[name] for name in plan.required]),
            low,
            high,
            self._implications(plan, values),
            plan.obligations,
            self._ordered,
            layout=self._layout,
        )
        return self._known_objects.setdefault(spec, ObjectValue(spec))

    def _least(self, plan: ObjectPlan) -> int:
        """The members that must be there, beside what `ObjectSpec.required` says."""
        room = None if plan.low <= len(plan.required) else plan.room(self._planner.is_satisfiable)
        if room is not None and 0 < room < plan.low - len(plan.required):
            why = f"it asks for more members than there are undeclared keys, of which there are only {room:,}"
            self._unsupported.meet(f"{plan.pointer}/minProperties", "minProperties", why)
            return 0
        return plan.low if plan.low > len(plan.required) else 0

    def _implications(
        self, plan: ObjectPlan, values: dict[str, Rule | None]
    ) -> tuple[tuple[frozenset[int], int | None], ...]:
        """The implications between keys that can be there."""
        if not plan.implications:
            return ()
        places = {name: place for place, name in enumerate(values)}
        return tuple(
            (frozenset(places[key] for key in keys), places[other] if other is not None and values.get(other) else None)
            for keys, other in plan.implications
            if all(values.get(key) is not None for key in keys) and other not in plan.required
        )

    def _array(self, plan: ArrayPlan) -> Expr:
        if plan.unique and not plan.prefix and not plan.rest:
            plan = plan._replace(unique=False)  # it is empty
        if plan.unique:
            counted = counted_by_value(self._planner.algebra, plan)
            if counted is None:
                return self._distinct_strings(plan)
            plan = counted
        while (why := why_not_counted(plan, self._planner.is_satisfiable)) is not None:
            self._unsupported.meet(f"{plan.pointer}/contains", "contains", why)
            plan = without_last_counter(plan)
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
        contains = tuple(Contains(one.low, one.high) for one in plan.counters)
        return array_value(ArraySpec(tuple(prefix), rest, plan.low, high, contains, self._layout))

    def _items(self, items: Iterable[ItemPlan]) -> tuple[Item, ...]:
        return tuple(Item(rule, item.counts) for item in items if (rule := self._live(item.value)))

    def _distinct_strings(self, plan: ArrayPlan) -> Expr:
        """An array of different strings: an object's keys without values."""
        known, inside = self._planner.is_satisfiable, [self._planner.plan(item.value) for item in plan.rest]
        why = why_not_strings(
            plan,
            has_inside=any(way.is_satisfiable(known) for one in inside for way in (*one.arrays, *one.objects)),
            has_others=any(one.scalars.literals or one.scalars.numbers for one in inside),
        )
        if why is not None:
            self._unsupported.meet(f"{plan.pointer}/uniqueItems", "uniqueItems", why)
            return self._array(plan._replace(unique=False))
        rule = self._rule(plan.rest[0].value)
        names: dict[str, Rule] = {}
        others: list[Others] = []
        for strings in (strings for one in inside for strings in one.scalars.strings):
            few = strings.members(MAX_NAMES)
            if few is None:
                others.append(Others(strings, rule))
            else:
                names.update(dict.fromkeys(few, rule))
        rooms = [room_of(one.keys, names) for one in others]
        if rooms and plan.low > len(names) + max(language.SATURATED if room is None else room for room in rooms):
            why = f"it is not known whether there are {plan.low:,} different elements"
            self._unsupported.meet(f"{plan.pointer}/uniqueItems", "uniqueItems", why)
            return self._array(plan._replace(unique=False))
        return object_value(
            ObjectSpec(
                tuple(names),
                tuple(names.values()),
                tuple(others),
                low=plan.low,
                high=plan.high,
                ordered=False,
                is_set=True,
                layout=self._layout,
            )
        )


def _is_text(name: str) -> bool:
    """Whether ``name`` has no half of a surrogate pair."""
    return name.isascii() or language.ALL.contains(name)
