"""The noise of draws: a number for each seed, choice, position and token id."""

from structgen.engine.noise.uniforms import key_of_draw, keyed_uniforms

__all__ = ["key_of_draw", "keyed_uniforms"]
