"""Fields that are newer than this kinform: no edit of an object erases them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kinform.api import GVR
from kinform.client import Client, Write, WriteHook
from kinform.errors import ConflictError, ForbiddenError
from kinform.models.core.v1 import Container, Pod
from kinform.objects import Handle, Unstructured
from kinform.transport import Request
from tests.support.answers import Answer, json_answer, status
from tests.support.memory_transport import MemoryTransport
from tests.unit.protobuf.sample import envelope, metadata, metadata_tree, put

PATH = "/api/v1/namespaces/default/pods/a"
PODS = "/api/v1/namespaces/default/pods"
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
        self.after_json_read: Callable[[], None] = lambda: None
        self.may_only_list = False
        memory.on(PATH, self.answer)
        memory.on(f"{PATH}/status", self.answer)

    def answer(self, request: Request) -> Answer:
        if request.method == "GET":
            if "protobuf" not in request.headers["Accept"]:
                if self.may_only_list and "fieldSelector" not in request.query:
                    return json_answer(status(403, "Forbidden", "you may not get"), 403)
                answer = json_answer(
                    self._listed() if "fieldSelector" in request.query else self.tree
                )
                self.after_json_read()
                return answer
            return Answer(200, envelope("v1", "Pod", self._message()), PROTOBUF)
        if request.method != "PUT":
            return json_answer(status(403, "Forbidden", "you may update, but not patch"), 403)
        assert request.body is not None
        sent = json.loads(request.body)
        if sent["metadata"]["resourceVersion"] != self.tree["metadata"]["resourceVersion"]:
            return json_answer(status(409, "Conflict", "it has changed"), 409)
        self.tree = sent
        return json_answer(self.tree)

    def _listed(self) -> dict[str, Any]:
        item = {
            name: each for name, each in self.tree.items() if name not in ("apiVersion", "kind")
        }
        return {"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [item]}

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


async def test_an_object_that_changes_while_it_is_updated_is_a_conflict(
    server: Server, client: Client
) -> None:
    """18.3: the update has the resource version of the copied object."""
    pod = (await client.get(Pod, "a", namespace="default")).copy()
    pod.spec.node_name = "n1"
    server.after_json_read = lambda: server.tree["metadata"].update(resourceVersion="8")
    with pytest.raises(ConflictError):
        await client.update(pod)
    assert "nodeName" not in server.tree["spec"]


class Hook(WriteHook):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def before(self, write: Write) -> None:
        self.seen.append(f"before {write.verb}")

    def after(self, write: Write, result: Handle | None) -> None:
        self.seen.append(f"after {write.verb}")

    def failed(self, write: Write, error: BaseException) -> None:
        self.seen.append(f"failed {write.verb}: {type(error).__name__}")


async def test_an_update_stays_an_update(
    server: Server, client: Client, memory: MemoryTransport
) -> None:
    """18.3: an account that may not patch can still update, and hooks see one update."""
    hook = Hook()
    client.add_write_hook(hook)
    pod = (await client.get(Pod, "a", namespace="default")).copy()
    pod.spec.node_name = "n1"
    updated = await client.update(pod)
    assert updated.spec.node_name == "n1"
    assert [each.method for each in memory.requests_to(PATH)] == ["GET", "GET", "PUT"]
    assert server.tree["spec"]["nodeName"] == "n1"
    assert server.tree["spec"]["newer"] == "tomorrow"
    assert hook.seen == ["before update", "after update"]
    server.tree["metadata"]["resourceVersion"] = "8"
    with pytest.raises(ConflictError, match=r"default/a.* 7, .* 8"):
        await client.update(pod)
    assert hook.seen[2:] == ["before update", "failed update: ConflictError"]


async def test_an_account_that_may_list_but_not_get_can_update(
    server: Server, client: Client, memory: MemoryTransport
) -> None:
    """18.3: an informer needs no more than list and watch."""
    pod = (await client.get(Pod, "a", namespace="default")).copy()
    pod.spec.node_name = "n1"
    server.may_only_list = True
    memory.on(PODS, json_answer(status(403, "Forbidden", "you may not list"), 403))
    with pytest.raises(ForbiddenError, match="may not get"):
        await client.update(pod)  # the list is forbidden, too
    memory.on(PODS, server.answer)
    await client.update(pod)
    assert memory.requests_to(PODS)[-1].query["fieldSelector"] == "metadata.name=a"
    assert server.tree["spec"]["nodeName"] == "n1"
    assert server.tree["spec"]["newer"] == "tomorrow"
    assert (server.tree["apiVersion"], server.tree["kind"]) == ("v1", "Pod")


async def test_a_status_is_completed_from_the_object(
    server: Server, client: Client, memory: MemoryTransport
) -> None:
    """18.3: an account may have permission to update a status, but not to read it."""
    pod = (await client.get(Pod, "a", namespace="default")).copy()
    pod.status.phase = "Running"
    await client.update(pod, subresource="status")
    assert [each.method for each in memory.requests_to(f"{PATH}/status")] == ["PUT"]
    assert server.tree["status"]["phase"] == "Running"
    assert server.tree["spec"]["newer"] == "tomorrow"


async def test_an_object_that_is_all_known_is_sent_whole(
    memory: MemoryTransport, client: Client
) -> None:
    message = put(1, metadata("a")) + put(2, put(2, put(1, "main")))
    memory.on(PATH, Answer(200, envelope("v1", "Pod", message), PROTOBUF))
    pod = (await client.get(Pod, "a", namespace="default")).copy()
    assert not pod.is_incomplete
    memory.on(PATH, json_answer(pod.to_dict()))
    await client.update(pod)
    assert memory.requests_to(PATH)[-1].method == "PUT"


async def test_another_object_made_of_a_copy_is_sent_whole(server: Server, client: Client) -> None:
    pod = (await client.get(Pod, "a", namespace="default")).copy()
    other = pod.copy()
    other.metadata.name = "b"
    assert (pod.is_incomplete, other.is_incomplete) == (True, False)
    assert GVR("", "v1", "pods") == Pod.resource.gvr  # type: ignore[union-attr]  # it has one
