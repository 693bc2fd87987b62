"""How an engine runs: the options that users set, checked before anything is loaded."""

from __future__ import annotations

from dataclasses import dataclass

from structgen.engine.memory import parse_size
from structgen.errors import InvalidRequest

__all__ = ["KV_CACHE_DTYPES", "EngineOptions"]

KV_CACHE_DTYPES = ("auto", "float32", "bfloat16", "int8")
"""What keys and values can be stored as; ``auto`` is what the model computes in."""


@dataclass(frozen=True)
class EngineOptions:
    """Options of an engine.

    Parameters
    ----------
    max_num_seqs : int
        Requests that run at once; more wait their turn.
    max_model_len : int or None
        Tokens that prompt and answer may have together; None for what the model was made for, or what fits.
    max_num_batched_tokens : int
        Tokens that a step computes at most, of all requests together; a longer prompt takes several steps.
    block_size : int
        Tokens a page of the cache; the compiled runner takes multiples of 16.
    kv_memory : int, str or None
        Memory for keys and values: bytes, or a text such as ``"1GiB"``. None takes a quarter of what is free, and no
        more than all requests that run at once can fill.
    kv_cache_dtype : str
        What keys and values are stored as: ``"auto"``, ``"float32"``, ``"bfloat16"`` or ``"int8"`` (a scale for each
        head and token).
    grammar_timeout : float or None
        Seconds that compiling a request's grammar may take before that request fails; None waits as long as it takes.

    Raises
    ------
    InvalidRequest
        A value is not what it must be; the message names the option.
    """

    max_num_seqs: int = 16
    max_model_len: int | None = None
    max_num_batched_tokens: int = 512
    block_size: int = 16
    kv_memory: int | str | None = None
    kv_cache_dtype: str = "auto"
    grammar_timeout: float | None = 60.0

    def __post_init__(self) -> None:
        for name in ("max_num_seqs", "max_num_batched_tokens", "block_size"):
            _check_count(name, getattr(self, name))
        if self.max_model_len is not None:
            _check_count("max_model_len", self.max_model_len)
        if self.max_num_batched_tokens < self.max_num_seqs:
            raise InvalidRequest(
                f"max_num_batched_tokens: {self.max_num_batched_tokens} is less than a token for each of "
                f"max_num_seqs={self.max_num_seqs}"
            )
        if self.kv_cache_dtype not in KV_CACHE_DTYPES:
            known = ", ".join(KV_CACHE_DTYPES)
            raise InvalidRequest(f"kv_cache_dtype: {self.kv_cache_dtype!r} is not known; known are {known}")
        if self.grammar_timeout is not None:
            _check_seconds("grammar_timeout", self.grammar_timeout)
        self.kv_bytes  # noqa: B018 - checks it

    @property
    def kv_bytes(self) -> int | None:
        """``kv_memory`` in bytes, None where it is left open."""
        if self.kv_memory is None:
            return None
        try:
            return parse_size(self.kv_memory)
        except ValueError as error:
            raise InvalidRequest(f"kv_memory: {error}, not {self.kv_memory!r}") from error


def _check_seconds(name: str, value: object) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < float("inf"):
        raise InvalidRequest(f"{name}: must be a number of seconds above 0, not {value!r}")


def _check_count(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidRequest(f"{name}: must be a whole number of at least 1, not {value!r}")
