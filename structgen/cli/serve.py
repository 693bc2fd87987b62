"""``structgen serve``: OpenAI's HTTP API over one model."""

from __future__ import annotations

import socket
from typing import Annotated

import typer

from structgen.engine.sources import DEFAULT_MODEL
from structgen.errors import InvalidRequest


def serve(
    model: Annotated[str, typer.Argument(help="Alias, path, or hf:org/name.")] = DEFAULT_MODEL,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    model_name: Annotated[
        str | None, typer.Option(help="What clients call the model; its own name if left out.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="What to compute in: float32 or bfloat16.")] = "float32",
    quantization: Annotated[
        str | None, typer.Option(help="Format of the weights: int8, w8a8, int4, fp32 or bf16; the dtype's if left out.")
    ] = None,
    max_num_seqs: Annotated[int, typer.Option(min=1, help="Answers computed at once; more wait their turn.")] = 16,
    max_model_len: Annotated[
        int | None, typer.Option(min=1, help="Tokens of prompt and answer together; the model's own if left out.")
    ] = None,
    max_num_batched_tokens: Annotated[int, typer.Option(min=1, help="Tokens that one step computes at most.")] = 512,
    block_size: Annotated[int, typer.Option(min=1, help="Tokens a page of the cache, a multiple of 16.")] = 16,
    kv_memory: Annotated[
        str | None, typer.Option(help="Memory for keys and values, such as 1GiB; a share of what is free if left out.")
    ] = None,
    kv_cache_dtype: Annotated[
        str, typer.Option(help="What keys and values are stored as: auto, float32, bfloat16 or int8.")
    ] = "auto",
    call_format: Annotated[str, typer.Option(help="How the model writes tool calls.")] = "hermes",
) -> None:
    """Serve a model at /v1/chat/completions, as OpenAI's clients expect it, until interrupted."""
    import uvicorn

    from structgen.llm import LLM
    from structgen.server import create_app

    with (
        listen(host, port) as listener,
        LLM(
            model,
            dtype=dtype,
            quantization=quantization,
            max_num_seqs=max_num_seqs,
            max_model_len=max_model_len,
            max_num_batched_tokens=max_num_batched_tokens,
            block_size=block_size,
            kv_memory=kv_memory,
            kv_cache_dtype=kv_cache_dtype,
            call_format=call_format,
        ) as llm,
    ):
        app = create_app(llm, model_name=model_name)
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
