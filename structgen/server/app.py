"""The HTTP application: OpenAI's chat completions over one model of this process."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from anyio.to_thread import run_sync
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import StreamingResponse

from structgen._version import __version__
from structgen.errors import StructgenError
from structgen.llm import LLM
from structgen.server.completions import Reply
from structgen.server.errors import ApiError, api_error, install_error_handlers
from structgen.server.planning import plan_completion
from structgen.server.requests import ChatCompletionRequest
from structgen.server.responses import ChatCompletionChunk, Model, ModelList
from structgen.server.running import run_turns
from structgen.server.turns import Turn, start_turns

__all__ = ["create_app"]


def create_app(llm: LLM, *, model_name: str | None = None) -> FastAPI:
    """Make the application.

    Routes: ``POST /v1/chat/completions``, ``GET /v1/models``, ``GET /v1/models/{model}``, ``GET /health``.

    Parameters
    ----------
    llm : LLM
        The model. The application does not close it.
    model_name : str, optional
        What clients call it; ``llm.name`` if left out.
    """
    app = FastAPI(title="structgen", version=__version__)
    install_error_handlers(app)
    app.include_router(_Routes(llm, model_name or llm.name).router)
    return app


class _Routes:
    """The routes over one model."""

    def __init__(self, llm: LLM, model_name: str) -> None:
        self._llm = llm
        self._model = Model(id=model_name, created=int(time.time()))
        self.router = APIRouter()
        self.router.get("/health")(self.health)
        self.router.get("/v1/models")(self.models)
        self.router.get("/v1/models/{model:path}")(self.model)
        self.router.post("/v1/chat/completions")(self.chat_completions)

    async def health(self) -> dict[str, str]:
        """Say that the server serves."""
        return {"status": "ok"}

    async def models(self) -> ModelList:
        """List the one model."""
        return ModelList(data=[self._model])

    async def model(self, model: str) -> Model:
        """Describe the model."""
        self._check_model(model)
        return self._model

    async def chat_completions(self, body: ChatCompletionRequest, request: Request) -> Response:
        """Answer a conversation."""
        self._check_model(body.model)
        turns, prompt_tokens = await run_sync(self._begin, body)
        events = run_turns(turns, request)
        reply = Reply(self._llm, body, prompt_tokens)
        if body.stream:
            return StreamingResponse(_server_sent(reply.chunks(events)), media_type="text/event-stream")
        completion = await reply.whole(events)
        return Response(completion.model_dump_json(), media_type="application/json")

    def _check_model(self, name: str) -> None:
        if name != self._model.id:
            message = f"model: there is no {name!r} here; this server runs {self._model.id!r}"
            raise ApiError(404, message, "model", "model_not_found")

    def _begin(self, body: ChatCompletionRequest) -> tuple[list[Turn], int]:
        """Plan and start the answers: everything that can be wrong with a request is raised here."""
        plan = plan_completion(self._llm, body)
        return start_turns(self._llm, plan, body.n), len(plan.prompt_token_ids)


async def _server_sent(chunks: AsyncIterator[ChatCompletionChunk]) -> AsyncIterator[str]:
    """Chunks as server-sent events, ``[DONE]`` after the last; a failure on the way is an event too."""
    try:
        async for chunk in chunks:
            yield f"data: {chunk.model_dump_json()}\n\n"
    except StructgenError as error:
        yield f"data: {api_error(error).body.model_dump_json()}\n\n"
    yield "data: [DONE]\n\n"
