"""What the server says it received, beside what was really sent."""

from __future__ import annotations

import asyncio
import time

import pytest

from kinform.errors import ConfigError, NoMatchError
from kinform.models.core.v1 import Pod
from kinform.testing import ApiServer, ReceivedRequest, RequestLog, faults
from kinform.testing.resources import ResourceRegistry
from tests.support import raw_http

PODS = "/api/v1/namespaces/default/pods"


async def test_a_request_is_written_down_with_its_answer(kinform_api: ApiServer) -> None:
    before = time.time()
    answer = await raw_http.ask(
        kinform_api.url, f"{PODS}?limit=5", headers={"User-Agent": "tester/1"}
    )
    request = await kinform_api.requests.wait_for(lambda request: not request.is_open)

    assert (request.method, request.path, request.query) == ("GET", PODS, {"limit": "5"})
    assert (request.verb, request.resource, request.namespace) == ("list", "pods", "default")
    assert request.headers["user-agent"] == "tester/1"
    assert (request.status, request.bytes_sent) == (200, len(answer.body))
    assert request.faults == ()
    assert before <= request.time <= time.time()
    assert request.duration is not None
    assert request.duration >= 0
    assert str(request) == f"GET {PODS}?limit=5 -> 200"


async def test_credentials_are_never_written_down() -> None:
    async with ApiServer(tokens={"s3cret": "jane"}) as api:
        headers = {"Authorization": "Bearer s3cret", "Cookie": "s3cret", "X-Token": "s3cret"}
        await raw_http.ask(api.url, PODS, headers=headers)
        await raw_http.ask(api.url, PODS, headers={"Authorization": "Bearer wrong-s3cret"})
        known, unknown = api.requests

    assert (known.user, known.status) == ("jane", 200)
    assert (unknown.user, unknown.status) == ("", 401)
    assert "s3cret" not in repr(known) + repr(unknown)


async def test_a_running_watch_is_in_the_log_and_open(kinform_api: ApiServer) -> None:
    async with raw_http.open_answer(kinform_api.url, f"{PODS}?watch=true"):
        [watch] = kinform_api.requests.watches("pods")
        assert (watch.status, watch.is_open, watch.duration) == (200, True, None)

    await kinform_api.requests.wait_for(lambda request: not request.is_open)
    assert not watch.is_open


async def test_requests_are_found_by_what_they_asked_for(kinform_api: ApiServer) -> None:
    for path in (PODS, "/api/v1/pods", f"{PODS}/x", "/version", "/apis/apps/v1/deployments"):
        await raw_http.ask(kinform_api.url, path)
    log = kinform_api.requests

    assert len(log) == 5
    assert [request.path for request in log.lists("pods")] == [PODS, "/api/v1/pods"]
    assert [request.path for request in log.lists("pods", namespace="")] == ["/api/v1/pods"]
    assert log.watches() == []
    assert log.count(verb="get", resource="pods", name="x") == 1
    assert log.count(resource="deployments.apps") == 1
    assert log.count(path="/version") == 1
    assert [request.verb for request in log.matching(path="/version")] == [""]
    log.clear()
    assert len(log) == 0


async def test_waiting_ends_with_the_request_that_was_waited_for(kinform_api: ApiServer) -> None:
    waiting = asyncio.create_task(
        kinform_api.requests.wait_for(lambda request: request.status == 404)
    )
    await raw_http.ask(kinform_api.url, PODS)
    await raw_http.ask(kinform_api.url, f"{PODS}/missing")

    assert (await waiting).name == "missing"


async def test_waiting_in_vain_says_what_came_instead(kinform_api: ApiServer) -> None:
    await raw_http.ask(kinform_api.url, "/version")

    with pytest.raises(TimeoutError, match=r"within 0.05 s; received last: GET /version -> 200"):
        await kinform_api.requests.wait_for(lambda request: False, timeout=0.05)


async def test_a_request_that_a_fault_hit_says_so(kinform_api: ApiServer) -> None:
    kinform_api.faults.inject(faults.drop_connection(), resource="pods")

    await raw_http.ask(kinform_api.url, PODS)
    request = await kinform_api.requests.wait_for(lambda request: not request.is_open)

    assert (request.faults, request.status, request.bytes_sent) == (("drop connection",), None, 0)


async def test_what_is_logged_is_what_was_asked_and_not_what_a_fault_made_of_it(
    kinform_api: ApiServer,
) -> None:
    kinform_api.faults.inject(faults.ignore_parameters("limit"))

    await raw_http.ask(kinform_api.url, f"{PODS}?limit=5")

    assert kinform_api.requests[0].query == {"limit": "5"}


def test_a_log_keeps_the_newest_requests_only() -> None:
    from kinform.testing.interception import Call

    log = RequestLog(ResourceRegistry(), limit=2)
    for path in ("/a", "/b", "/c"):
        log.add(ReceivedRequest(Call("GET", path), time=0.0))

    assert [request.path for request in log] == ["/b", "/c"]


async def test_a_request_is_awaited_by_criteria(kinform_api: ApiServer) -> None:
    """18.27: those of ``matching``, with or without a predicate."""
    log = kinform_api.requests
    waiting = asyncio.create_task(log.wait_for(verb="get", resource="v1/pods", name="x"))
    refused = asyncio.create_task(log.wait_for(lambda each: each.status == 404, resource=Pod))
    await raw_http.ask(kinform_api.url, PODS)
    await raw_http.ask(kinform_api.url, f"{PODS}/x")

    assert (await waiting).path == (await refused).path == f"{PODS}/x"
    assert log.count(resource=Pod) == log.count(resource="v1/pods") == 2


async def test_names_that_nothing_has_are_refused(kinform_api: ApiServer) -> None:
    """18.27: instead of waiting in vain."""
    log = kinform_api.requests
    with pytest.raises(NoMatchError, match="'podz' is not served; did you mean v1/pods"):
        await log.wait_for(resource="podz")
    with pytest.raises(ConfigError, match="'wacth' is not a verb; the verbs are get list watch"):
        await log.wait_for(verb="wacth")
    with pytest.raises(NoMatchError):
        log.watches("podz")
    with pytest.raises(ConfigError, match="the predicate of wait_for must be a function"):
        await log.wait_for("pods")  # type: ignore[arg-type]


async def test_a_resource_of_the_past_is_found(kinform_api: ApiServer) -> None:
    """18.27: a request for a custom resource stays in the log longer than its definition."""
    await raw_http.ask(kinform_api.url, "/apis/example.com/v1/widgets")

    assert kinform_api.requests.count(resource="widgets") == 1


async def test_a_failing_predicate_fails_the_waiter_only(kinform_api: ApiServer) -> None:
    """18.27: an attribute that requests do not have broke the server instead."""

    def misspelt(request: ReceivedRequest) -> bool:
        return bool(request.resorce)  # type: ignore[attr-defined]

    waiting = asyncio.create_task(kinform_api.requests.wait_for(misspelt))
    await asyncio.sleep(0)
    assert (await raw_http.ask(kinform_api.url, PODS)).status == 200
    with pytest.raises(ConfigError, match=r"failed on GET .*resorce"):
        await waiting
    with pytest.raises(ConfigError, match=r"failed on GET .*resorce"):
        await kinform_api.requests.wait_for(misspelt)
