"""Typed reading of a model's metadata: every value is checked, what we do not implement is refused by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from structgen.errors import InvalidModelFile, UnsupportedModel

__all__ = ["Config"]


class Config:
    """Metadata in the terms of Hugging Face's ``config.json``; a value of None counts as absent, as it does there.

    Parameters
    ----------
    architecture : str
        The family's name, for the errors.
    values : Mapping of str to object
        See :attr:`structgen.engine.weights.Checkpoint.metadata`.
    """

    def __init__(self, architecture: str, values: Mapping[str, object]) -> None:
        self.architecture = architecture
        self._values = {name: value for name, value in values.items() if value is not None}
        self._nulls = {name for name, value in values.items() if value is None}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def value(self, name: str) -> object:
        """The value as it stands, or None."""
        return self._values.get(name)

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer; without a ``default`` it must be there."""
        value = self._get(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidModelFile(f"{name} is {value!r}; an integer is expected")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """A number; without a ``default`` it must be there."""
        value = self._get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InvalidModelFile(f"{name} is {value!r}; a number is expected")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        """A boolean."""
        value = self._get(name, default)
        if not isinstance(value, bool):
            raise InvalidModelFile(f"{name} is {value!r}; true or false is expected")
        return value

    def optional_number(self, name: str, default: float | None) -> float | None:
        """A number, or None where it is null: of the few options for which that is not the same as absent."""
        return None if name in self._nulls or (default is None and name not in self) else self.number(name, default)

    def section(self, name: str) -> Config | None:
        """A nested object, or None where there is none."""
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise InvalidModelFile(f"{name} is {value!r}; an object is expected")
        return Config(self.architecture, {str(key): item for key, item in value.items()})

    def require(self, name: str, *known: object) -> None:
        """Refuse a value that changes what the model computes in a way that is not implemented.

        Parameters
        ----------
        name : str
            The option. Absent is always fine.
        *known : object
            The values that mean what the code does.
        """
        value = self._values.get(name)
        if value is not None and value not in known:
            allowed = f"; it runs with {' or '.join(map(repr, known))}" if known else ""
            raise UnsupportedModel(f"{name} is {value!r}, not implemented for the {self.architecture} family{allowed}")

    def _get(self, name: str, default: object) -> object:
        value = self._values.get(name, default)
        if value is None:
            raise InvalidModelFile(f"{name} is missing from the model's metadata; get the model's own configuration")
        return value
