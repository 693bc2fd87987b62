"""A real server over a real model on a free port of this machine."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import openai
import uvicorn
from fastapi import FastAPI

from structgen import LLM
from structgen.server import create_app


@contextlib.contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """Run the application as it is run for users, on a free port of this machine; the address comes back."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive()
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextlib.contextmanager
def client_of(llm: LLM, **options: str) -> Iterator[openai.OpenAI]:
    """OpenAI's own client of a server over ``llm``."""
    with (
        serving(create_app(llm, **options)) as address,
        openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client,
    ):
        yield client
