"""The JSON Schema of a tool's arguments: what pydantic writes, in the form that grammars and servers accept."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import core_schema

from structgen.llm.json_schema import close_objects

__all__ = ["arguments_schema"]

Schema = dict[str, Any]


def arguments_schema(model: type[BaseModel]) -> Schema:
    """The schema of the arguments that ``model`` validates, a new dictionary on each call.

    It is pydantic's, with these differences, none of which admits a value that pydantic refuses:

    - objects with declared properties are closed (``additionalProperties: false``);
    - a property of one possible value is required although it has a default, so that the tag of a tagged union is
      always written; the union is then an ``anyOf`` without OpenAPI's ``discriminator``;
    - a ``$ref`` has no siblings: it is wrapped in ``anyOf`` where a description stands beside it, which strict
      servers demand;
    - titles that repeat a property's name, and defaults that are null or that JSON cannot write, are left out.
    """
    schema = close_objects(model.model_json_schema(schema_generator=ToolSchemaGenerator))
    schema.pop("title", None)
    schema.pop("description", None)
    return schema


class ToolSchemaGenerator(GenerateJsonSchema):
    """Pydantic's generator with the differences that :func:`arguments_schema` lists, but for closing objects."""

    ignored_warning_kinds: set[JsonSchemaWarningKind] = {  # noqa: RUF012 - as pydantic declares it, no ClassVar
        "skipped-choice",
        "non-serializable-default",
    }

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never: the property's name says it."""
        return False

    def field_is_required(
        self,
        field: core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField,
        total: bool,
    ) -> bool:
        """Pydantic's answer, or a single possible value."""
        return super().field_is_required(field, total) or _single_valued(field["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> Schema:
        """A default, unless it is null: that only says that the property may be left out, as ``required`` does."""
        part = super().default_schema(schema)
        return {keyword: value for keyword, value in part.items() if keyword != "default" or value is not None}

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> Schema:
        """A tagged union; its members exclude each other, since each requires its own tag."""
        union = super().tagged_union_schema(schema)
        union.pop("discriminator", None)
        return {"anyOf": union.pop("oneOf"), **union}

    def generate_inner(self, schema: Any) -> Schema:
        """Any part, with a ``$ref`` that has siblings wrapped."""
        part = super().generate_inner(schema)
        if "$ref" in part and len(part) > 1:
            siblings = {keyword: value for keyword, value in part.items() if keyword != "$ref"}
            return {"anyOf": [{"$ref": part["$ref"]}], **siblings}
        return part


def _single_valued(schema: Any) -> bool:
    while schema["type"] == "default":
        schema = schema["schema"]
    return schema["type"] == "literal" and len(schema["expected"]) == 1
