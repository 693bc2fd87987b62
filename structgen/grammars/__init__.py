"""Grammars as token-level automata: usable alone inside any engine, without torch."""

from structgen.grammars._compiled.entries import prepare as warm_up
from structgen.grammars.choice import compile_choice
from structgen.grammars.json_schema import compile_json_schema
from structgen.grammars.mask_pool import ALL_TOKENS, NO_TOKENS, MaskPool
from structgen.grammars.matcher import DEAD, FINISHED, Explanation, Matcher
from structgen.grammars.regex import compile_regex
from structgen.grammars.token_automaton import TokenAutomaton
from structgen.grammars.vocabulary import TokenVocabulary

__all__ = [
    "ALL_TOKENS",
    "DEAD",
    "FINISHED",
    "NO_TOKENS",
    "Explanation",
    "MaskPool",
    "Matcher",
    "TokenAutomaton",
    "TokenVocabulary",
    "compile_choice",
    "compile_json_schema",
    "compile_regex",
    "warm_up",
]
