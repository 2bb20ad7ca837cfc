"""Creates the errors of the server, as exceptions and as Status bodies.

All errors are created here, with the message, reason, causes and details of kube-apiserver,
because clients match on all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kinform.errors import (
    AlreadyExistsError,
    ApiError,
    BadRequestError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    MethodNotAllowedError,
    NotAcceptableError,
    NotFoundError,
    ResourceVersionTooLargeError,
    ServerError,
    UnauthorizedError,
    UnsupportedMediaTypeError,
)
from kinform.testing.api_errors._field_problems import FieldProblem
from kinform.testing.api_errors._qualified_name import QualifiedName

# kube-apiserver omits `details` for these; all others have it, even if it is empty.
_WITHOUT_DETAILS = frozenset({400, 401, 410, 500})
_EXPIRED = {
    "list": "The resourceVersion for the provided list is too old.",
    "watch": "The resourceVersion for the provided watch is too old.",
    "continue": (
        "The provided continue parameter is too old to display a consistent list result. "
        "You can start a new list without the continue parameter, or use the continue token in "
        "this response to retrieve the remainder of the results. Continuing with the provided "
        "token results in an inconsistent list - objects that were created, modified, or deleted "
        "between the time the first chunk was returned and now may show up in the list."
    ),
}


def invalid(kind: QualifiedName, name: str, problems: Iterable[FieldProblem]) -> InvalidError:
    found = list(problems)
    texts = [str(problem) for problem in found]
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = kind.details(name)
    details["causes"] = [problem.as_cause() for problem in found]
    message = f'{kind} "{name}" is invalid: {listed}'
    return InvalidError(message, code=422, reason="Invalid", details=details)


def unprocessable() -> InvalidError:
    """Return the error for a JSON patch that does not apply."""
    message = "the server rejected our request due to an error in our request"
    return InvalidError(message, code=422, reason="Invalid")


def bad_request(message: str) -> BadRequestError:
    return BadRequestError(message, code=400, reason="BadRequest")


def unauthorized() -> UnauthorizedError:
    return UnauthorizedError("Unauthorized", code=401, reason="Unauthorized")


def forbidden(
    resource: QualifiedName, name: str, why: str, *, causes: Iterable[Mapping[str, str]] = ()
) -> ForbiddenError:
    details = resource.details(name)
    if found := [dict(cause) for cause in causes]:
        details["causes"] = found
    message = (
        f'{resource} "{name}" is forbidden: {why}' if name else f"{resource} is forbidden: {why}"
    )
    return ForbiddenError(message, code=403, reason="Forbidden", details=details)


def forbidden_path(user: str, verb: str, path: str) -> ForbiddenError:
    message = f'forbidden: User "{user}" cannot {verb} path "{path}"'
    return ForbiddenError(message, code=403, reason="Forbidden")


def not_found(resource: QualifiedName, name: str) -> NotFoundError:
    message = f'{resource} "{name}" not found'
    return NotFoundError(message, code=404, reason="NotFound", details=resource.details(name))


def no_such_resource() -> NotFoundError:
    message = "the server could not find the requested resource"
    return NotFoundError(message, code=404, reason="NotFound")


def method_not_allowed() -> MethodNotAllowedError:
    message = "the server does not allow this method on the requested resource"
    return MethodNotAllowedError(message, code=405, reason="MethodNotAllowed")


def not_acceptable(message: str) -> NotAcceptableError:
    return NotAcceptableError(message, code=406, reason="NotAcceptable")


def already_exists(resource: QualifiedName, name: str) -> AlreadyExistsError:
    message = f'{resource} "{name}" already exists'
    details = resource.details(name)
    return AlreadyExistsError(message, code=409, reason="AlreadyExists", details=details)


def conflict(resource: QualifiedName, name: str, why: str) -> ConflictError:
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return ConflictError(message, code=409, reason="Conflict", details=resource.details(name))


def modified(resource: QualifiedName, name: str) -> ConflictError:
    why = (
        "the object has been modified; please apply your changes to the latest version "
        "and try again"
    )
    return conflict(resource, name, why)


def expired(what: str, *, continue_token: str = "") -> ExpiredError:
    """``what`` is ``list``, ``watch`` or ``continue``; the last has a token for the rest."""
    metadata = {"continue": continue_token} if continue_token else {}
    return ExpiredError(_EXPIRED[what], code=410, reason="Expired", metadata=metadata)


def too_old(asked: int, oldest: int) -> ExpiredError:
    message = f"too old resource version: {asked} ({oldest})"
    return ExpiredError(message, code=410, reason="Expired")


def too_large(asked: int, current: int) -> ResourceVersionTooLargeError:
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return ResourceVersionTooLargeError(
        f"Timeout: Too large resource version: {asked}, current: {current}",
        code=504,
        reason="Timeout",
        details={"causes": [cause], "retryAfterSeconds": 1},
        retry_after=1.0,
    )


def unsupported_body(accepted: Iterable[str]) -> UnsupportedMediaTypeError:
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(accepted)
    )
    return UnsupportedMediaTypeError(message, code=415, reason="UnsupportedMediaType")


def unsupported_patch() -> UnsupportedMediaTypeError:
    message = "415: Unsupported Media Type"
    return UnsupportedMediaTypeError(message, code=415, reason="UnsupportedMediaType")


def request_too_large(limit: int) -> ApiError:
    message = f"Request entity too large: limit is {limit}"
    return ApiError(message, code=413, reason="RequestEntityTooLarge")


def internal(message: str, *, reason: str = "") -> ServerError:
    """Return a 500, for client errors on which kube-apiserver also fails."""
    return ServerError(message, code=500, reason=reason)


def json_type(value: object) -> str:
    """Return the name of a JSON type in the server's messages."""
    if isinstance(value, bool):
        return "bool"
    names: list[tuple[type, str]] = [
        (dict, "object"),
        (list, "array"),
        (str, "string"),
        (int, "number"),
        (float, "number"),
    ]
    return next((name for kind, name in names if isinstance(value, kind)), "null")


def failure_body(error: ApiError) -> bytes:
    """Return the Status of an error as JSON, without a newline."""
    body: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": dict(error.metadata),
        "status": "Failure",
        "message": error.message,
    }
    if error.reason:
        body["reason"] = error.reason
    if error.details or error.code not in _WITHOUT_DETAILS:
        body["details"] = dict(error.details)
    body["code"] = error.code
    return msgspec.json.encode(body)


def success_body(resource: QualifiedName, name: str, uid: str) -> bytes:
    """Return the Status of a successful deletion as JSON, without a newline."""
    details = resource.details(name)
    if uid:
        details["uid"] = uid
    return msgspec.json.encode(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": details,
        }
    )
