"""The noise of draws: a number for each seed, choice, position and token id, and quick bounds on it."""

from structgen.engine.noise.bounds import score_bounds
from structgen.engine.noise.uniforms import key_of_draw, keyed_uniforms

__all__ = ["key_of_draw", "keyed_uniforms", "score_bounds"]
