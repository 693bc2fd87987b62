"""Grammars as token-level automata: usable alone inside any engine, without torch.

The front ends are imported when first used: a start that needs no grammar does not wait for them. All that is compiled
to machine code is imported here, so that it is one piece on disk whoever uses which part.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from structgen._compiled.entries import prepare as warm_up
from structgen.grammars.limits import Limits
from structgen.grammars.mask_pool import ALL_TOKENS, NO_TOKENS, MaskPool
from structgen.grammars.matcher import DEAD, FINISHED, Explanation, Matcher
from structgen.grammars.recipe import Recipe
from structgen.grammars.relaxation import Refusal, Relaxation, SchemaRelaxed
from structgen.grammars.token_automaton import Stats, TokenAutomaton
from structgen.grammars.verdict import Verdict
from structgen.grammars.vocabulary import TokenVocabulary

if TYPE_CHECKING:
    from structgen.grammars.background import CompileFuture, compile_in_background
    from structgen.grammars.choice import compile_choice
    from structgen.grammars.ebnf import compile_ebnf
    from structgen.grammars.gbnf import compile_gbnf
    from structgen.grammars.json_schema import check_openai_strict, compile_json_schema
    from structgen.grammars.lark import compile_lark
    from structgen.grammars.regex import compile_regex
    from structgen.grammars.structural_tag import compile_structural_tag

_HOMES = {
    "CompileFuture": "background",
    "check_openai_strict": "json_schema",
    "compile_choice": "choice",
    "compile_ebnf": "ebnf",
    "compile_gbnf": "gbnf",
    "compile_in_background": "background",
    "compile_json_schema": "json_schema",
    "compile_lark": "lark",
    "compile_regex": "regex",
    "compile_structural_tag": "structural_tag",
}

__all__ = [
    "ALL_TOKENS",
    "DEAD",
    "FINISHED",
    "NO_TOKENS",
    "CompileFuture",
    "Explanation",
    "Limits",
    "MaskPool",
    "Matcher",
    "Recipe",
    "Refusal",
    "Relaxation",
    "SchemaRelaxed",
    "Stats",
    "TokenAutomaton",
    "TokenVocabulary",
    "Verdict",
    "check_openai_strict",
    "compile_choice",
    "compile_ebnf",
    "compile_gbnf",
    "compile_in_background",
    "compile_json_schema",
    "compile_lark",
    "compile_regex",
    "compile_structural_tag",
    "warm_up",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'structgen.grammars' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"structgen.grammars.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
