"""Readers of the model files that users have: GGUF and Hugging Face folders."""

from __future__ import annotations

from structgen.engine.weights.checkpoint import Checkpoint, open_checkpoint

__all__ = ["Checkpoint", "open_checkpoint"]
