"""Automata of the spellings of sets of numbers."""

from structgen.grammars.json_schema.number_dfa.build import number_dfa

__all__ = ["number_dfa"]
