"""From a grammar's text to its rule: the way of the whole, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from structgen.errors import InvalidRegex, UnsupportedGrammar
from structgen.grammars.expr import Rule
from structgen.grammars.lark.earley import earley_grammar, earley_lexers
from structgen.grammars.lark.embedded import Embedded, Foreign
from structgen.grammars.lark.indenter import Lines
from structgen.grammars.lark.lalr import LalrGrammar
from structgen.grammars.lark.lexing import Lexing
from structgen.grammars.lark.lists import with_lists_from_the_right
from structgen.grammars.lark.loading import LalrParser, Loaded, check_widths, lalr_parser, load
from structgen.grammars.lark.patterns import Steps
from structgen.grammars.lark.runs import with_runs
from structgen.grammars.lark.scanning import Scanner
from structgen.grammars.lark.tables import Conflict
from structgen.grammars.lark.token_places import TokenPlaces
from structgen.grammars.lark.writing import rule_of
from structgen.grammars.left_recursion import without_left_recursion
from structgen.grammars.nesting import with_levels
from structgen.grammars.regex.python_parser import parse

__all__ = ["build_rule"]


def build_rule(embedded: Embedded, start: str, parser: str, name: str, lines: Lines | None = None) -> Rule:
    """The rule of the texts that a parser of Lark takes, none of its rules left-recursive; see `compile_lark`.

    ``lines`` is how indentation is read.
    """
    foreign = embedded.foreign
    loaded = load(embedded.text, start, name, lines, embedded.runs)
    if lines is not None:
        return with_levels(without_left_recursion(_lalr_rule(lalr_parser(loaded), foreign)))
    return without_left_recursion(_rule(loaded, parser, foreign))


def _rule(loaded: Loaded, parser: str, foreign: Mapping[str, Foreign]) -> Rule:
    if parser == "lalr":
        return _lalr_rule(lalr_parser(loaded), foreign)
    if parser == "auto":
        with suppress(Conflict):
            its = lalr_parser(loaded)
            if not its.tables.lost:
                return _lalr_rule(its, foreign)
    return _earley_rule(loaded, foreign)


def _lalr_rule(parser: LalrParser, foreign: Mapping[str, Foreign]) -> Rule:
    loaded = parser.loaded
    lexing, numbers = _lexing(loaded)
    its_foreign = _numbered(foreign, numbers)
    lines = loaded.lines
    if lines is None:
        grammar = LalrGrammar(parser, numbers)
        places = TokenPlaces(lexing, grammar.contexts, grammar.following, its_foreign)
        return rule_of(with_lists_from_the_right(grammar.united(places.groups)), places)
    for role in (lines.indent, lines.dedent):
        if role in numbers:
            raise UnsupportedGrammar(
                f"{loaded.name}: the terminal {role} has a pattern; an indenter makes it, so %declare it"
            )
        numbers[role] = len(numbers)
    grammar = LalrGrammar(parser, numbers)
    newline = numbers.get(lines.newline, -1)
    places = TokenPlaces(lexing, grammar.contexts, grammar.following, its_foreign, newline, lines.tab)
    return rule_of(with_lists_from_the_right(grammar.united(places.groups)), places)


def _earley_rule(loaded: Loaded, foreign: Mapping[str, Foreign]) -> Rule:
    check_widths(loaded, loaded.terminals)
    lexing, numbers = _lexing(loaded)
    its_foreign = _numbered(foreign, numbers)
    lexers = earley_lexers(loaded, lexing, numbers)
    following = {number: [0] for number in numbers.values()}
    grammar = with_lists_from_the_right(earley_grammar(loaded, loaded.start, numbers))
    return rule_of(grammar, TokenPlaces(lexing, [lexers], following, its_foreign))


def _numbered(foreign: Mapping[str, Foreign], numbers: dict[str, int]) -> dict[int, Foreign]:
    """Give terminals without a pattern numbers after the others."""
    found: dict[int, Foreign] = {}
    for terminal, its in foreign.items():
        numbers[terminal] = len(numbers)
        found[numbers[terminal]] = its
    return found


def _lexing(loaded: Loaded) -> tuple[Lexing, dict[str, int]]:
    """The terminals, and their numbers by name."""
    steps, entries = Steps(), list[int]()
    names = [terminal.name for terminal in loaded.terminals]
    for number, terminal in enumerate(loaded.terminals):
        try:
            tree = with_runs(parse(terminal.pattern.to_regexp()), loaded.runs)
        except InvalidRegex as error:
            raise UnsupportedGrammar(f"{loaded.name}: the terminal {terminal.name}: {error}") from error
        entries.append(steps.add_terminal(terminal.name, number, tree))
    return Lexing(Scanner(steps, names), entries, names), {one: number for number, one in enumerate(names)}
