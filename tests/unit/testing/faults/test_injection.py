"""Which requests a fault hits, how often, and for how long."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.api import GVR
from kinform.errors import ConfigError, NoMatchError
from kinform.models.core.v1 import Pod
from kinform.testing import ApiServer, faults
from kinform.testing.resources import ResourceRegistry
from tests.support import raw_http

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


async def _statuses(api: ApiServer, path: str, count: int) -> list[int]:
    return [(await raw_http.ask(api.url, path)).status for _ in range(count)]


async def test_a_fault_hits_once_unless_told_otherwise(kinform_api: ApiServer) -> None:
    injection = kinform_api.faults.inject(faults.empty_answer(500), resource="pods")

    assert injection.active
    assert await _statuses(kinform_api, PODS, 2) == [500, 200]
    assert (injection.hits, injection.active) == (1, False)


async def test_a_fault_hits_as_often_as_told_after_letting_some_through(
    kinform_api: ApiServer,
) -> None:
    injection = kinform_api.faults.inject(
        faults.empty_answer(500), resource="pods", after=1, times=2
    )

    assert await _statuses(kinform_api, PODS, 4) == [200, 500, 500, 200]
    assert injection.hits == 2


async def test_a_fault_without_a_number_hits_until_it_is_removed(kinform_api: ApiServer) -> None:
    injection = kinform_api.faults.inject(faults.empty_answer(500), resource="pods", times=None)

    assert await _statuses(kinform_api, PODS, 3) == [500, 500, 500]
    injection.remove()
    injection.remove()
    assert await _statuses(kinform_api, PODS, 1) == [200]
    assert not injection.active


async def test_a_fault_ends_with_its_with_block(kinform_api: ApiServer) -> None:
    with kinform_api.faults.inject(faults.empty_answer(500), times=None) as injection:
        assert await _statuses(kinform_api, PODS, 1) == [500]

    assert await _statuses(kinform_api, PODS, 1) == [200]
    assert injection.hits == 1


async def test_all_faults_can_be_removed_at_once(kinform_api: ApiServer) -> None:
    kinform_api.faults.inject(faults.empty_answer(500), times=None)
    kinform_api.faults.inject(faults.empty_answer(501), times=None)
    before = len(kinform_api.faults.active)

    kinform_api.faults.clear()

    assert (before, len(kinform_api.faults.active)) == (2, 0)
    assert await _statuses(kinform_api, PODS, 1) == [200]


@pytest.mark.parametrize(
    ("criteria", "hit", "spared"),
    [
        ({"resource": "pods"}, PODS, MAPS),
        ({"resource": "deployments.apps"}, DEPLOYMENTS, PODS),
        ({"resource": GVR("", "v1", "pods")}, PODS, MAPS),
        ({"verb": "list"}, PODS, f"{PODS}/missing"),
        ({"verb": "get", "name": "x"}, f"{PODS}/x", f"{PODS}/y"),
        ({"namespace": "default"}, PODS, "/api/v1/pods"),
        ({"namespace": ""}, "/api/v1/pods", PODS),
        ({"path": "/api/v1/*/pods"}, PODS, MAPS),
        ({"path": "/version"}, "/version", "/healthz"),
        ({"when": lambda call: "limit" in call.query}, f"{PODS}?limit=1", PODS),
    ],
    ids=str,
)
async def test_a_fault_hits_what_matches_and_spares_the_rest(
    kinform_api: ApiServer, criteria: dict[str, Any], hit: str, spared: str
) -> None:
    kinform_api.faults.inject(faults.empty_answer(599), times=None, **criteria)

    assert await _statuses(kinform_api, spared, 1) != [599]
    assert await _statuses(kinform_api, hit, 1) == [599]


async def test_of_two_faults_that_answer_the_second_waits_for_the_next_request(
    kinform_api: ApiServer,
) -> None:
    kinform_api.faults.inject(faults.empty_answer(501), resource="pods")
    kinform_api.faults.inject(faults.empty_answer(502), resource="pods")

    assert await _statuses(kinform_api, PODS, 3) == [501, 502, 200]


async def test_faults_that_do_not_answer_work_together(kinform_api: ApiServer) -> None:
    kinform_api.faults.inject(faults.close_after_answer(), resource="pods")
    kinform_api.faults.inject(faults.truncate(7), resource="pods")

    answer = await raw_http.ask(kinform_api.url, PODS)

    assert (answer.body, answer.headers["connection"]) == (b'{"kind"', "close")
    assert kinform_api.requests[-1].faults == ("close after answer", "truncate")


async def test_a_fault_for_watches_leaves_lists_alone(kinform_api: ApiServer) -> None:
    injection = kinform_api.faults.inject(faults.expired_event(), resource="pods", times=None)

    assert await _statuses(kinform_api, PODS, 1) == [200]
    assert injection.hits == 0
    answer = await raw_http.ask(kinform_api.url, f"{PODS}?watch=true")
    assert (answer.events()[0]["type"], injection.hits) == ("ERROR", 1)


async def test_a_fault_of_ones_own_is_a_name_and_hooks(kinform_api: ApiServer) -> None:
    async def refuse(call: Any, sink: Any) -> bool:
        await sink.start(418, {"Content-Length": "0"})
        await sink.finish()
        return True

    fault = faults.Fault("teapot", lambda call, hits: faults.Hooks(before=refuse), answers=True)
    kinform_api.faults.inject(fault, resource="pods")

    assert await _statuses(kinform_api, PODS, 2) == [418, 200]
    assert kinform_api.requests[0].faults == ("teapot",)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"times": 0}, "times=0 affects no request"),
        ({"after": -1}, "after=-1"),
        ({"verb": "wacth"}, "'wacth' is not a verb; the verbs are get list watch"),
    ],
    ids=str,
)
def test_criteria_that_cannot_match_are_refused_with_the_way_out(
    wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        faults.Faults(ResourceRegistry()).inject(faults.hang(), **wrong)


def test_a_watch_fault_for_lists_is_refused() -> None:
    with pytest.raises(ConfigError, match="'expired event' only supports watch"):
        faults.Faults(ResourceRegistry()).inject(faults.expired_event(), verb="list")


def test_an_injection_says_what_it_is() -> None:
    injection = faults.Faults(ResourceRegistry()).inject(faults.hang())

    assert repr(injection) == "<Injection hang, hits=0, active=True>"


@pytest.mark.parametrize("resource", ["pods", "v1/pods", GVR("", "v1", "pods"), Pod], ids=str)
async def test_a_resource_is_given_as_for_a_client(kinform_api: ApiServer, resource: Any) -> None:
    """18.27: text, GVR or class."""
    kinform_api.faults.inject(faults.empty_answer(500), resource=resource)

    assert await _statuses(kinform_api, MAPS, 1) == [200]
    assert await _statuses(kinform_api, PODS, 2) == [500, 200]


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        ("podz", "'podz' is not served; did you mean v1/pods"),
        ("pod", "did you mean v1/pods"),
        ("deployments.extensions", "did you mean apps/v1/deployments"),
        ("v1/deployments", "did you mean apps/v1/deployments"),
        ("widgets", "create its CustomResourceDefinition first"),
    ],
)
def test_a_resource_that_nothing_has_is_refused(resource: str, message: str) -> None:
    """18.27: the fault would never have been hit."""
    with pytest.raises(NoMatchError, match=message):
        faults.Faults(ResourceRegistry()).inject(faults.hang(), resource=resource)


@pytest.mark.parametrize(
    "wrong", ["expired", faults.expired, None], ids=["name", "function", "none"]
)
def test_only_faults_can_be_injected(wrong: Any) -> None:
    """18.27: a name, or a function that was not called."""
    with pytest.raises(ConfigError, match=r"call the function .* inject\(faults.expired\(\)"):
        faults.Faults(ResourceRegistry()).inject(wrong)
