"""What is read out of a grammar in place of Lark's own parser is what that parser has: tables, lexers, imports."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import lark
import pytest
from lark.common import ParserConf
from lark.exceptions import GrammarError
from lark.grammar import NonTerminal, Rule, RuleOptions, Terminal
from lark.lark import load_grammar
from lark.parsers.lalr_analysis import LALR_Analyzer, Shift

from structgen.grammars import library
from structgen.grammars.circles import circles_of
from structgen.grammars.lark.imports import loaded_grammar
from structgen.grammars.lark.loading import lalr_parser, load
from structgen.grammars.lark.tables import Conflict, Tables, lalr_tables
from structgen.grammars.lark.tries import Tries

OURS = Path(library.__file__).parent
THEIRS = Path(lark.__file__).parent / "grammars"
GRAMMARS = {path.stem: path for folder in (THEIRS, OURS) for path in sorted(folder.glob("*.lark"))}
STARTS = {"python": "file_input"}


def analyzed(rules: list[Rule], start: str) -> LALR_Analyzer:
    analyzer = LALR_Analyzer(ParserConf(rules, {}, [start]))
    analyzer.compute_lalr()
    return analyzer


def matched(tries: Tries, tables: Tables, theirs: Any, start: str) -> dict[int, int]:
    """Of each of our states Lark's; what is shifted must agree, and no state be left over."""
    states, pending = {0: theirs.start_states[start]}, [0]
    names = {symbol: name for name, symbol in tries.symbols.items()}
    for state in pending:
        row = {names[symbol]: after for symbol, after in tables.gotos[state].items()}
        shifts = {name: its[1] for name, its in theirs.states[states[state]].items() if its[0] is Shift}
        assert row.keys() == shifts.keys()
        for name, after in row.items():
            if after not in states:
                pending.append(after)
            assert states.setdefault(after, shifts[name]) == shifts[name]
    assert len(states) == len(theirs.states) == len(set(states.values())) == len(tables.gotos)
    return states


def accepted(tries: Tries, tables: Tables, states: dict[int, int], theirs: Any) -> list[tuple[set[str], set[str]]]:
    """Of each state the terminals that we accept, and Lark."""
    return [
        (set(tries.names_of(tables.accepts[state])), {one for one in theirs.states[other] if one in tries.terminals})
        for state, other in states.items()
    ]


def lost_by_lark(analyzer: LALR_Analyzer, theirs: Any) -> dict[tuple[int, Rule], set[str]]:
    numbers = {state.closure: number for number, state in enumerate(analyzer.lr0_itemsets)}
    found: dict[tuple[int, Rule], set[str]] = {}
    for state in analyzer.lr0_itemsets:
        number = numbers[state.closure]
        for symbol, rules in state.lookaheads.items():
            for rule in (one for one in rules if theirs.states[number][symbol.name][1] != one):
                found.setdefault((number, rule), set()).add(symbol.name)
    return found


def random_rules(source: random.Random) -> list[Rule]:
    """Ambiguous, with circles, empty productions and priorities, as they come."""
    nonterminals, terminals = "abcdef"[: source.randrange(1, 7)], "XYZW"[: source.randrange(1, 5)]
    rules: dict[tuple[str, tuple[Any, ...]], Rule] = {}
    for name in nonterminals:
        for order in range(source.randrange(1, 4)):
            expansion = [
                NonTerminal(source.choice(nonterminals))
                if source.random() < 0.5
                else Terminal(source.choice(terminals))
                for _ in range(source.choice((0, 1, 1, 2, 2, 3, 4)))
            ]
            options = RuleOptions(priority=source.choice((None, None, None, 0, 1, 2)))
            rules[name, tuple(expansion)] = Rule(NonTerminal(name), expansion, order, None, options)
    return list(rules.values())


def reads_in_circles(analyzer: LALR_Analyzer) -> bool:
    """Lark's lookaheads then depend on the addresses of its states, and may be too few."""
    return any(
        len(circle) > 1 for circle in circles_of({one: analyzer.reads[one] for one in [*analyzer.reads]}).values()
    )


@pytest.mark.parametrize("part", range(10))
def test_tables_are_those_of_lark(part):
    kinds = {"conflict": 0, "lost": 0, "none": 0, "circles": 0}
    for seed in range(100 * part, 100 * part + 100):
        rules = random_rules(random.Random(seed))
        tries = Tries(rules, "a")
        analyzer = LALR_Analyzer(ParserConf(rules, {}, ["a"]))
        try:
            analyzer.compute_lalr()
        except GrammarError:
            kinds["conflict"] += 1
            with pytest.raises(Conflict, match="Reduce/Reduce collision in Terminal"):
                lalr_tables(tries)
            continue
        if reads_in_circles(analyzer):
            kinds["circles"] += 1
            continue
        tables, theirs = lalr_tables(tries), analyzer.parse_table
        states = matched(tries, tables, theirs, "a")
        assert all(ours == lark_s for ours, lark_s in accepted(tries, tables, states, theirs)), seed
        lost = {
            (states[state], tries.ends[node]): set(tries.names_of(its)) for (state, node), its in tables.lost.items()
        }
        assert lost == lost_by_lark(analyzer, theirs), seed
        kinds["lost" if lost else "none"] += 1
    assert kinds["conflict"] > 5
    assert kinds["lost"] > 5
    assert kinds["none"] > 5
    assert kinds["circles"] < 20


def test_a_collision_names_its_rules():
    rules = [Rule(NonTerminal("a"), [NonTerminal(one)], 0) for one in "bc"]
    rules += [Rule(NonTerminal(one), [Terminal("X")], 0) for one in "bc"]
    with pytest.raises(Conflict) as caught:
        lalr_tables(Tries(rules, "a"))
    message = "Reduce/Reduce collision in Terminal('$END') between the following rules: - <b : X> - <c : X>"
    assert str(caught.value) == message


@pytest.mark.parametrize("name", [name for name in GRAMMARS if name not in ("common", "unicode")])
def test_states_and_lexers_of_a_grammar_are_those_of_lark(name):
    text, start = GRAMMARS[name].read_text(), STARTS.get(name, "start")
    parser = lalr_parser(load(text, start, str(GRAMMARS[name])))
    theirs = lark.Lark(text, start=start, source_path=str(GRAMMARS[name]), parser="lalr").parser
    table = theirs.parser._parse_table
    states = matched(parser.tries, parser.tables, table, start)
    assert all(ours == its for ours, its in accepted(parser.tries, parser.tables, states, table))
    for state, other in states.items():
        order, lexer = parser.order(state), theirs.lexer.lexers[other]
        assert order.names == tuple(terminal.name for terminal in lexer.scanner.terminals)
        spellings = {one: tuple(its.name for its in unless.scanner.terminals) for one, unless in lexer.callback.items()}
        assert order.spellings == spellings


IMPORTS = [
    "%import common.INT\nstart: INT",
    "%import common (INT, WS, SIGNED_FLOAT)\n%import common.CNAME -> NAME\nstart: INT NAME SIGNED_FLOAT\n%ignore WS",
    '%import common.INT\n%extend INT: "x"\nstart: INT',
    '%import common.INT\n%override INT: "x"\nstart: INT',
    "%import common.DIGIT -> ONE\n%import common.INT -> TWO\nstart: ONE TWO\nTHREE: ONE TWO",
    "%import unicode.LU\nstart: LU",
    "%import common.LETTER -> letter\n%import common.INT\nstart: INT letter",
    "%import python (name, DEC_NUMBER)\nstart: name DEC_NUMBER",
    "%import lark.start\n",
]


@pytest.mark.parametrize("text", IMPORTS)
def test_an_import_brings_what_it_brings_in_lark(text):
    for _ in range(2):  # the second time it has been read
        found = []
        for load_one in (lambda: load_grammar(text, "x.lark", [], False)[0], lambda: loaded_grammar(text, "x.lark")):
            try:
                terminals, rules, ignored = load_one().compile(["start"], set())
            except GrammarError as error:
                found.append(str(error))
                continue
            named = [(one.name, one.pattern.to_regexp(), one.priority) for one in terminals]
            found.append((named, [(str(one), one.order) for one in rules], ignored))
        assert found[0] == found[1]


@pytest.mark.parametrize(
    "text",
    ["%import common.INTS\nstart: INTS", "%import commons.INT\nstart: INT", "INT: /x/\n%import common.INT\nstart: INT"],
)
def test_an_import_that_lark_refuses_is_refused_in_its_words(text):
    with pytest.raises((GrammarError, OSError)) as theirs:
        load_grammar(text, "x.lark", [], False)
    with pytest.raises((GrammarError, OSError)) as ours:
        loaded_grammar(text, "x.lark")
    assert str(ours.value) == str(theirs.value)
