"""What huggingface_hub raises, as errors of structgen that a person can act on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from structgen._reasons import first_line
from structgen.engine.sources.files import is_disk_error
from structgen.engine.sources.repository import Repository
from structgen.errors import DownloadError, ModelNotFound

__all__ = ["hub_errors"]


@contextmanager
def hub_errors(repository: Repository) -> Iterator[None]:
    """Turn what huggingface_hub raises into one line each; a full disk stays what it is."""
    from huggingface_hub import utils

    source = repository.source
    try:
        yield
    except utils.GatedRepoError as error:
        raise DownloadError(
            f"{source}: access is gated; accept the terms on the repository's page, "
            "then run `hf auth login` or set HF_TOKEN"
        ) from error
    except utils.RepositoryNotFoundError as error:
        raise ModelNotFound(
            f"{source}: the hub has no such repository, or it is private; check the name, or set HF_TOKEN"
        ) from error
    except (utils.RevisionNotFoundError, utils.HFValidationError) as error:
        raise ModelNotFound(f"{source}: {first_line(error)}") from error
    except utils.HfHubHTTPError as error:
        raise DownloadError(f"{source}: the hub answers: {first_line(error)}; try again later") from error
    except Exception as error:  # its transport's errors, which are others in each of its versions
        if isinstance(error, OSError) and is_disk_error(error):
            raise
        raise DownloadError(
            f"{source}: no network, or HF_HUB_OFFLINE is set: the hub cannot be reached ({first_line(error)}); "
            "check the connection and HF_ENDPOINT"
        ) from error
