"""Languages of string values: sets of strings of Unicode scalar values."""

from __future__ import annotations
