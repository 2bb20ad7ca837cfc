"""Metadata only: asked for in the right words, and made here if the server does not know them."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.api import GVK, GVR
from kinform.client import Client
from kinform.errors import EncodeError, NotAcceptableError
from kinform.objects import PartialObjectMetadata
from kinform.transport import Request
from tests.support.answers import Answer, event, json_answer, pod, pod_list, status, watch_answer
from tests.support.memory_transport import MemoryTransport

PODS = GVR("", "v1", "pods")
COLLECTION = "/api/v1/namespaces/x/pods"
OBJECT = f"{COLLECTION}/a"
PARTIAL = GVK("meta.k8s.io", "v1", "PartialObjectMetadata")

ONE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
MANY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


def partial(name: str) -> dict[str, Any]:
    kind = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    return {**kind, "metadata": pod(name)["metadata"]}


def partial_list(*names: str, **metadata: str) -> dict[str, Any]:
    kind = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
    return {**kind, "metadata": metadata, "items": [partial(name) for name in names]}


def refuse_partial(answer: Answer) -> Any:
    """A server that answers in no form but plain JSON."""

    def reply(request: Request) -> Answer:
        plain = request.headers["Accept"] == "application/json"
        return answer if plain else json_answer(status(406, "NotAcceptable"), 406)

    return reply


def check(found: PartialObjectMetadata, name: str) -> None:
    assert type(found) is PartialObjectMetadata
    assert found.gvk == PARTIAL
    assert found.name == name
    assert "spec" not in found
    assert set(found) == {"kind", "apiVersion", "metadata"}


async def test_each_verb_asks_in_its_own_words(memory: MemoryTransport, client: Client) -> None:
    memory.on(OBJECT, json_answer(partial("a")))
    memory.on(COLLECTION, json_answer(partial_list("a")))
    await client.metadata.get(PODS, "a", namespace="x")
    await client.metadata.patch(PODS, "a", {}, namespace="x")
    await client.metadata.delete(PODS, "a", namespace="x")
    await client.metadata.list(PODS, namespace="x")
    await client.metadata.delete_collection(PODS, namespace="x")
    async with client.metadata.watch(PODS, namespace="x"):
        pass
    asked = [(request.method, request.headers["Accept"]) for request in memory.requests]
    # The first answer was JSON, so that nobody asks this resource for protobuf again.
    assert asked == [
        ("GET", f"{ONE.split(',')[0].replace('json', 'vnd.kubernetes.protobuf')},{ONE}"),
        ("PATCH", ONE),
        ("DELETE", ONE),
        ("GET", MANY),
        ("DELETE", MANY),
        ("GET", ONE),
    ]


@pytest.mark.parametrize("sent", [partial("a"), pod("a", spec={"nodeName": "n"})])
async def test_a_get_gives_metadata_whatever_the_server_sends(
    memory: MemoryTransport, client: Client, sent: dict[str, Any]
) -> None:
    memory.on(OBJECT, json_answer(sent))
    check(await client.metadata.get(PODS, "a", namespace="x"), "a")


@pytest.mark.parametrize("sent", [partial_list("a"), pod_list(pod("a", spec={"nodeName": "n"}))])
async def test_a_list_gives_metadata_whatever_the_server_sends(
    memory: MemoryTransport, client: Client, sent: dict[str, Any]
) -> None:
    memory.on(COLLECTION, json_answer(sent))
    (found,) = await client.metadata.list(PODS, namespace="x")
    check(found, "a")


async def test_lists_of_metadata_come_in_pages_too(memory: MemoryTransport, client: Client) -> None:
    first = partial_list("a", "b", resourceVersion="5", **{"continue": "t"})
    memory.on(COLLECTION, json_answer(first), json_answer(partial_list("c", resourceVersion="5")))
    found = await client.metadata.list(PODS, namespace="x")
    assert [item.name for item in found] == ["a", "b", "c"]


async def test_each_event_of_a_watch_is_looked_at_by_itself(
    memory: MemoryTransport, client: Client
) -> None:
    bookmark = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}}
    lines = [
        event("ADDED", partial("a")) + event("MODIFIED", pod("a", spec={"nodeName": "n"})),
        event("BOOKMARK", bookmark),
        event("DELETED", pod("a", status={})).rstrip(),
    ]
    memory.on(COLLECTION, watch_answer(*lines))
    async with client.metadata.watch(PODS, namespace="x") as watch:
        found = [event async for event in watch]
    assert [event.type for event in found] == ["ADDED", "MODIFIED", "BOOKMARK", "DELETED"]
    for changed, name in zip(found, ["a", "a", "", "a"], strict=True):
        check(changed.object, name)
    assert found[2].object.resource_version == "9"


async def test_a_server_that_refuses_the_form_is_asked_for_the_whole(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(OBJECT, refuse_partial(json_answer(pod("a", spec={"x": 1}))))
    check(await client.metadata.get(PODS, "a", namespace="x"), "a")
    memory.on(COLLECTION, refuse_partial(json_answer(pod_list(pod("a", spec={"x": 1})))))
    (found,) = await client.metadata.list(PODS, namespace="x")
    check(found, "a")
    memory.on(COLLECTION, refuse_partial(watch_answer(event("ADDED", pod("b", spec={})))))
    async with client.metadata.watch(PODS, namespace="x") as watch:
        check((await anext(watch)).object, "b")


async def test_a_406_to_a_plain_request_is_an_error(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(OBJECT, json_answer(status(406, "NotAcceptable"), 406))
    with pytest.raises(NotAcceptableError):
        await client.get(PODS, "a", namespace="x")
    with pytest.raises(NotAcceptableError):
        await client.metadata.get(PODS, "a", namespace="x")
    memory.on(COLLECTION, json_answer(status(406, "NotAcceptable"), 406))
    with pytest.raises(NotAcceptableError):
        async with client.watch(PODS, namespace="x"):
            pass


async def test_what_a_delete_leaves_is_metadata_or_nothing(
    memory: MemoryTransport, client: Client
) -> None:
    gone = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    memory.on(OBJECT, json_answer(pod("a", spec={})), json_answer(gone))
    left = await client.metadata.delete(PODS, "a", namespace="x")
    assert left is not None
    check(left, "a")
    assert await client.metadata.delete(PODS, "a", namespace="x") is None


async def test_metadata_alone_cannot_be_written_back(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(OBJECT, json_answer(partial("a")))
    found = await client.metadata.get(PODS, "a", namespace="x")
    for write in (client.update(found.copy()), client.create(found, resource=PODS)):
        with pytest.raises(EncodeError, match=r"only metadata.*patch"):
            await write
    with pytest.raises(EncodeError, match="only metadata"):
        await client.apply(found, field_manager="me")
    assert len(memory.requests) == 1
