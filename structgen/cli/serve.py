"""``structgen serve``: OpenAI's HTTP API over one model."""

from __future__ import annotations

import gc
import socket
from typing import Annotated, Any

import typer

from structgen.cli.engine_options import takes_engine_options
from structgen.engine.sources import DEFAULT_MODEL
from structgen.errors import InvalidRequest


@takes_engine_options
def serve(
    model: Annotated[str, typer.Argument(help="Alias, path, or hf:org/name.")] = DEFAULT_MODEL,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    model_name: Annotated[
        str | None, typer.Option(help="What clients call the model; its own name if left out.")
    ] = None,
    call_format: Annotated[str, typer.Option(help="How the model writes tool calls.")] = "hermes",
    *,
    engine: dict[str, Any],
) -> None:
    """Serve a model at /v1/chat/completions, as OpenAI's clients expect it, until interrupted."""
    import uvicorn

    from structgen.llm import LLM
    from structgen.server import create_app

    with (
        listen(host, port) as listener,
        LLM(model, call_format=call_format, **engine) as llm,
    ):
        app = create_app(llm, model_name=model_name)
        # All that is there by now stays: walking it took a full collection 90 ms, in the middle of everybody's answers.
        gc.collect()
        gc.freeze()
        place = f"[{host}]" if ":" in host else host
        typer.echo(f"{model_name or llm.name} at http://{place}:{listener.getsockname()[1]}/v1")
        uvicorn.Server(uvicorn.Config(app)).run(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """Open the port before the model is loaded, so that a port in use costs no wait.

    Raises
    ------
    InvalidRequest
        It cannot be opened.
    """
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise InvalidRequest(f"cannot listen on {host} port {port}: {error.strerror}; give another --port") from error
