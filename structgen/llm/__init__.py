"""The synchronous front door over the engine."""

from __future__ import annotations
