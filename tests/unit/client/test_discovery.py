"""What the server has: read once, kept, read again when something is missing from it."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from kinform.api import GVK, GVR
from kinform.client import Client
from kinform.errors import (
    DecodeError,
    DiscoveryError,
    ForbiddenError,
    NoMatchError,
    NotFoundError,
    StateError,
    TransportError,
)
from kinform.transport import Request
from tests.support.answers import (
    AGGREGATED_TYPE,
    ALL_RESOURCES,
    CONFIG_MAPS,
    DEPLOYMENTS,
    NODES,
    PODS,
    WIDGETS,
    Answer,
    aggregated,
    json_answer,
    legacy_resource_list,
    pod_list,
    resource,
    status,
    text_answer,
)
from tests.support.memory_transport import MemoryTransport
from tests.support.waiting import wait_until

WIDGET = GVK("example.com", "v1", "Widget")


def legacy(memory: MemoryTransport) -> None:
    """A server from before aggregated discovery."""
    memory.on("/api", json_answer({"kind": "APIVersions", "versions": ["v1"]}))
    groups = [{"groupVersion": gv} for gv in ("apps/v1", "example.com/v1")]
    documents = [{"name": gv["groupVersion"], "versions": [gv]} for gv in groups]
    memory.on("/apis", json_answer({"kind": "APIGroupList", "groups": documents}))
    memory.on("/api/v1", legacy_resource_list([PODS, NODES]))
    memory.on("/apis/apps/v1", legacy_resource_list([DEPLOYMENTS]))
    memory.on("/apis/example.com/v1", legacy_resource_list([WIDGETS]))


async def test_kind_resource_and_scope_are_mapped_both_ways(client: Client) -> None:
    for entry in ALL_RESOURCES:
        assert await client.discovery.for_resource(entry.gvr) == entry
        assert await client.discovery.for_kind(entry.gvk) == entry
    assert await client.discovery.resources() == ALL_RESOURCES


async def test_one_request_a_root_serves_all_look_ups(
    memory: MemoryTransport, client: Client
) -> None:
    await client.discovery.for_kind(WIDGET)
    await client.discovery.for_resource(PODS.gvr)
    await client.metadata.discovery.resources()
    assert [request.path for request in memory.requests] == ["/api", "/apis"]
    assert {request.headers["Accept"] for request in memory.requests} == {
        f"{AGGREGATED_TYPE},application/json"
    }


async def test_an_old_server_is_read_group_by_group(
    memory: MemoryTransport, client: Client
) -> None:
    legacy(memory)
    assert await client.discovery.resources() == (PODS, NODES, DEPLOYMENTS, WIDGETS)
    assert [request.path for request in memory.requests] == [
        "/api",
        "/api/v1",
        "/apis",
        "/apis/apps/v1",
        "/apis/example.com/v1",
    ]


@pytest.mark.parametrize(
    "failure",
    [
        json_answer(status(503, "ServiceUnavailable"), 503),
        text_answer("<html>oops</html>", content_type="text/html"),
        json_answer({"resources": 5}),
        TransportError("reset"),
    ],
    ids=["503", "a page", "nonsense", "no answer"],
)
async def test_a_group_that_fails_does_not_hide_the_others(
    memory: MemoryTransport,
    client: Client,
    failure: Answer | Exception,
    caplog: pytest.LogCaptureFixture,
) -> None:
    legacy(memory)
    memory.on("/apis/apps/v1", failure)
    with caplog.at_level(logging.WARNING, "kinform.client"):
        assert await client.discovery.for_kind(WIDGET) == WIDGETS
    assert "skipping apps/v1" in caplog.text
    with pytest.raises(NoMatchError):
        await client.discovery.for_resource(DEPLOYMENTS.gvr)


async def test_a_group_that_fails_later_keeps_what_was_known(
    memory: MemoryTransport, client: Client
) -> None:
    legacy(memory)
    await client.discovery.refresh()
    memory.on("/apis/apps/v1", json_answer(status(503, "ServiceUnavailable"), 503))
    await client.discovery.refresh()
    assert await client.discovery.for_resource(DEPLOYMENTS.gvr) == DEPLOYMENTS


async def test_if_every_group_fails_discovery_fails(
    memory: MemoryTransport, client: Client
) -> None:
    legacy(memory)
    memory.on("/api/v1", json_answer(status(500, "InternalError"), 500))
    with pytest.raises(DiscoveryError):
        await client.discovery.resources()


async def test_an_unchanged_document_is_not_sent_again(
    memory: MemoryTransport, client: Client
) -> None:
    def reply(request: Request) -> Answer:
        if request.headers.get("If-None-Match") == '"v1"':
            return Answer(304)
        return aggregated([WIDGETS], etag='"v1"')

    memory.on("/apis", reply)
    await client.discovery.refresh()
    await client.discovery.refresh()
    first, second = memory.requests_to("/apis")
    assert "If-None-Match" not in first.headers
    assert second.headers["If-None-Match"] == '"v1"'
    assert await client.discovery.for_kind(WIDGET) == WIDGETS


async def test_a_stale_group_keeps_its_old_mapping(memory: MemoryTransport, client: Client) -> None:
    await client.discovery.refresh()
    memory.on("/apis", aggregated([DEPLOYMENTS], stale=[("example.com", "v1")]))
    await client.discovery.refresh()
    assert await client.discovery.for_kind(WIDGET) == WIDGETS
    memory.on("/apis", aggregated([DEPLOYMENTS]))
    await client.discovery.refresh()
    with pytest.raises(NoMatchError):
        await client.discovery.for_kind(WIDGET)


async def test_a_miss_reads_again_for_a_crd_may_be_new(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on("/apis", aggregated([DEPLOYMENTS]))
    await client.discovery.resources()
    memory.on("/apis", aggregated([DEPLOYMENTS, WIDGETS]))
    assert await client.discovery.for_kind(WIDGET) == WIDGETS
    assert len(memory.requests_to("/apis")) == 2


async def test_who_joins_a_reading_that_began_too_early_reads_again(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on("/apis", aggregated([DEPLOYMENTS]), aggregated([DEPLOYMENTS, WIDGETS]))
    early = asyncio.ensure_future(client.discovery.refresh())
    await asyncio.sleep(0)
    assert await client.discovery.for_kind(WIDGET) == WIDGETS
    await early


async def test_concurrent_callers_share_one_reading(
    memory: MemoryTransport, client: Client
) -> None:
    await asyncio.gather(*(client.discovery.for_kind(WIDGET) for _ in range(20)))
    assert len(memory.requests) == 2


async def test_cancelling_one_caller_does_not_hurt_the_others(
    memory: MemoryTransport, client: Client
) -> None:
    callers = [asyncio.ensure_future(client.discovery.for_kind(WIDGET)) for _ in range(3)]
    await asyncio.sleep(0)
    callers[0].cancel()
    assert await asyncio.gather(*callers[1:]) == [WIDGETS, WIDGETS]
    assert callers[0].cancelled()
    assert len(memory.requests) == 2


async def test_cancelling_every_caller_leaves_nothing_broken(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on("/api", TransportError("reset"), aggregated([PODS]))
    caller = asyncio.ensure_future(client.discovery.for_kind(WIDGET))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    await wait_until(lambda: len(memory.requests) == 1)
    assert await client.discovery.for_kind(WIDGET) == WIDGETS


async def test_closing_the_client_tells_who_waits(memory: MemoryTransport, client: Client) -> None:
    caller = asyncio.ensure_future(client.discovery.for_kind(WIDGET))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await client.close()
    with pytest.raises(StateError, match="closed"):
        await caller
    with pytest.raises(StateError, match="closed"):
        await client.discovery.for_kind(WIDGET)


async def test_a_server_that_does_not_answer_is_a_transport_error_as_everywhere(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on("/api", TransportError("connection refused"))
    with pytest.raises(TransportError, match="connection refused"):
        await client.get(PODS.gvr, "a")


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (json_answer(status(403, "Forbidden"), 403), ForbiddenError),
        (text_answer("<html>", content_type="text/html"), DecodeError),
        (Answer(200, b"", {}), DecodeError),
        (Answer(200, b'{"kind":"APIGroupDiscoveryList","items":5}', {}), DecodeError),
        (Answer(200, b'{"kind":"APIVersions","versions":[1]}', {}), DecodeError),
        (json_answer({"groups": [{"versions": [{"groupVersion": "a/b/c"}]}]}), DecodeError),
        (Answer(200, b"[" * 100_000, {}), DecodeError),
    ],
)
async def test_what_is_no_discovery_document_is_called_so(
    memory: MemoryTransport, client: Client, answer: Answer, cause: type[Exception]
) -> None:
    memory.on("/api", answer)
    with pytest.raises(DiscoveryError, match="discovery failed") as caught:
        await client.discovery.resources()
    assert type(caught.value.__cause__) is cause


async def test_a_failure_forgets_nothing(memory: MemoryTransport, client: Client) -> None:
    await client.discovery.refresh()
    memory.on("/apis", json_answer(status(500, "InternalError"), 500))
    with pytest.raises(DiscoveryError):
        await client.discovery.refresh()
    assert await client.discovery.for_kind(WIDGET) == WIDGETS


async def test_a_server_of_extensions_alone_has_one_root(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on("/api")
    assert await client.discovery.resources() == (DEPLOYMENTS, WIDGETS)


async def test_an_address_without_any_api_is_called_so(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on("/api")
    memory.on("/apis")
    with pytest.raises(DiscoveryError, match="neither /api nor /apis; is the address correct"):
        await client.discovery.resources()


async def test_names_that_nobody_could_use_do_not_hide_the_rest(
    memory: MemoryTransport, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    document: dict[str, Any] = json.loads(aggregated([WIDGETS]).body)
    (version,) = document["items"][0]["versions"]
    odd_plural = {"resource": "Odd Name", "responseKind": {"kind": "Odd"}}
    odd_kind = {"resource": "odds", "responseKind": {"kind": "Odd Kind"}}
    no_kind = {"resource": "parents", "responseKind": None, "verbs": None}
    version["resources"] += [odd_plural, odd_kind, no_kind]
    memory.on("/api", json_answer({"kind": "APIGroupDiscoveryList", "items": None}))
    memory.on("/apis", json_answer(document))
    assert await client.discovery.resources() == (WIDGETS,)
    assert "Odd Name" in caplog.text


@pytest.mark.parametrize(
    ("gvr", "meant"),
    [
        ("v1/pod", "v1/pods"),
        ("v1/po", "v1/pods"),
        ("v1/podz", "v1/pods"),
        ("v1/deployments", "apps/v1/deployments"),
        ("apps/v1beta1/deployments", "apps/v1/deployments"),
        ("apps/v1/deploy", "apps/v1/deployments"),
        ("v2/cm", "v1/configmaps"),
        ("exampel.com/v1/widgets", "example.com/v1/widgets"),
    ],
)
async def test_a_wrong_resource_is_answered_with_the_right_one(
    client: Client, gvr: str, meant: str
) -> None:
    with pytest.raises(NoMatchError) as caught:
        await client.get(GVR.parse(gvr), "a")
    assert str(caught.value) == f"the server has no resource {gvr}; did you mean {meant}?"


@pytest.mark.parametrize(
    ("gvk", "meant"),
    [
        (GVK("", "v1", "pod"), "v1/Pod"),
        (GVK("", "v1", "Pods"), "v1/Pod"),
        (GVK("", "v1", "Deployment"), "apps/v1/Deployment"),
        (GVK("apps", "v2", "Deployment"), "apps/v1/Deployment"),
        (GVK("", "v1", "Configmap"), "v1/ConfigMap"),
    ],
)
async def test_a_wrong_kind_is_answered_with_the_right_one(
    client: Client, gvk: GVK, meant: str
) -> None:
    with pytest.raises(NoMatchError) as caught:
        await client.list(gvk)
    assert str(caught.value) == f"the server has no kind {gvk}; did you mean {meant}?"


async def test_a_name_like_no_other_is_asked_about(client: Client) -> None:
    with pytest.raises(NoMatchError, match="is the CRD installed, and is 'zzzzzz' spelled"):
        await client.get(GVR("qqqq.io", "v9", "zzzzzz"), "a")


async def test_a_404_to_a_collection_is_explained(client: Client) -> None:
    with pytest.raises(NoMatchError, match="did you mean v1/pods") as caught:
        await client.list(GVR("", "v1", "pod"))
    assert isinstance(caught.value.__cause__, NotFoundError)
    with pytest.raises(NoMatchError, match="did you mean v1/pods"):
        async with client.watch(GVR("", "v1", "pod")):
            pass


async def test_a_404_that_discovery_cannot_explain_stays_one(
    memory: MemoryTransport, client: Client
) -> None:
    with pytest.raises(NotFoundError, match="404 page not found"):
        await client.list(CONFIG_MAPS.gvr)
    memory.on("/api", json_answer(status(403, "Forbidden"), 403))
    with pytest.raises(NotFoundError, match="404 page not found"):
        await client.list(GVR("", "v1", "pod"))


async def test_a_namespace_that_is_missing_is_no_mistake_about_namespaces(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on("/api/v1/namespaces/gone", text_answer("not found", 404))
    with pytest.raises(NotFoundError):
        await client.get(GVR("", "v1", "namespaces"), "gone")


async def test_a_resource_that_changed_its_scope_is_found_again(
    memory: MemoryTransport, client: Client
) -> None:
    await client.discovery.refresh()
    memory.on("/apis", aggregated([resource("example.com/v1/widgets", "Widget", namespaced=False)]))
    memory.on("/apis/example.com/v1/widgets/w", json_answer(pod_list()))
    with pytest.raises(NoMatchError, match="is cluster-scoped"):
        await client.get(WIDGETS.gvr, "w")
    assert not (await client.discovery.for_kind(WIDGET)).namespaced


async def test_a_resource_that_is_gone_is_noticed(memory: MemoryTransport, client: Client) -> None:
    await client.discovery.refresh()
    memory.on("/apis", aggregated([DEPLOYMENTS]))
    with pytest.raises(NoMatchError, match=r"no kind example\.com/v1/Widget"):
        await client.list(WIDGET)


@pytest.mark.parametrize("wrong", ["pods", ("", "v1", "pods"), None, 5])
async def test_what_is_no_resource_at_all_is_refused_with_the_way_out(
    client: Client, wrong: Any
) -> None:
    with pytest.raises(ValueError, match=r"is not a resource; .*'apps/v1/deployments'"):
        await client.list(wrong)
