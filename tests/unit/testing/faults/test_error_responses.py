"""Each refusal as a client meets it on the wire."""

from __future__ import annotations

import json

import pytest

from kinform.testing import ApiServer, faults
from tests.support import raw_http

PODS = "/api/v1/namespaces/default/pods"
WATCH = f"{PODS}?watch=true"


@pytest.mark.parametrize(
    ("fault", "code", "reason"),
    [
        (faults.unauthorized(), 401, "Unauthorized"),
        (faults.forbidden(), 403, "Forbidden"),
        (faults.not_found(), 404, "NotFound"),
        (faults.method_not_allowed(), 405, "MethodNotAllowed"),
        (faults.not_acceptable(), 406, "NotAcceptable"),
        (faults.expired(), 410, "Expired"),
        (faults.unavailable(), 503, "ServiceUnavailable"),
        (faults.status(418, "Teapot"), 418, "Teapot"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
async def test_a_refusal_is_a_status_with_its_code_and_reason(
    kinform_api: ApiServer, fault: faults.Fault, code: int, reason: str
) -> None:
    kinform_api.faults.inject(fault, verb="list", resource="pods")

    answer = await raw_http.ask(kinform_api.url, PODS)

    assert answer.status == code
    assert answer.headers["content-type"] == "application/json"
    status = answer.json()
    assert (status["kind"], status["code"], status["reason"]) == ("Status", code, reason)
    assert status["status"] == "Failure"
    assert (await raw_http.ask(kinform_api.url, PODS)).status == 200


async def test_a_pretty_printed_403_to_a_watch_spreads_over_many_lines(
    kinform_api: ApiServer,
) -> None:
    kinform_api.faults.inject(faults.forbidden(pretty=True), verb="watch")

    answer = await raw_http.ask(kinform_api.url, WATCH)

    assert answer.status == 403
    assert len(answer.body.splitlines()) > 5
    assert answer.json()["reason"] == "Forbidden"


async def test_the_flow_control_429_is_plain_text_with_a_retry_after_header(
    kinform_api: ApiServer,
) -> None:
    kinform_api.faults.inject(faults.overloaded(), verb="watch")

    answer = await raw_http.ask(kinform_api.url, WATCH)

    assert answer.status == 429
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["retry-after"] == "1"
    with pytest.raises(json.JSONDecodeError):
        answer.json()


async def test_a_cache_that_is_not_ready_asks_for_more_patience_each_time(
    kinform_api: ApiServer,
) -> None:
    kinform_api.faults.inject(faults.cache_not_ready(), verb="list", times=7)

    answers = [await raw_http.ask(kinform_api.url, PODS) for _ in range(8)]

    assert [answer.status for answer in answers] == [429] * 7 + [200]
    asked = [answer.json()["details"]["retryAfterSeconds"] for answer in answers[:7]]
    assert asked == [1, 2, 4, 8, 16, 30, 30]
    assert [answer.headers["retry-after"] for answer in answers[:7]] == [str(s) for s in asked]


async def test_a_server_that_shuts_down_says_so_in_text_and_closes_the_connection(
    kinform_api: ApiServer,
) -> None:
    kinform_api.faults.inject(faults.shutting_down(), verb="list")

    async with raw_http.open_answer(kinform_api.url, PODS) as answer:
        body, end = await answer.read()

        assert (answer.status, end) == (429, raw_http.COMPLETE)
        assert answer.headers["retry-after"] == "5"
        assert answer.headers["connection"] == "close"
        assert b"shutting down" in body
        assert await answer.connection_closes()


async def test_an_unavailable_server_says_when_to_come_back_in_header_and_details(
    kinform_api: ApiServer,
) -> None:
    kinform_api.faults.inject(faults.unavailable(), verb="list")

    answer = await raw_http.ask(kinform_api.url, PODS)

    assert answer.headers["retry-after"] == "1"
    assert answer.json()["details"]["retryAfterSeconds"] == 1


async def test_a_bad_gateway_is_a_page_of_html(kinform_api: ApiServer) -> None:
    kinform_api.faults.inject(faults.bad_gateway(), verb="list")

    answer = await raw_http.ask(kinform_api.url, PODS)

    assert answer.status == 502
    assert answer.headers["content-type"] == "text/html"
    assert answer.body.startswith(b"<html>")


async def test_an_empty_answer_has_no_body_at_all(kinform_api: ApiServer) -> None:
    kinform_api.faults.inject(faults.empty_answer(503), verb="list")

    answer = await raw_http.ask(kinform_api.url, PODS)

    assert (answer.status, answer.body, answer.end) == (503, b"", raw_http.COMPLETE)


@pytest.mark.parametrize(("code", "reason"), [(400, "BadRequest"), (422, "Invalid")])
async def test_a_server_without_watch_list_refuses_only_watches_that_ask_for_it(
    kinform_api: ApiServer, code: int, reason: str
) -> None:
    injection = kinform_api.faults.inject(faults.initial_events_unsupported(code), times=None)
    streaming = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

    refused = await raw_http.ask(kinform_api.url, f"{WATCH}&{streaming}")
    async with raw_http.open_answer(kinform_api.url, f"{WATCH}&resourceVersion=0") as plain:
        assert plain.status == 200

    assert (refused.status, refused.json()["reason"]) == (code, reason)
    assert "sendInitialEvents" in refused.json()["message"]
    assert injection.hits == 1


async def test_a_resource_version_that_is_too_large_is_served_once_the_server_has_healed(
    kinform_api: ApiServer,
) -> None:
    kinform_api.faults.inject(faults.too_large_resource_version(), verb="list", times=2)

    answers = [await raw_http.ask(kinform_api.url, PODS) for _ in range(3)]

    assert [answer.status for answer in answers] == [504, 504, 200]
    details = answers[0].json()["details"]
    assert details["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert details["retryAfterSeconds"] == 1


async def test_an_expired_page_carries_a_new_token_that_leads_to_the_rest(
    kinform_api: ApiServer,
) -> None:
    for name in ("a", "b", "c"):
        kinform_api.create(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": "default"},
            }
        )
    maps = "/api/v1/namespaces/default/configmaps?limit=2"
    kinform_api.faults.inject(faults.expired_page(), resource="configmaps")

    first = (await raw_http.ask(kinform_api.url, maps)).json()
    token = first["metadata"]["continue"]
    refused = await raw_http.ask(kinform_api.url, f"{maps}&continue={token}")
    new_token = refused.json()["metadata"]["continue"]
    rest = (await raw_http.ask(kinform_api.url, f"{maps}&continue={new_token}")).json()

    assert (refused.status, refused.json()["reason"]) == (410, "Expired")
    assert new_token != token
    names = [item["metadata"]["name"] for item in (*first["items"], *rest["items"])]
    assert names == ["a", "b", "c"]


async def test_a_token_that_is_no_token_is_left_to_the_server_to_refuse(
    kinform_api: ApiServer,
) -> None:
    injection = kinform_api.faults.inject(faults.expired_page())

    answer = await raw_http.ask(kinform_api.url, f"{PODS}?limit=1&continue=nonsense")

    assert (answer.status, injection.hits) == (400, 0)
