"""From a grammar's text to its rule: the way of the whole, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from structgen.errors import InvalidRegex, UnsupportedGrammar
from structgen.grammars.expr import Rule, SpecialToken, special_token
from structgen.grammars.lark.earley import earley_grammar, earley_lexers
from structgen.grammars.lark.lalr import LalrGrammar
from structgen.grammars.lark.lexing import Lexing
from structgen.grammars.lark.loading import Conflict, Loaded, LoadedLalr, load_earley, load_lalr
from structgen.grammars.lark.patterns import Steps
from structgen.grammars.lark.product import rule_of
from structgen.grammars.lark.scanning import Scanner
from structgen.grammars.lark.token_places import TokenPlaces
from structgen.grammars.left_recursion import without_left_recursion
from structgen.grammars.regex.python_parser import parse

__all__ = ["build_rule"]


def build_rule(text: str, start: str, parser: str, name: str, token_ids: Mapping[str, int]) -> Rule:
    """The rule of the texts that a parser of Lark takes, none of its rules left-recursive; see `compile_lark`.

    ``token_ids`` are those of terminals that are declared, and are special tokens.
    """
    return without_left_recursion(_rule(text, start, parser, name, token_ids))


def _rule(text: str, start: str, parser: str, name: str, token_ids: Mapping[str, int]) -> Rule:
    if parser == "lalr":
        return _lalr_rule(load_lalr(text, start, name), start, name, token_ids)
    if parser == "auto":
        with suppress(Conflict):
            loaded = load_lalr(text, start, name)
            if not loaded.lost:
                return _lalr_rule(loaded, start, name, token_ids)
    return _earley_rule(load_earley(text, start, name), start, name, token_ids)


def _lalr_rule(loaded: LoadedLalr, start: str, name: str, token_ids: Mapping[str, int]) -> Rule:
    lexing, numbers = _lexing(loaded, name)
    specials = _specials(numbers, token_ids)
    grammar = LalrGrammar(loaded, start, numbers)
    places = TokenPlaces(lexing, grammar.contexts, grammar.following, specials)
    return rule_of(grammar.united(places.groups), places)


def _earley_rule(loaded: Loaded, start: str, name: str, token_ids: Mapping[str, int]) -> Rule:
    lexing, numbers = _lexing(loaded, name)
    specials = _specials(numbers, token_ids)
    lexers = earley_lexers(loaded, lexing, numbers)
    following = {number: [0] for number in numbers.values()}
    return rule_of(earley_grammar(loaded, start, numbers), TokenPlaces(lexing, [lexers], following, specials))


def _specials(numbers: dict[str, int], token_ids: Mapping[str, int]) -> dict[int, SpecialToken]:
    """Number the terminals that are special tokens, after those that are texts."""
    found: dict[int, SpecialToken] = {}
    for terminal, token_id in token_ids.items():
        numbers[terminal] = len(numbers)
        found[numbers[terminal]] = special_token(token_id)
    return found


def _lexing(loaded: Loaded, name: str) -> tuple[Lexing, dict[str, int]]:
    """The terminals, and their numbers by name."""
    steps, entries = Steps(), list[int]()
    names = [terminal.name for terminal in loaded.terminals]
    for number, terminal in enumerate(loaded.terminals):
        try:
            tree = parse(terminal.pattern.to_regexp())
        except InvalidRegex as error:
            raise UnsupportedGrammar(f"{name}: the terminal {terminal.name}: {error}") from error
        entries.append(steps.add_terminal(terminal.name, number, tree))
    return Lexing(Scanner(steps, names), entries, names), {one: number for number, one in enumerate(names)}
