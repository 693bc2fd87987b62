"""JSON pointers (RFC 6901), relative ones (draft-bhutton-relative-json-pointer-00), and UUIDs (RFC 4122)."""

from __future__ import annotations

__all__ = ["POINTER", "RELATIVE_POINTER", "UUID"]

POINTER = "(?:/(?:[^~/]|~[01])*)*"
RELATIVE_POINTER = rf"(?:0|[1-9]\d*)(?:#|{POINTER})"
UUID = "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
