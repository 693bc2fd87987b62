"""Every way in which a request can fail, as OpenAI's clients understand it.

A fault of the request is a 4xx with ``type: invalid_request_error``: clients do not send it again. Only what the server
did wrong is a 5xx.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from structgen import errors
from structgen.server.requests import ChatCompletionRequest
from structgen.server.responses import ErrorBody, ErrorDetails

__all__ = ["ApiError", "api_error", "install_error_handlers"]

_FIELD = re.compile(r"([a-z_]+(?:\[\d+\]|\.[a-z_]+)*): ")


class ApiError(Exception):
    """A failure with its HTTP status and OpenAI's fields.

    Parameters
    ----------
    status : int
        HTTP status.
    message : str
        What was wrong and what to do.
    param : str or None
        The field at fault.
    code : str or None
        A word for programs to look at.
    """

    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        kind: Literal["invalid_request_error", "server_error"]
        kind = "invalid_request_error" if status < 500 else "server_error"
        self.body = ErrorBody(error=ErrorDetails(message=message, type=kind, param=param, code=code))

    def response(self) -> JSONResponse:
        """The whole response."""
        return JSONResponse(self.body.model_dump(), status_code=self.status)


_CODES: dict[type[errors.StructgenError], tuple[int, str | None, str]] = {
    errors.PromptTooLong: (400, "messages", "context_length_exceeded"),
    errors.BudgetTooSmall: (400, "max_tokens", "budget_too_small"),
    errors.InvalidSchema: (400, None, "invalid_schema"),
    errors.UnsupportedSchema: (400, None, "unsupported_schema"),
    errors.UnsatisfiableSchema: (400, None, "unsatisfiable_schema"),
    errors.GrammarLimitExceeded: (400, None, "grammar_limit_exceeded"),
    errors.GrammarError: (400, None, "invalid_grammar"),
    errors.ToolError: (400, "tools", "invalid_tool"),
    errors.AnswerRefused: (422, "response_format", "answer_refused"),
    errors.EngineClosed: (503, None, "engine_closed"),
    errors.RequestError: (400, None, "invalid_value"),
}
"""Status, field and code of each kind of error; the first that fits counts. What is not here is our own fault."""


def api_error(error: errors.StructgenError, param: str | None = None) -> ApiError:
    """The failure that an error of structgen is to a client.

    Parameters
    ----------
    error : StructgenError
        Its message is shown to the client.
    param : str, optional
        The field at fault, where the caller knows it.
    """
    for kind, (status, field, code) in _CODES.items():
        if isinstance(error, kind):
            named = _named_field(str(error)) if isinstance(error, errors.InvalidRequest) else None
            return ApiError(status, str(error), param or field or named, code)
    return ApiError(500, str(error))


def install_error_handlers(app: FastAPI) -> None:
    """Give every error of ``app`` OpenAI's shape."""

    @app.exception_handler(ApiError)
    async def refused(request: Request, error: ApiError) -> JSONResponse:
        return error.response()

    @app.exception_handler(errors.StructgenError)
    async def failed(request: Request, error: errors.StructgenError) -> JSONResponse:
        return api_error(error).response()

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> JSONResponse:
        return _malformed(error).response()

    @app.exception_handler(HTTPException)
    async def no_such_route(request: Request, error: HTTPException) -> JSONResponse:
        return ApiError(error.status_code, f"{request.method} {request.url.path}: {error.detail}").response()

    @app.exception_handler(Exception)
    async def crashed(request: Request, error: Exception) -> JSONResponse:
        return ApiError(500, "the server failed; its log says why").response()  # the server logs the traceback

    del refused, failed, malformed, no_such_route, crashed  # the decorators have registered them


def _named_field(message: str) -> str | None:
    """The field that a message such as ``top_p: must be ...`` begins with."""
    found = _FIELD.match(message)
    return found.group(1) if found else None


def _malformed(error: RequestValidationError) -> ApiError:
    """The first thing that is wrong with a body."""
    first = cast("Mapping[str, Any]", error.errors()[0])
    location: Sequence[str | int] = first["loc"][1:]  # the first part says "body"
    if first["type"] == "json_invalid":
        message = f"the body is not JSON: {first['ctx']['error']} at character {location[0]}"
        return ApiError(400, message, None, "invalid_json")
    if isinstance(error.body, bytes):
        message = "the body must be a JSON object, sent with Content-Type: application/json"
        return ApiError(400, message, None, "invalid_json")
    place = _path(location, error.body, last_is_absent=first["type"] == "missing")
    if first["type"] == "extra_forbidden":
        return ApiError(400, _unknown_field(place, location), place, "unknown_parameter")
    if first["type"] == "missing":
        return ApiError(400, f"{place or 'body'}: required and missing", place or None, "missing_required_parameter")
    message = str(first["msg"]).removeprefix("Value error, ")
    if not place:
        return ApiError(400, message, _named_field(message), "invalid_value")
    return ApiError(400, f"{place}: {message}", place, "invalid_value")


def _unknown_field(place: str, location: Sequence[str | int]) -> str:
    message = f"{place}: unknown field; this server has no such parameter and ignores none"
    if len(location) > 1:
        return message
    near = difflib.get_close_matches(str(location[0]), ChatCompletionRequest.model_fields, n=1)
    return f"{message}; did you mean {near[0]!r}?" if near else message


def _path(location: Sequence[str | int], body: object, *, last_is_absent: bool) -> str:
    """A location in the body as ``messages[0].role``; pydantic's names for members of unions are left out."""
    path = ""
    node = body
    for depth, part in enumerate(location):
        is_there = part in node if isinstance(node, dict) else isinstance(node, list) and isinstance(part, int)
        if is_there:
            node = cast("Any", node)[part]
        elif not last_is_absent or depth < len(location) - 1:
            continue
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path
