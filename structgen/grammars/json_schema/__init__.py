"""JSON Schema to `TokenAutomaton`."""

from structgen.grammars.json_schema.compile import compile_json_schema
from structgen.grammars.json_schema.openai_strict import check_openai_strict

__all__ = ["check_openai_strict", "compile_json_schema"]
