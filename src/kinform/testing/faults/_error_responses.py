"""Error responses of a server, or of a proxy in front of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinform.errors import ApiError, BadRequestError
from kinform.testing import api_errors
from kinform.testing.faults._fault import (
    ENCODINGS,
    LIST,
    WATCH,
    Fault,
    Hooks,
    starts_with_initial_events,
)
from kinform.testing.interception import Call, Sink
from kinform.testing.requests import decode_token, encode_token

# In a continue token, as the server writes it: continue with the latest version.
_NEWEST = -1
_TEXT = {"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"}


def answer(
    code: int,
    body: bytes = b"",
    *,
    headers: Mapping[str, str] | None = None,
    close: bool = False,
    name: str = "",
) -> Fault:
    """Send any response. ``close`` adds ``Connection: close`` and closes the connection."""
    head = {**(headers or {}), **({"Connection": "close"} if close else {})}

    async def send(call: Call, sink: Sink) -> bool:
        await _send(sink, code, head, body)
        if close:
            sink.cut()
        return True

    return Fault(name or f"answer {code}", lambda call, hits: Hooks(before=send), answers=True)


async def _send(sink: Sink, code: int, headers: Mapping[str, str], body: bytes) -> None:
    await sink.start(code, {**headers, "Content-Length": str(len(body))})
    await sink.write(body)
    await sink.finish()


def status(
    code: int,
    reason: str = "",
    message: str = "refused by an injected fault",
    *,
    details: Mapping[str, Any] | None = None,
    retry_after: int | None = None,
    pretty: bool = False,
) -> Fault:
    """Send any ``Status``, in the format that the client requested.

    ``retry_after`` is set in the header and in the details.
    ``pretty`` formats JSON over several lines, as the server does for browsers and curl.
    """
    error = ApiError(message, code=code, reason=reason, details=details, retry_after=retry_after)
    return _refusal(error, name=f"status {code}", pretty=pretty)


def _refusal(error: ApiError, *, name: str, pretty: bool = False) -> Fault:
    headers = {"Cache-Control": "no-cache, private"}
    if error.retry_after is not None:
        seconds = int(error.retry_after)
        headers["Retry-After"] = str(seconds)
        error.details = {**error.details, "retryAfterSeconds": seconds}
    body = api_errors.failure_body(error)

    async def send(call: Call, sink: Sink) -> bool:
        encoding = ENCODINGS.errors(call.headers.get("Accept", ""), pretty=pretty)
        head = {"Content-Type": encoding.content_type, **headers}
        await _send(sink, error.code, head, encoding.body(body))
        return True

    return Fault(name, lambda call, hits: Hooks(before=send), answers=True)


def unauthorized() -> Fault:
    """401: the token is no longer valid."""
    return _refusal(api_errors.unauthorized(), name="unauthorized")


def forbidden(*, pretty: bool = False) -> Fault:
    """403; ``pretty`` formats it over several lines, as the server does for browsers and curl."""
    error = ApiError("forbidden: no role allows this", code=403, reason="Forbidden")
    return _refusal(error, name="forbidden", pretty=pretty)


def not_found() -> Fault:
    """404 for the whole resource, as after its CRD was deleted."""
    return _refusal(api_errors.no_such_resource(), name="not found")


def method_not_allowed() -> Fault:
    """405: the resource does not have this verb."""
    return _refusal(api_errors.method_not_allowed(), name="method not allowed")


def not_acceptable() -> Fault:
    """406: the server supports none of the requested formats."""
    message = "only the following media types are accepted: application/json"
    return _refusal(api_errors.not_acceptable(message), name="not acceptable")


def initial_events_unsupported(code: int = 422) -> Fault:
    """400 or 422 to a watch with ``sendInitialEvents``: a server without WatchList."""
    field = "sendInitialEvents"
    if code == 422:
        problem = api_errors.forbidden_value(field, "the server does not stream lists")
        kind = api_errors.QualifiedName("meta.k8s.io", "ListOptions")
        refusal = _refusal(api_errors.invalid(kind, "", [problem]), name="")
    else:
        refusal = status(code, "BadRequest", f"unknown parameter {field}")
    return Fault(
        "initial events unsupported",
        refusal.hooks,
        verbs=WATCH,
        answers=True,
        applies_to=starts_with_initial_events,
    )


def expired() -> Fault:
    """410 as the response: the resource version is no longer available."""
    return _refusal(api_errors.too_old(1, 2), name="expired")


def expired_page() -> Fault:
    """410 to a page after the first, with a new token for the inconsistent rest of the list."""

    def hooks(call: Call, hits: int) -> Hooks:
        _, start = decode_token(call.query["continue"])
        error = api_errors.expired("continue", continue_token=encode_token(_NEWEST, start))
        return _refusal(error, name="").hooks(call, hits)

    return Fault(
        "expired page",
        hooks,
        verbs=LIST,
        answers=True,
        applies_to=_continues,
    )


def _continues(call: Call) -> bool:
    """Whether the call requests a page after the first, with a token that is valid."""
    try:
        decode_token(call.query.get("continue", ""))
    except BadRequestError:
        return False
    return True


def too_large_resource_version() -> Fault:
    """504: the server has not reached the resource version yet. Ends with the fault."""
    return _refusal(api_errors.too_large(2, 1), name="too large resource version")


def overloaded() -> Fault:
    """429 in plain text with Retry-After 1, as from the server's flow control."""
    body = b"Too many requests, please try again later.\n"
    return answer(429, body, headers={**_TEXT, "Retry-After": "1"}, name="overloaded")


def cache_not_ready() -> Fault:
    """429 as a ``Status`` with an increasing Retry-After: 1, 2, 4, … 30 seconds."""

    def hooks(call: Call, hits: int) -> Hooks:
        message = "storage is (re)initializing"
        seconds = min(30, 2**hits)
        return status(429, "TooManyRequests", message, retry_after=seconds).hooks(call, hits)

    return Fault("cache not ready", hooks, answers=True)


def shutting_down() -> Fault:
    """429 in plain text with Retry-After 5 and a closed connection: the server shuts down."""
    body = b"The apiserver is shutting down, please try again later.\n"
    headers = {**_TEXT, "Retry-After": "5"}
    return answer(429, body, headers=headers, close=True, name="shutting down")


def unavailable() -> Fault:
    """503 as a ``Status`` with Retry-After 1: the server shuts down or is not ready yet."""
    message = "apiserver is shutting down"
    error = ApiError(message, code=503, reason="ServiceUnavailable", retry_after=1)
    return _refusal(error, name="unavailable")


def bad_gateway() -> Fault:
    """502 as an HTML page: a proxy without its backend."""
    page = b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body></body>\r\n</html>\r\n"
    return answer(502, page, headers={"Content-Type": "text/html"}, name="bad gateway")


def empty_answer(code: int = 500) -> Fault:
    """A status code without a body."""
    return answer(code, name="empty answer")
