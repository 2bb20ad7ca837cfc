"""Converts error responses of a server to exceptions, whatever their body contains."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from kinform.client._json_decoding import decode
from kinform.errors import (
    AlreadyExistsError,
    ApiError,
    BadRequestError,
    ConflictError,
    DecodeError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    MethodNotAllowedError,
    NotAcceptableError,
    NotFoundError,
    ResourceVersionTooLargeError,
    ServerError,
    ServerTimeoutError,
    ServiceUnavailableError,
    TooManyRequestsError,
    UnauthorizedError,
    UnsupportedMediaTypeError,
)

_BY_REASON: dict[str, type[ApiError]] = {
    "AlreadyExists": AlreadyExistsError,
    "BadRequest": BadRequestError,
    "Conflict": ConflictError,
    "Expired": ExpiredError,
    "Forbidden": ForbiddenError,
    "Gone": ExpiredError,
    "Invalid": InvalidError,
    "MethodNotAllowed": MethodNotAllowedError,
    "NotAcceptable": NotAcceptableError,
    "NotFound": NotFoundError,
    "ServerTimeout": ServerTimeoutError,
    "ServiceUnavailable": ServiceUnavailableError,
    "Timeout": ServerTimeoutError,
    "TooManyRequests": TooManyRequestsError,
    "Unauthorized": UnauthorizedError,
    "UnsupportedMediaType": UnsupportedMediaTypeError,
}

_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    405: MethodNotAllowedError,
    406: NotAcceptableError,
    409: ConflictError,
    410: ExpiredError,
    415: UnsupportedMediaTypeError,
    422: InvalidError,
    429: TooManyRequestsError,
    503: ServiceUnavailableError,
    504: ServerTimeoutError,
}

_TOO_LARGE = "Too large resource version"

_LONGEST_MESSAGE = 500
# In characters. The longest valid form is a date of 29.
_LONGEST_RETRY_AFTER = 64
# Enough for a title and the first lines of an HTML page.
_LONGEST_PAGE = 8192


class Status(msgspec.Struct, gc=False, rename="camel"):
    """The ``Status`` object of the API.

    ``kind`` may be missing inside a stream, and some servers send null: missing, empty and null
    are equivalent here.
    """

    kind: str | None = None
    status: str | None = None
    message: str | None = None
    reason: str | None = None
    code: int | None = None
    details: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


_decoder = msgspec.json.Decoder(Status)


def read_status(body: bytes) -> Status:
    """Decode a Status.

    Raises:
        DecodeError: The body is not a Status.
    """
    return decode(_decoder, body, problem="not a Status")


def error_from_response(what: str, code: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """Return the exception for an error response to ``what``, such as ``GET /version``."""
    retry_after = parse_retry_after(headers.get("Retry-After"))
    try:
        status = _read_any(headers.get("Content-Type", ""), body)
    except DecodeError:
        status = Status()
    if status.kind == "Status" or (status.message and status.code):
        error = error_from_status(status, code=code, retry_after=retry_after)
        if isinstance(error, UnauthorizedError):
            error.request = what
        return error
    text = _readable(headers.get("Content-Type", ""), body)
    message = f"{what}: {text}" if text else f"{what}: {_phrase(code)}, with an empty body"
    return _error_class(code, "", message, {})(message, code=code, retry_after=retry_after)


def _read_any(content_type: str, body: bytes) -> Status:
    """Decode a Status in JSON or protobuf: servers use the requested format for errors too."""
    from kinform.client._wire import PROTOBUF, wire_for  # avoids an import cycle

    if PROTOBUF in content_type:
        return wire_for(content_type, what="the refusal").read_status(body)
    return read_status(body)


def error_from_status(
    status: Status, *, code: int = 0, retry_after: float | None = None
) -> ApiError:
    """Return the exception for a Status, from a response or from a watch."""
    code = _plausible(status.code) or code or 500
    reason = status.reason or ""
    details = status.details or {}
    message = status.message or _phrase(code)
    if retry_after is None:
        retry_after = _seconds(details.get("retryAfterSeconds")) or None
    return _error_class(code, reason, message, details)(
        message,
        code=code,
        reason=reason,
        details=details,
        retry_after=retry_after,
        metadata=status.metadata,
    )


def _plausible(code: int | None) -> int:
    """Return a status code; 0 if it is missing, or not one of HTTP."""
    return code if code is not None and 100 <= code <= 999 else 0


def parse_retry_after(value: str | None) -> float | None:
    """Return the seconds of a ``Retry-After`` header, a number or a date; ``None`` if invalid."""
    if not value or len(value) > _LONGEST_RETRY_AFTER:
        return None
    try:
        return _seconds(float(value))
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime

    try:
        return _seconds(parsedate_to_datetime(value).timestamp() - time.time())
    except Exception:  # of several kinds, since the date comes from the server
        return None


def _seconds(value: object) -> float | None:
    """Return a delay: 0 if negative, ``None`` if not a finite number."""
    if not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:  # JSON integers have any number of digits
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _error_class(
    code: int, reason: str, message: str, details: Mapping[str, Any]
) -> type[ApiError]:
    found = _BY_REASON.get(reason) or _BY_CODE.get(code)
    if found is None:
        return ServerError if code >= 500 else ApiError
    if found is ServerTimeoutError and _is_version_too_large(message, details):
        return ResourceVersionTooLargeError
    return found


def _is_version_too_large(message: str, details: Mapping[str, Any]) -> bool:
    causes = details.get("causes")
    for cause in causes if isinstance(causes, list) else ():
        if isinstance(cause, Mapping) and (
            cause.get("reason") == "ResourceVersionTooLarge"
            or cause.get("message") == _TOO_LARGE  # before 1.18, causes had no reason
        ):
            return True
    # Before 1.16, there were no causes.
    return _TOO_LARGE in message


def _readable(content_type: str, body: bytes) -> str:
    """Return the readable text of a body that is not a Status, in one line."""
    text = body[:_LONGEST_PAGE].decode("utf-8", "replace")
    if "html" in content_type.lower() or text.lstrip()[:1] == "<":
        import html

        title = re.search(r"<title[^>]*>(.{0,500}?)</title>", text, re.IGNORECASE | re.DOTALL)
        without_code = re.sub(
            r"<(script|style)\b.*?(</\1\s*>|$)", " ", text, flags=re.IGNORECASE | re.DOTALL
        )
        text = html.unescape(title[1] if title else re.sub(r"<[^<>]+>", " ", without_code))
        text = f"an HTML page, not the API: {' '.join(text.split())}"
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_MESSAGE else line[:_LONGEST_MESSAGE] + "…"


def _phrase(code: int) -> str:
    from http import HTTPStatus

    try:
        return f"HTTP {code} {HTTPStatus(code).phrase}"
    except ValueError:
        return f"HTTP {code}"
