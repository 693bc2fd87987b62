"""Regular expressions to `TokenAutomaton`."""

from structgen.grammars.regex.compile import compile_regex

__all__ = ["compile_regex"]
