"""The HTTP server: OpenAI's chat completions API over a local model."""

from __future__ import annotations

from structgen.server.app import create_app

__all__ = ["create_app"]
