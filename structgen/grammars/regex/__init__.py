"""Regular expressions: Python's to `TokenAutomaton`, ECMA-262's to languages of JSON strings."""

from structgen.grammars.regex.compile import compile_regex
from structgen.grammars.regex.ecma import ecma_language
from structgen.grammars.regex.ecma_python import ecma_as_python

__all__ = ["compile_regex", "ecma_as_python", "ecma_language"]
