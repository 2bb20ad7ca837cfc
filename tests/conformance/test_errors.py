"""Requests that make no sense: unknown paths, wrong verbs, unreadable bodies."""

from __future__ import annotations

import pytest

from tests.conformance.harness import (
    IN_BOTH_FORMS,
    JSON,
    Server,
    assert_refused,
)
from tests.conformance.samples import GROUP, config_map

pytestmark = IN_BOTH_FORMS

NO_RESOURCE = "the server could not find the requested resource"
NO_METHOD = "the server does not allow this method on the requested resource"


@pytest.mark.parametrize(
    "path",
    [
        "/not-there",
        "/apis/not.there",
        "/apis/not.there/v1/things",
        f"/apis/{GROUP}/v9/widgets",
        "/healthz/not-there",
    ],
)
async def test_an_unknown_path_is_not_found_in_plain_text(
    server: Server, widgets: str, path: str
) -> None:
    answer = await server.get(path)

    assert answer.status == 404
    assert answer.body == b"404 page not found\n"
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/things",
        "/api/v1/namespaces/default/things",
        "/apis/apps/v1/things",
        "/apis/apps/v9",
        "/api/v9",
        "/api/v1/namespaces/default/configmaps/one/things",
        "/api/v1/configmaps/one",
    ],
)
async def test_an_unknown_resource_of_a_known_group_is_not_found(server: Server, path: str) -> None:
    assert_refused(await server.get(path), 404, "NotFound", NO_RESOURCE, details={})


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/api/v1/namespaces/default/configmaps"),
        ("PATCH", "/api/v1/namespaces/default/configmaps"),
        ("POST", "/api/v1/namespaces/default/configmaps/one"),
        ("POST", "/api/v1/configmaps"),
        ("OPTIONS", "/api/v1/namespaces/default/configmaps"),
        ("POST", "/apis/apps/v1"),
    ],
)
async def test_a_verb_that_a_path_lacks_is_not_allowed(
    server: Server, method: str, path: str
) -> None:
    answer = await server.request(method, path, config_map("one"))

    assert_refused(answer, 405, "MethodNotAllowed", NO_METHOD, details={})


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize("body", [b'{"cut', b"[]", b"nonsense", b'"text"'])
async def test_an_unreadable_body_is_a_bad_request(
    server: Server, configmaps: str, method: str, body: bytes
) -> None:
    await server.create(configmaps, config_map("one"))
    path = configmaps if method == "POST" else f"{configmaps}/one"

    status = assert_refused(await server.request(method, path, body), 400, "BadRequest")

    assert "details" not in status


async def test_no_body_at_all_is_a_bad_request(server: Server, configmaps: str) -> None:
    assert_refused(await server.request("POST", configmaps, b""), 400, "BadRequest")


async def test_a_field_of_the_wrong_type_is_a_bad_request(server: Server, configmaps: str) -> None:
    answer = await server.post(configmaps, {"metadata": {"name": "one", "labels": ["a"]}})

    assert_refused(answer, 400, "BadRequest")


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_a_body_in_another_format_is_an_unsupported_media_type(
    server: Server, configmaps: str, method: str
) -> None:
    path = configmaps if method == "POST" else f"{configmaps}/one"

    answer = await server.request(method, path, config_map("one"), content_type="text/plain")

    status = assert_refused(answer, 415, "UnsupportedMediaType")
    said = "the body of the request was in an unknown format - accepted media types include: "
    assert status["message"].startswith(said + "application/json")


async def test_every_answer_can_be_told_from_the_others(server: Server, configmaps: str) -> None:
    answers = [await server.get(configmaps), await server.get(f"{configmaps}/nope")]

    assert len({answer.headers["Audit-Id"] for answer in answers}) == 2
    assert {answer.headers["Cache-Control"] for answer in answers} == {"no-cache, private"}


async def test_pretty_answers_are_for_human_eyes(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one"))

    terse = await server.get(f"{configmaps}/one", accept=JSON)
    pretty = await server.get(f"{configmaps}/one", accept=JSON, pretty="true")

    assert terse.body.count(b"\n") == 1
    assert pretty.body.startswith(b'{\n  "kind": "ConfigMap",\n  "apiVersion": "v1",\n')
    assert pretty.object() == created
