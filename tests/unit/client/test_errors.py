"""Whatever a server refuses with, the right exception says so."""

from __future__ import annotations

import json
import time
from email.utils import formatdate

import pytest

from kinform import errors
from kinform.api import GVR
from kinform.client import Client
from kinform.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ResourceVersionTooLargeError,
    ServerError,
    ServerTimeoutError,
    TooManyRequestsError,
)
from tests.support.answers import Answer, event, json_answer, pod, status, text_answer, watch_answer
from tests.support.memory_transport import MemoryTransport

PODS = GVR("", "v1", "pods")
POD_PATH = "/api/v1/namespaces/home/pods/a"
LIST_PATH = "/api/v1/pods"


async def refusal(memory: MemoryTransport, client: Client, answer: Answer) -> ApiError:
    memory.on(POD_PATH, answer)
    with pytest.raises(ApiError) as caught:
        await client.get(PODS, "a", namespace="home")
    return caught.value


@pytest.mark.parametrize(
    ("code", "reason", "name"),
    [
        (400, "BadRequest", "BadRequestError"),
        (401, "Unauthorized", "UnauthorizedError"),
        (403, "Forbidden", "ForbiddenError"),
        (404, "NotFound", "NotFoundError"),
        (405, "MethodNotAllowed", "MethodNotAllowedError"),
        (406, "NotAcceptable", "NotAcceptableError"),
        (409, "Conflict", "ConflictError"),
        (409, "AlreadyExists", "AlreadyExistsError"),
        (410, "Expired", "ExpiredError"),
        (410, "Gone", "ExpiredError"),
        (413, "RequestEntityTooLarge", "ApiError"),
        (415, "UnsupportedMediaType", "UnsupportedMediaTypeError"),
        (422, "Invalid", "InvalidError"),
        (429, "TooManyRequests", "TooManyRequestsError"),
        (500, "InternalError", "ServerError"),
        (500, "StorageReadError", "ServerError"),
        (500, "ServerTimeout", "ServerTimeoutError"),
        (502, "", "ServerError"),
        (503, "ServiceUnavailable", "ServiceUnavailableError"),
        (504, "Timeout", "ServerTimeoutError"),
        (418, "", "ApiError"),
        (599, "", "ServerError"),
    ],
)
async def test_a_status_becomes_the_exception_of_its_reason(
    memory: MemoryTransport, client: Client, code: int, reason: str, name: str
) -> None:
    details = {"name": "a", "kind": "pods"}
    document = status(code, reason, "because", details=details)
    error = await refusal(memory, client, json_answer(document, code))
    assert type(error) is getattr(errors, name)
    assert (error.code, error.reason, error.message) == (code, reason, "because")
    assert error.details == details
    assert error.retry_after is None
    assert "because" in str(error)
    assert str(code) in str(error)


@pytest.mark.parametrize(
    "code", [400, 401, 403, 404, 405, 406, 409, 410, 415, 422, 429, 500, 502, 503, 504, 599]
)
async def test_an_empty_body_still_says_what_was_asked_and_what_came(
    memory: MemoryTransport, client: Client, code: int
) -> None:
    error = await refusal(memory, client, Answer(code))
    assert error.code == code
    assert error.reason == ""
    assert f"GET {POD_PATH}" in str(error)
    assert f"HTTP {code}" in str(error)


async def test_a_text_429_keeps_its_retry_after(memory: MemoryTransport, client: Client) -> None:
    answer = text_answer("Too many requests, please try again later.\n", 429, Retry_After="0")
    error = await refusal(memory, client, answer)
    assert type(error) is TooManyRequestsError
    assert error.retry_after == 0.0
    assert "Too many requests, please try again later." in error.message


async def test_an_html_502_is_told_by_its_title(memory: MemoryTransport, client: Client) -> None:
    page = "<html><head><title>502 Bad &amp; Gateway</title></head><body>nginx</body></html>"
    error = await refusal(memory, client, text_answer(page, 502, content_type="text/html"))
    assert type(error) is ServerError
    assert "an HTML page, not the API: 502 Bad & Gateway" in error.message
    assert "<" not in error.message


async def test_an_html_page_without_a_title_is_told_by_its_text(
    memory: MemoryTransport, client: Client
) -> None:
    page = "<html><style>p {color: red}</style><body><p>Please\n<b>log in</b></body></html>"
    error = await refusal(memory, client, text_answer(page, 403, content_type="TEXT/HTML"))
    assert type(error) is ForbiddenError
    assert error.message.endswith("an HTML page, not the API: Please log in")


async def test_a_page_of_open_tags_takes_no_long_time(
    memory: MemoryTransport, client: Client
) -> None:
    started = time.process_time()
    await refusal(memory, client, text_answer("<script" * 100_000, 502, content_type="text/html"))
    assert time.process_time() - started < 1.0


async def test_a_pretty_printed_403_to_a_watch_is_one_error(
    memory: MemoryTransport, client: Client
) -> None:
    document = status(403, "Forbidden", 'pods is forbidden: User "x" cannot watch')
    pretty = json.dumps(document, indent=2).encode()
    memory.on(LIST_PATH, Answer(403, pretty, {"Content-Type": "application/json"}))
    with pytest.raises(ForbiddenError, match="cannot watch") as caught:
        async with client.watch(PODS):
            pass
    assert caught.value.reason == "Forbidden"


async def test_json_that_is_no_status_is_quoted(memory: MemoryTransport, client: Client) -> None:
    error = await refusal(memory, client, json_answer({"error": "quota of the gateway"}, 429))
    assert type(error) is TooManyRequestsError
    assert "quota of the gateway" in error.message


async def test_a_status_without_kind_is_one_if_it_speaks_like_one(
    memory: MemoryTransport, client: Client
) -> None:
    error = await refusal(memory, client, json_answer({"message": "no", "code": 403}, 403))
    assert type(error) is ForbiddenError
    assert error.message == "no"


async def test_nulls_in_a_status_mean_absent(memory: MemoryTransport, client: Client) -> None:
    document = {"kind": "Status", "message": None, "reason": None, "details": None, "code": None}
    error = await refusal(memory, client, json_answer(document, 403))
    assert type(error) is ForbiddenError
    assert error.details == {}


async def test_a_refusal_too_large_to_read_is_a_refusal_all_the_same(
    memory: MemoryTransport, client: Client
) -> None:
    error = await refusal(memory, client, text_answer("x" * (2 << 20), 502))
    assert type(error) is ServerError
    assert isinstance(error.__cause__, errors.ResponseTooLargeError)


async def test_a_long_text_is_cut(memory: MemoryTransport, client: Client) -> None:
    error = await refusal(memory, client, text_answer("word " * 1000, 500))
    assert len(error.message) < 600


async def test_bytes_that_are_no_text_make_a_message_too(
    memory: MemoryTransport, client: Client
) -> None:
    error = await refusal(memory, client, Answer(500, b"\xff\xfe\x00", {}))
    assert error.code == 500


async def test_causes_of_an_invalid_object_are_listed(
    memory: MemoryTransport, client: Client
) -> None:
    causes = [
        {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.containers"},
        {"reason": "FieldValueInvalid", "message": "Invalid value", "field": "metadata.name"},
    ]
    document = status(422, "Invalid", details={"name": "a", "causes": causes})
    error = await refusal(memory, client, json_answer(document, 422))
    assert type(error) is InvalidError
    assert [cause["field"] for cause in error.causes] == ["spec.containers", "metadata.name"]


@pytest.mark.parametrize("causes", [5, "x", {"reason": "y"}, [1, "two", None], None])
async def test_nonsense_in_causes_does_no_harm(
    memory: MemoryTransport, client: Client, causes: object
) -> None:
    document = status(504, "Timeout", details={"causes": causes})
    error = await refusal(memory, client, json_answer(document, 504))
    assert type(error) is ServerTimeoutError
    assert error.causes == ()


@pytest.mark.parametrize(
    "document",
    [
        status(
            504,
            "Timeout",
            "Too large resource version: 99, current: 7",
            details={
                "causes": [
                    {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
                ]
            },
        ),
        status(504, "Timeout", "Too large resource version: 99, current: 7"),
    ],
    ids=["by its cause", "by its message"],
)
async def test_a_version_from_the_future_has_its_own_error(
    memory: MemoryTransport, client: Client, document: dict[str, object]
) -> None:
    error = await refusal(memory, client, json_answer(document, 504))
    assert type(error) is ResourceVersionTooLargeError


async def test_both_kinds_of_409_are_told_apart(memory: MemoryTransport, client: Client) -> None:
    taken = json_answer(status(409, "AlreadyExists", details={"name": "a"}), 409)
    changed = json_answer(status(409, "Conflict", details={"name": "a"}), 409)
    memory.on("/api/v1/namespaces/home/pods", taken, changed)
    with pytest.raises(AlreadyExistsError):
        await client.create(pod("a", namespace="home"))
    with pytest.raises(ConflictError):
        await client.create(pod("a", namespace="home"))


async def test_an_expired_token_brings_its_successor(
    memory: MemoryTransport, client: Client
) -> None:
    expired = status(410, "Expired", metadata={"continue": "fresh"})
    memory.on(LIST_PATH, json_answer(expired, 410))
    with pytest.raises(ExpiredError) as caught:
        await client.list(PODS, limit=2, continue_token="stale")
    assert caught.value.continue_token == "fresh"


async def test_an_expired_version_has_no_successor(memory: MemoryTransport, client: Client) -> None:
    error = await refusal(memory, client, json_answer(status(410, "Expired"), 410))
    assert isinstance(error, ExpiredError)
    assert error.continue_token == ""


@pytest.mark.parametrize(
    ("object", "kind"),
    [
        (status(410, "Expired", "too old resource version: 1 (442)"), ExpiredError),
        (status(410, "Gone", "too old"), ExpiredError),
        ({"code": 410, "message": "too old"}, ExpiredError),
        ({"reason": "Expired", "message": "too old"}, ExpiredError),
        (status(500, "InternalError", "etcd trouble"), ServerError),
        (status(500, "StorageReadError", "undecodable"), ServerError),
        (status(504, "Timeout", "Too large resource version"), ResourceVersionTooLargeError),
        (status(429, "TooManyRequests", details={"retryAfterSeconds": 7}), TooManyRequestsError),
        ({}, ServerError),
    ],
)
async def test_an_error_event_raises_what_its_status_means(
    memory: MemoryTransport, client: Client, object: dict[str, object], kind: type[ApiError]
) -> None:
    memory.on(LIST_PATH, watch_answer(event("ADDED", pod()), event("ERROR", object)))
    async with client.watch(PODS) as watch:
        assert (await anext(watch)).object.name == "a"
        with pytest.raises(kind) as caught:
            await anext(watch)
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (json_answer(status(403), 403, Retry_After="7"), 7.0),
        (json_answer(status(403), 403, Retry_After="0.5"), 0.5),
        (json_answer(status(403), 403, Retry_After="-3"), 0.0),
        (json_answer(status(403), 403, Retry_After="soon"), None),
        (json_answer(status(403), 403, Retry_After="inf"), None),
        (json_answer(status(403), 403, Retry_After="nan"), None),
        (json_answer(status(403), 403, Retry_After=""), None),
        (json_answer(status(403), 403, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"), 0.0),
        (json_answer(status(403), 403, Retry_After="Wed, 99 Oct 2015 07:28:00 GMT"), None),
        (json_answer(status(403, details={"retryAfterSeconds": 4}), 403), 4.0),
        (json_answer(status(403, details={"retryAfterSeconds": 0}), 403), None),
        (json_answer(status(403, details={"retryAfterSeconds": "4"}), 403), None),
        (json_answer(status(403, details={"retryAfterSeconds": 4}), 403, Retry_After="9"), 9.0),
    ],
)
async def test_retry_after_is_read_from_header_or_details(
    memory: MemoryTransport, client: Client, answer: Answer, seconds: float | None
) -> None:
    assert (await refusal(memory, client, answer)).retry_after == seconds


async def test_retry_after_may_be_a_date(memory: MemoryTransport, client: Client) -> None:
    later = formatdate(time.time() + 3600, usegmt=True)
    error = await refusal(memory, client, json_answer(status(403), 403, Retry_After=later))
    assert error.retry_after == pytest.approx(3600, abs=5)


async def test_a_missing_object_is_not_confused_with_a_missing_resource(
    memory: MemoryTransport, client: Client
) -> None:
    document = status(404, "NotFound", 'pods "a" not found', details={"name": "a", "kind": "pods"})
    error = await refusal(memory, client, json_answer(document, 404))
    assert type(error) is NotFoundError
    assert memory.requests_to("/api") == []
