"""What a model is, as plain data: sizes and the options in which decoder families differ.

One description covers Llama 2 and 3, SmolLM2, Mistral, Qwen2 and Qwen3, Gemma 2 and 3: pre-norm decoders with RMSNorm,
rotary positions, grouped-query attention and a gated MLP. A family (:mod:`structgen.engine.models.families`) writes it
from a file's metadata; whatever runs a model reads this and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from structgen.errors import InvalidModelFile

__all__ = ["Activation", "LinearScaling", "Llama3Scaling", "ModelDescription", "Rope"]

Activation = Literal["silu", "gelu_tanh"]
"""Of the MLP's gate: SwiGLU, or GeGLU with the approximation of GELU by tanh (Shazeer 2020, arXiv:2002.05202)."""

_TOO_LARGE = 1 << 26
"""No size reaches this, a damaged file's might: products of three still fit an int64."""


@dataclass(frozen=True)
class LinearScaling:
    """Position interpolation: every rotary frequency is divided by ``factor`` (Chen et al. 2023, arXiv:2306.15595)."""

    factor: float


@dataclass(frozen=True)
class Llama3Scaling:
    """Llama 3.1's scaling: low frequencies are divided by ``factor``, high ones stay, a ramp joins them.

    A frequency counts as low or high by its wavelength in tokens, against ``original_max_position_embeddings``
    divided by ``low_freq_factor`` and by ``high_freq_factor``.
    """

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_max_position_embeddings: int


@dataclass(frozen=True)
class Rope:
    """Rotary position embedding (Su et al. 2021, arXiv:2104.09864) over the whole head, in half-split layout."""

    theta: float
    """Base of the frequencies: frequency ``i`` is ``theta ** (-2 i / head_dim)`` radians a token."""
    scaling: LinearScaling | Llama3Scaling | None = None


@dataclass(frozen=True)
class ModelDescription:
    """A decoder-only transformer.

    Raises
    ------
    InvalidModelFile
        The sizes do not fit each other, or one of them is not positive or absurdly large.
    """

    architecture: str
    """The family's name, as in the plugin group ``structgen.models``."""
    vocab_size: int
    """Width of the logits; a tokenizer may know fewer tokens."""
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int
    """The longest sequence, in tokens."""
    rms_norm_eps: float
    rope: Rope
    sliding_windows: tuple[int | None, ...]
    """For each layer how many tokens a token sees, itself included; None where it sees all before it."""
    qkv_bias: bool = False
    """Whether the query, key and value projections add a bias (Qwen2)."""
    qk_norm: bool = False
    """Whether each head's query and key pass an RMSNorm before the rotation (Qwen3)."""
    tie_word_embeddings: bool = False
    """Whether the output projection is the embedding."""
    activation: Activation = "silu"
    local_rope: Rope | None = None
    """Of the layers that have a window, where they do not turn as the others do (Gemma 3)."""
    attention_scale: float | None = None
    """What attention scores are multiplied by; None for ``head_dim ** -0.5``."""
    attention_softcap: float | None = None
    """A cap ``c`` on scaled attention scores ``x``, which become ``c tanh(x / c)`` (Gemma 2)."""
    logit_softcap: float | None = None
    """The same on logits (Gemma 2)."""
    embedding_scale: float = 1.0
    """What embedded tokens are multiplied by; the output projection is not (Gemma)."""
    norm_offset: float = 0.0
    """What is added to the stored weights of every RMSNorm (Gemma: 1)."""
    post_norms: bool = False
    """Whether attention and MLP each pass another RMSNorm before they are added to the residual (Gemma 2 and 3)."""

    @property
    def score_scale(self) -> float:
        """What attention scores are multiplied by."""
        return self.head_dim**-0.5 if self.attention_scale is None else self.attention_scale

    def rope_of(self, layer: int) -> Rope:
        """How queries and keys of a layer are turned."""
        return self.rope if self.local_rope is None or self.sliding_windows[layer] is None else self.local_rope

    def __post_init__(self) -> None:
        for name, size in self._sizes().items():
            if not 0 < size < _TOO_LARGE:
                raise InvalidModelFile(f"{name} is {size}; it must be positive and below {_TOO_LARGE}")
        if self.num_attention_heads % self.num_key_value_heads:
            raise InvalidModelFile(
                f"num_attention_heads ({self.num_attention_heads}) is no multiple of num_key_value_heads "
                f"({self.num_key_value_heads})"
            )
        if self.head_dim % 2:
            raise InvalidModelFile(f"head_dim is {self.head_dim}; rotary embeddings need an even one")
        if len(self.sliding_windows) != self.num_hidden_layers:
            raise InvalidModelFile(
                f"{len(self.sliding_windows)} attention windows for {self.num_hidden_layers} layers (num_hidden_layers)"
            )

    def _sizes(self) -> dict[str, float]:
        names = (
            "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
            "num_key_value_heads", "head_dim", "max_position_embeddings", "rms_norm_eps",
        )  # fmt: skip
        windows = {f"sliding window of layer {i}": w for i, w in enumerate(self.sliding_windows) if w is not None}
        options = {
            "rope_local_base_freq": None if self.local_rope is None else self.local_rope.theta,
            "attention_scale": self.attention_scale,
            "attn_logit_softcapping": self.attention_softcap,
            "final_logit_softcapping": self.logit_softcap,
        }
        given = {name: value for name, value in options.items() if value is not None}
        return {**{name: getattr(self, name) for name in names}, "rope_theta": self.rope.theta, **windows, **given}
