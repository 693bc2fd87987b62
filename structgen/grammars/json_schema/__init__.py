"""JSON Schema to `TokenAutomaton`."""

from structgen.grammars.json_schema.compile import compile_json_schema

__all__ = ["compile_json_schema"]
