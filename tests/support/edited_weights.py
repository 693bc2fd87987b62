"""Models whose weights are others than their files have."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping

import numpy as np

from structgen.engine.models.description import ModelDescription
from structgen.engine.models.loading import LoadedModel
from structgen.engine.models.weights import EMBEDDING, HEAD, WeightSource, parameter_shapes
from structgen.engine.weights.groups import Groups

Edit = Callable[[np.ndarray], np.ndarray]


class EditedWeights:
    """A :class:`~structgen.engine.models.weights.WeightSource`: tensors of another one, some of them changed."""

    def __init__(self, source: WeightSource, edits: Mapping[str, Edit]) -> None:
        self._source, self._edits = source, edits

    def _edit(self, name: str) -> Edit | None:
        return next((edit for pattern, edit in self._edits.items() if re.fullmatch(pattern, name)), None)

    def tensor(self, name: str) -> np.ndarray:
        values, edit = self._source.tensor(name), self._edit(name)
        return values if edit is None else np.asarray(edit(values), np.float32)

    def read_rows(self, name: str, first: int, out: np.ndarray) -> None:
        out[:] = self.tensor(name)[first : first + len(out)]

    def bits(self, name: str) -> int | None:
        return None if self._edit(name) else self._source.bits(name)

    def groups(self, name: str, first: int, count: int) -> Groups:
        return self._source.groups(name, first, count)


class NoWeights:
    """A :class:`~structgen.engine.models.weights.WeightSource` that holds floats, for what does not read them."""

    def tensor(self, name: str) -> np.ndarray:
        raise NotImplementedError

    def read_rows(self, name: str, first: int, out: np.ndarray) -> None:
        raise NotImplementedError

    def bits(self, name: str) -> int | None:
        return None

    def groups(self, name: str, first: int, count: int) -> Groups:
        raise NotImplementedError


class RandomWeights(NoWeights):
    """The weights of a model that is nowhere else."""

    def __init__(self, description: ModelDescription, spread: float) -> None:
        random = np.random.default_rng(3)
        self._tensors = {
            name: random.normal(0, spread, shape).astype(np.float32)
            for name, shape in parameter_shapes(description).items()
        }

    def tensor(self, name: str) -> np.ndarray:
        return self._tensors[name]

    def read_rows(self, name: str, first: int, out: np.ndarray) -> None:
        out[:] = self._tensors[name][first : first + len(out)]


class _UntiedWeights(EditedWeights):
    """With a head of its own beside the embedding."""

    def tensor(self, name: str) -> np.ndarray:
        if name != HEAD:
            return super().tensor(name)
        values, edit = self._source.tensor(EMBEDDING), self._edit(HEAD)
        return values if edit is None else np.asarray(edit(values), np.float32)


def edited(loaded: LoadedModel, edits: Mapping[str, Edit]) -> LoadedModel:
    """The model with some tensors changed: functions of their values, by patterns of their names."""
    return dataclasses.replace(loaded, weights=EditedWeights(loaded.weights, edits))


def untied(loaded: LoadedModel, edits: Mapping[str, Edit]) -> LoadedModel:
    """As :func:`edited`, where head and embedding may be the same tensor and are changed each for itself."""
    if not loaded.description.tie_word_embeddings:
        return edited(loaded, edits)
    description = dataclasses.replace(loaded.description, tie_word_embeddings=False)
    return dataclasses.replace(loaded, description=description, weights=_UntiedWeights(loaded.weights, edits))


def with_broken_token(token_id: int) -> Edit:
    """An edit of the embedding: one token's is not a number."""

    def edit(values: np.ndarray) -> np.ndarray:
        values[token_id] = np.nan
        return values

    return edit
