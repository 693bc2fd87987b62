"""Models: what they are (a description), how their files become weights, and a plain torch forward pass."""

from __future__ import annotations

from structgen.engine.models.description import LinearScaling, Llama3Scaling, ModelDescription, Rope
from structgen.engine.models.families import Family, describe
from structgen.engine.models.loading import LoadedModel, load_model

__all__ = [
    "Family",
    "LinearScaling",
    "Llama3Scaling",
    "LoadedModel",
    "ModelDescription",
    "Rope",
    "describe",
    "load_model",
]
