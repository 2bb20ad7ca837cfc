"""The errors of the server, with the messages, reasons, causes and details of kube-apiserver.

Clients match on all of them, so every error is created here.
"""

from __future__ import annotations

from kinform.testing.api_errors._errors import (
    already_exists,
    bad_request,
    conflict,
    expired,
    failure_body,
    forbidden,
    forbidden_path,
    internal,
    invalid,
    json_type,
    method_not_allowed,
    modified,
    no_such_resource,
    not_acceptable,
    not_found,
    request_too_large,
    success_body,
    too_large,
    too_old,
    unauthorized,
    unprocessable,
    unsupported_body,
    unsupported_patch,
)
from kinform.testing.api_errors._field_problems import (
    FieldProblem,
    forbidden_value,
    required,
    unsupported_value,
    wrong_value,
)
from kinform.testing.api_errors._qualified_name import QualifiedName

__all__ = [
    "FieldProblem",
    "QualifiedName",
    "already_exists",
    "bad_request",
    "conflict",
    "expired",
    "failure_body",
    "forbidden",
    "forbidden_path",
    "forbidden_value",
    "internal",
    "invalid",
    "json_type",
    "method_not_allowed",
    "modified",
    "no_such_resource",
    "not_acceptable",
    "not_found",
    "request_too_large",
    "required",
    "success_body",
    "too_large",
    "too_old",
    "unauthorized",
    "unprocessable",
    "unsupported_body",
    "unsupported_patch",
    "unsupported_value",
    "wrong_value",
]
