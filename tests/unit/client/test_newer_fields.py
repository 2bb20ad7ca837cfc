"""Fields that are newer than this kinform: no edit of an object erases them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kinform.api import GVR
from kinform.client import Client
from kinform.errors import ConflictError
from kinform.models.core.v1 import Container, Pod
from kinform.objects import Unstructured
from kinform.testing.patches import apply_json_patch
from kinform.transport import Request
from tests.support.answers import Answer, json_answer, status
from tests.support.memory_transport import MemoryTransport
from tests.unit.protobuf.sample import envelope, metadata, metadata_tree, put

PATH = "/api/v1/namespaces/default/pods/a"
PROTOBUF = {"Content-Type": "application/vnd.kubernetes.protobuf"}
NEWER = put(900, "tomorrow")


class Server:
    """Has one pod, with fields that our tables do not have: in its spec, and in each container."""

    def __init__(self, memory: MemoryTransport) -> None:
        self.tree: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata_tree("a"),
            "spec": {
                "containers": [
                    {"name": "main", "image": "web:1", "resources": {}, "newer": "tomorrow"},
                    {"name": "side", "image": "log:1", "resources": {}, "newer": "tomorrow"},
                ],
                "newer": "tomorrow",
            },
            "status": {},
        }
        self.patches: list[Any] = []
        memory.on(PATH, self._answer)

    def _answer(self, request: Request) -> Answer:
        if request.method == "GET":
            return Answer(200, envelope("v1", "Pod", self._message()), PROTOBUF)
        assert request.body is not None
        sent = json.loads(request.body)
        if request.method == "PUT":
            self.tree = sent
            return json_answer(self.tree)
        assert request.headers["Content-Type"] == "application/json-patch+json"
        self.patches.append(sent)
        patched = apply_json_patch(self.tree, sent)
        if patched["metadata"]["resourceVersion"] != self.tree["metadata"]["resourceVersion"]:
            return json_answer(status(409, "Conflict", "it has changed"), 409)
        self.tree = patched
        return json_answer(self.tree)

    def _message(self) -> bytes:
        rv = self.tree["metadata"]["resourceVersion"]
        containers = [
            put(1, each["name"]) + put(2, each["image"]) + NEWER
            for each in self.tree["spec"]["containers"]
        ]
        return put(1, metadata("a", rv=rv)) + put(2, put(2, *containers) + NEWER)


@pytest.fixture
def server(memory: MemoryTransport) -> Server:
    return Server(memory)


async def test_an_edit_deep_inside_of_a_list_keeps_what_nobody_knows(
    server: Server, client: Client
) -> None:
    pod = (await client.get(Pod, "a", namespace="default")).copy()
    assert "newer" not in pod.to_dict()["spec"]
    pod.spec.containers[0].image = "web:2"
    pod.metadata.labels["seen/at"] = "yes"
    updated = await client.update(pod)
    assert isinstance(updated, Pod)
    first, second = server.tree["spec"]["containers"]
    assert first == {"name": "main", "image": "web:2", "resources": {}, "newer": "tomorrow"}
    assert second["newer"] == server.tree["spec"]["newer"] == "tomorrow"
    assert server.tree["metadata"]["labels"] == {"seen/at": "yes"}


async def test_elements_that_come_and_go_take_nothing_from_the_others(
    server: Server, client: Client
) -> None:
    pod = (await client.get(Pod, "a", namespace="default")).copy().copy()
    pod.spec.containers.pop(0)
    pod.spec.containers.append(Container(name="third", image="new:1"))
    await client.update(pod)
    names = {each["name"]: each.get("newer") for each in server.tree["spec"]["containers"]}
    assert names == {"side": "tomorrow", "third": None}


async def test_an_untyped_copy_of_such_an_object_keeps_them_too(
    server: Server, client: Client
) -> None:
    typed = await client.get(Pod, "a", namespace="default")
    assert typed.record is not None
    pod = Unstructured.over(typed.record).copy()
    pod["spec"]["nodeName"] = "n1"
    await client.update(pod)
    assert server.tree["spec"]["nodeName"] == "n1"
    assert server.tree["spec"]["newer"] == "tomorrow"
    await client.update(typed)
    assert server.tree["spec"]["newer"] == "tomorrow"


async def test_an_object_that_has_changed_meanwhile_is_a_conflict(
    server: Server, client: Client
) -> None:
    pod = (await client.get(Pod, "a", namespace="default")).copy()
    server.tree["metadata"]["resourceVersion"] = "8"
    pod.spec.node_name = "n1"
    with pytest.raises(ConflictError):
        await client.update(pod)
    assert "nodeName" not in server.tree["spec"]


async def test_an_object_that_is_all_known_is_sent_whole(
    memory: MemoryTransport, client: Client
) -> None:
    message = put(1, metadata("a")) + put(2, put(2, put(1, "main")))
    memory.on(PATH, Answer(200, envelope("v1", "Pod", message), PROTOBUF))
    pod = (await client.get(Pod, "a", namespace="default")).copy()
    assert pod.edits() is None
    memory.on(PATH, json_answer(pod.to_dict()))
    await client.update(pod)
    assert memory.requests_to(PATH)[-1].method == "PUT"


async def test_another_object_made_of_a_copy_is_sent_whole(server: Server, client: Client) -> None:
    pod = (await client.get(Pod, "a", namespace="default")).copy()
    assert pod.edits() == [{"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}]
    pod.metadata.name = "b"
    assert pod.edits() is None
    assert GVR("", "v1", "pods") == Pod.resource.gvr  # type: ignore[union-attr]  # it has one
