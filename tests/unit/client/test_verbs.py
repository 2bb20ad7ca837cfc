"""What each verb sends: method, path, query, headers and body; and what it makes of the answer."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kinform.api import GVK, GVR
from kinform.client import Client
from kinform.errors import (
    ConfigError,
    DecodeError,
    EncodeError,
    InvalidNameError,
    MethodNotAllowedError,
    NoMatchError,
)
from kinform.objects import Unstructured
from tests.support.answers import DEPLOYMENTS, Answer, json_answer, pod, status, text_answer
from tests.support.memory_transport import MemoryTransport

PODS = GVR("", "v1", "pods")
NODES = GVR("", "v1", "nodes")
OBJECT = "/api/v1/namespaces/x/pods/a"
GONE = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}

Sent = tuple[str, str, dict[str, str], Any]


def sent(memory: MemoryTransport) -> Sent:
    """The last request that was not discovery's: method, path, query, body."""
    request = [each for each in memory.requests if each.path not in ("/api", "/apis")][-1]
    body = None if request.body is None else json.loads(request.body)
    return request.method, request.path, dict(request.query), body


def content_type(memory: MemoryTransport) -> str | None:
    return memory.requests[-1].headers.get("Content-Type")


# -- where things are ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "name", "options", "path"),
    [
        (PODS, "a", {"namespace": "x"}, "/api/v1/namespaces/x/pods/a"),
        (PODS, "a", {}, "/api/v1/namespaces/home/pods/a"),
        (GVK("", "v1", "Pod"), "a", {}, "/api/v1/namespaces/home/pods/a"),
        (NODES, "n", {}, "/api/v1/nodes/n"),
        (GVK("", "v1", "Node"), "n", {}, "/api/v1/nodes/n"),
        (DEPLOYMENTS, "d", {}, "/apis/apps/v1/namespaces/home/deployments/d"),
        (PODS, "a", {"subresource": "status"}, "/api/v1/namespaces/home/pods/a/status"),
        (PODS, "a", {"subresource": "proxy/x"}, "/api/v1/namespaces/home/pods/a/proxy/x"),
        (NODES, "system:node", {}, "/api/v1/nodes/system:node"),
        (NODES, "a b?c#d", {}, "/api/v1/nodes/a%20b%3Fc%23d"),
        (NODES, "é", {}, "/api/v1/nodes/%C3%A9"),
    ],
)
async def test_a_get_goes_to_its_path(
    memory: MemoryTransport,
    client: Client,
    resource: GVR | GVK,
    name: str,
    options: dict[str, str],
    path: str,
) -> None:
    memory.on(path, json_answer(pod(name)))
    found = await client.get(resource, name, **options)
    assert type(found) is Unstructured
    assert found.name == name
    assert sent(memory) == ("GET", path, {}, None)


async def test_a_get_may_name_the_version_it_wants(memory: MemoryTransport, client: Client) -> None:
    memory.on(OBJECT, json_answer(pod()))
    await client.get(PODS, "a", namespace="x", resource_version="0")
    assert sent(memory)[2] == {"resourceVersion": "0"}


async def test_a_gvr_with_a_namespace_needs_no_discovery(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(OBJECT, json_answer(pod()))
    await client.get(PODS, "a", namespace="x")
    assert len(memory.requests) == 1


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2fb"])
async def test_a_name_that_leads_elsewhere_does_not_travel(
    memory: MemoryTransport, client: Client, name: str
) -> None:
    verbs: list[Callable[[], Awaitable[object]]] = [
        lambda: client.get(PODS, name, namespace="x"),
        lambda: client.patch(PODS, name, {}, namespace="x"),
        lambda: client.delete(PODS, name, namespace="x"),
        lambda: client.update(pod(name)),
        lambda: client.apply(pod(name), field_manager="me"),
    ]
    for verb in verbs:
        with pytest.raises(InvalidNameError, match="cannot be the name of an object in v1/pods"):
            await verb()
    assert {request.path for request in memory.requests} <= {"/api", "/apis"}


async def test_a_key_in_place_of_a_name_is_explained(client: Client) -> None:
    with pytest.raises(InvalidNameError, match="; pass 'web' and namespace='default'"):
        await client.delete(PODS, "default/web", namespace="x")


async def test_a_namespace_or_subresource_that_leads_elsewhere_does_not_travel(
    memory: MemoryTransport, client: Client
) -> None:
    with pytest.raises(InvalidNameError, match="cannot be the namespace"):
        await client.list(PODS, namespace="../../nodes")
    with pytest.raises(InvalidNameError, match="cannot be the subresource"):
        await client.get(PODS, "a", namespace="x", subresource="../b")
    assert memory.requests == []


async def test_a_namespace_for_what_has_none_is_refused(
    memory: MemoryTransport, client: Client
) -> None:
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"}}
    verbs: list[Callable[[], Awaitable[object]]] = [
        lambda: client.get(NODES, "n", namespace="x"),
        lambda: client.get(GVK("", "v1", "Node"), "n", namespace="x"),
        lambda: client.delete(NODES, "n", namespace="x"),
        lambda: client.create(node, namespace="x"),
        lambda: client.update(node, namespace="x"),
        lambda: client.apply(node, namespace="x", field_manager="me"),
        lambda: client.delete_collection(NODES, namespace="x"),
    ]
    for verb in verbs:
        with pytest.raises(NoMatchError, match="v1/nodes is cluster-scoped; omit the"):
            await verb()


# -- writing ---------------------------------------------------------------------------------


async def test_create_posts_to_the_objects_own_namespace(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on("/api/v1/namespaces/x/pods", json_answer(pod(rv="7"), 201))
    wanted = pod("a", namespace="x")
    created = await client.create(wanted)
    assert created.resource_version == "7"
    assert sent(memory) == ("POST", "/api/v1/namespaces/x/pods", {}, wanted)
    assert content_type(memory) == "application/json"
    assert memory.requests[-1].headers["Accept"] == "application/json"


@pytest.mark.parametrize(
    ("own", "said", "path"),
    [
        ("", None, "/api/v1/namespaces/home/pods"),
        ("x", None, "/api/v1/namespaces/x/pods"),
        ("x", "y", "/api/v1/namespaces/y/pods"),
    ],
)
async def test_the_callers_namespace_counts_before_the_objects_and_ours(
    memory: MemoryTransport, client: Client, own: str, said: str | None, path: str
) -> None:
    memory.on(path, json_answer(pod(), 201))
    await client.create(Unstructured(pod("a", namespace=own)), namespace=said)
    assert sent(memory)[1] == path


async def test_a_cluster_scoped_object_is_created_in_no_namespace(
    memory: MemoryTransport, client: Client
) -> None:
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"}}
    memory.on("/api/v1/nodes", json_answer(node, 201))
    assert (await client.create(node)).name == "n"


async def test_every_write_can_say_who_writes_how_strictly_and_whether_for_real(
    memory: MemoryTransport, client: Client
) -> None:
    query = {"fieldManager": "me", "fieldValidation": "Strict", "dryRun": "All"}
    memory.on("/api/v1/namespaces/x/pods", json_answer(pod(), 201))
    memory.on(OBJECT, json_answer(pod()))
    obj = pod("a", namespace="x")
    await client.create(obj, field_manager="me", field_validation="Strict", dry_run=True)
    assert sent(memory)[2] == query
    await client.update(obj, field_manager="me", field_validation="Strict", dry_run=True)
    assert sent(memory)[2] == query
    await client.patch(
        PODS, "a", {}, namespace="x", field_manager="me", field_validation="Strict", dry_run=True
    )
    assert sent(memory)[2] == query
    await client.apply(obj, field_manager="me", field_validation="Strict", dry_run=True, force=True)
    assert sent(memory)[2] == {**query, "force": "true"}


async def test_an_eviction_is_created_below_its_pod(
    memory: MemoryTransport, client: Client
) -> None:
    eviction = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "a"}}
    memory.on(f"{OBJECT}/eviction", json_answer(GONE, 201))
    answer = await client.create(
        eviction, resource=PODS, namespace="x", name="a", subresource="eviction"
    )
    assert answer.kind == "Status"
    assert sent(memory) == ("POST", f"{OBJECT}/eviction", {}, eviction)


async def test_a_binding_is_created_below_its_pod(memory: MemoryTransport, client: Client) -> None:
    target = {"kind": "Node", "apiVersion": "v1", "name": "n1"}
    binding = {
        "kind": "Binding",
        "apiVersion": "v1",
        "metadata": {"name": "a", "namespace": "x"},
        "target": target,
    }
    memory.on(f"{OBJECT}/binding", json_answer(GONE, 201))
    await client.create(binding, resource=PODS, name="a", subresource="binding")
    assert sent(memory) == ("POST", f"{OBJECT}/binding", {}, binding)


async def test_create_knows_that_a_name_belongs_to_a_subresource(client: Client) -> None:
    with pytest.raises(InvalidNameError, match="'eviction' of which object"):
        await client.create(pod(), subresource="eviction")
    with pytest.raises(InvalidNameError, match="in the object's metadata"):
        await client.create(pod(), name="b")


async def test_update_puts_the_object_at_its_name(memory: MemoryTransport, client: Client) -> None:
    memory.on(OBJECT, json_answer(pod(rv="2")))
    read = await client.get(PODS, "a", namespace="x")
    edited = read.copy()
    edited.labels["new"] = "label"
    updated = await client.update(edited, namespace="x")
    assert updated.resource_version == "2"
    assert sent(memory) == ("PUT", OBJECT, {}, edited.to_dict())
    assert content_type(memory) == "application/json"


async def test_status_and_scale_are_updated_below_the_object(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(f"{OBJECT}/status", json_answer(pod()))
    await client.update(pod("a", namespace="x"), subresource="status")
    assert sent(memory)[:2] == ("PUT", f"{OBJECT}/status")

    path = "/apis/apps/v1/namespaces/x/deployments/d/scale"
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "d"}}
    memory.on(path, json_answer(scale))
    found = await client.get(DEPLOYMENTS, "d", namespace="x", subresource="scale")
    assert found.gvk == GVK("autoscaling", "v1", "Scale")
    changed = found.copy()
    changed["spec"] = {"replicas": 3}
    await client.update(changed, resource=DEPLOYMENTS, namespace="x", subresource="scale")
    assert sent(memory) == ("PUT", path, {}, {**scale, "spec": {"replicas": 3}})


@pytest.mark.parametrize(
    ("type", "patch", "media"),
    [
        ("merge", {"spec": {"x": None}}, "application/merge-patch+json"),
        ("json", [{"op": "remove", "path": "/spec"}], "application/json-patch+json"),
        ("strategic", {"spec": {}}, "application/strategic-merge-patch+json"),
        ("apply", pod(), "application/apply-patch+yaml"),
        ("apply", Unstructured(pod()), "application/apply-patch+yaml"),
    ],
)
async def test_a_patch_says_its_type(
    memory: MemoryTransport, client: Client, type: Any, patch: Any, media: str
) -> None:
    memory.on(f"{OBJECT}/status", json_answer(pod()))
    await client.patch(
        PODS, "a", patch, type=type, namespace="x", subresource="status", force=False
    )
    body = patch.to_dict() if isinstance(patch, Unstructured) else patch
    assert sent(memory) == ("PATCH", f"{OBJECT}/status", {"force": "false"}, body)
    assert content_type(memory) == media


async def test_a_patch_of_no_known_type_is_refused(memory: MemoryTransport, client: Client) -> None:
    with pytest.raises(
        ConfigError,
        match="'yaml' is not a type of patch; pass one of merge, json, strategic, apply",
    ):
        await client.patch(PODS, "a", {}, type="yaml", namespace="x")  # type: ignore[call-overload]  # wrong on purpose
    assert memory.requests == []


async def test_part_of_a_read_only_object_can_be_a_patch(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(OBJECT, json_answer(pod(spec={"a": [{"b": 1}]})))
    read = await client.get(PODS, "a", namespace="x")
    await client.patch(PODS, "a", {"spec": read["spec"]}, namespace="x")
    assert sent(memory)[3] == {"spec": {"a": [{"b": 1}]}}


async def test_apply_patches_by_name_and_owns_the_fields(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(OBJECT, json_answer(pod()))
    obj = pod("a", namespace="x")
    await client.apply(obj, field_manager="me")
    assert sent(memory) == ("PATCH", OBJECT, {"fieldManager": "me"}, obj)
    assert content_type(memory) == "application/apply-patch+yaml"


async def test_a_scale_can_be_applied(memory: MemoryTransport, client: Client) -> None:
    path = "/apis/apps/v1/namespaces/home/deployments/d/scale"
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "d"}}
    memory.on(path, json_answer(scale))
    await client.apply(scale, resource=DEPLOYMENTS, subresource="scale", field_manager="me")
    assert sent(memory)[:2] == ("PATCH", path)


# -- deleting --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        json_answer(GONE),
        json_answer({"kind": "Status", "status": "Success"}),
        Answer(200),
        Answer(204),
    ],
    ids=["a Status", "a bare Status", "silence", "no content"],
)
async def test_a_delete_that_is_done_gives_none(
    memory: MemoryTransport, client: Client, answer: Answer
) -> None:
    memory.on(OBJECT, answer)
    assert await client.delete(PODS, "a", namespace="x") is None
    options = {"apiVersion": "v1", "kind": "DeleteOptions"}
    assert sent(memory) == ("DELETE", OBJECT, {}, options)


async def test_a_delete_that_must_wait_gives_the_object(
    memory: MemoryTransport, client: Client
) -> None:
    dying = pod("a")
    dying["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    memory.on(OBJECT, json_answer(dying))
    left = await client.delete(PODS, "a", namespace="x")
    assert left is not None
    assert left.deletion_timestamp == "2026-01-01T00:00:00Z"


async def test_a_delete_says_how_and_on_which_conditions(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(OBJECT, json_answer(GONE))
    await client.delete(
        PODS,
        "a",
        namespace="x",
        grace_period=0,
        propagation="Foreground",
        uid="u1",
        resource_version="5",
        dry_run=True,
    )
    assert sent(memory)[3] == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Foreground",
        "preconditions": {"uid": "u1", "resourceVersion": "5"},
        "dryRun": ["All"],
    }


async def test_a_collection_is_deleted_by_selector(memory: MemoryTransport, client: Client) -> None:
    memory.on("/api/v1/namespaces/x/pods", json_answer(GONE))
    await client.delete_collection(
        PODS, namespace="x", labels={"app": "web"}, fields="status.phase=Failed", dry_run=True
    )
    assert sent(memory) == (
        "DELETE",
        "/api/v1/namespaces/x/pods",
        {"labelSelector": "app=web", "fieldSelector": "status.phase=Failed"},
        {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]},
    )


async def test_a_collection_of_all_namespaces_is_refused_with_the_way_out(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on("/api/v1/pods", json_answer(status(405, "MethodNotAllowed", "not allowed"), 405))
    with pytest.raises(MethodNotAllowedError, match="one namespace at a time: pass namespace="):
        await client.delete_collection(PODS)


async def test_a_collection_that_cannot_be_deleted_at_all_is_left_to_the_servers_words(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(
        "/api/v1/namespaces/x/pods",
        json_answer(status(405, "MethodNotAllowed", "not allowed"), 405),
    )
    with pytest.raises(MethodNotAllowedError) as caught:
        await client.delete_collection(PODS, namespace="x")
    assert caught.value.message == "not allowed"


# -- bad bodies, both ways -------------------------------------------------------------------


@pytest.mark.parametrize(
    "verb",
    [
        lambda client: client.get(PODS, "a", namespace="x"),
        lambda client: client.patch(PODS, "a", {}, namespace="x"),
        lambda client: client.delete(PODS, "a", namespace="x"),
        lambda client: client.update(pod("a", namespace="x")),
        lambda client: client.apply(pod("a", namespace="x"), field_manager="me"),
        lambda client: client.create(
            pod(), resource=PODS, namespace="x", name="a", subresource="b"
        ),
        lambda client: client.metadata.get(PODS, "a", namespace="x"),
    ],
    ids=["get", "patch", "delete", "update", "apply", "create", "metadata"],
)
@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"null",
        b"[1]",
        b'"text"',
        b"{}",
        b'{"kind":"Pod","apiVersion":"v1"}',
        b'{"kind":"Pod","apiVersion":"v1","metadata":"x"}',
        b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"\xff"}}',
        b'{"kind":"Pod","apiVersion":"v1","metadata":{},"x":' + b"[" * 100_000,
        b"\x1f\x8b\x08 not really gzip",
    ],
)
async def test_an_answer_that_is_no_object_is_named_with_its_path(
    memory: MemoryTransport,
    client: Client,
    verb: Callable[[Client], Awaitable[object]],
    body: bytes,
) -> None:
    for path in (OBJECT, f"{OBJECT}/b"):
        memory.on(path, Answer(200, body, {"Content-Type": "application/json"}))
    with pytest.raises(DecodeError, match=rf"[A-Z]+ {OBJECT}") as caught:
        await verb(client)
    assert len(str(caught.value)) < 500


async def test_an_answer_of_another_type_is_called_so(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(OBJECT, text_answer("<html>log in</html>", content_type="text/html"))
    with pytest.raises(DecodeError, match="text/html, neither JSON nor protobuf; is there a proxy"):
        await client.get(PODS, "a", namespace="x")


async def test_an_answer_of_no_type_may_be_json(memory: MemoryTransport, client: Client) -> None:
    memory.on(OBJECT, Answer(200, json_answer(pod()).body))
    assert (await client.get(PODS, "a", namespace="x")).name == "a"


@pytest.mark.parametrize("value", [{1, 2}, object(), b"bytes".join])
async def test_what_has_no_place_in_json_does_not_travel(
    memory: MemoryTransport, client: Client, value: object
) -> None:
    verbs = [
        client.create(pod("a", namespace="x", spec=value)),
        client.update(pod("a", namespace="x", spec=value)),
        client.apply(pod("a", namespace="x", spec=value), field_manager="me"),
        client.patch(PODS, "a", {"spec": value}, namespace="x"),
    ]
    for verb in verbs:
        with pytest.raises(EncodeError, match="JSON"):
            await verb
    assert {request.path for request in memory.requests} <= {"/api", "/apis"}


@pytest.mark.parametrize("wrong", [None, "pod", [], 5])
async def test_what_is_no_object_is_refused(client: Client, wrong: Any) -> None:
    with pytest.raises(EncodeError, match="pass a model, an Unstructured or a dict"):
        await client.create(wrong)


async def test_an_object_that_does_not_say_its_kind_needs_a_resource(
    memory: MemoryTransport, client: Client
) -> None:
    nameless = {"metadata": {"name": "a"}}
    with pytest.raises(InvalidNameError, match="apiVersion"):
        await client.create(nameless)
    memory.on("/api/v1/namespaces/home/pods", json_answer(pod(), 201))
    assert (await client.create(nameless, resource=PODS)).name == "a"


# -- what has no verb ------------------------------------------------------------------------


async def test_any_request_can_be_made(memory: MemoryTransport, client: Client) -> None:
    memory.on(f"{OBJECT}/log", text_answer("line 1\nline 2\n"))
    log = await client.request(
        "GET", f"{OBJECT}/log", query={"tailLines": "2"}, headers={"Accept": "text/plain"}
    )
    assert log == b"line 1\nline 2\n"
    assert memory.requests[0].query == {"tailLines": "2"}
    assert memory.requests[0].headers == {"Accept": "text/plain"}


@pytest.mark.parametrize("path", ["", "version", ".evil.test/x", "@evil.test/", "/a?b=c", "/a#b"])
async def test_a_request_stays_below_the_servers_address(
    memory: MemoryTransport, client: Client, path: str
) -> None:
    with pytest.raises(InvalidNameError, match="is not a path"):
        await client.request("GET", path)
    assert memory.requests == []


async def test_the_servers_version_is_a_dict(memory: MemoryTransport, client: Client) -> None:
    memory.on("/version", json_answer({"gitVersion": "v1.37.1"}))
    assert (await client.server_version())["gitVersion"] == "v1.37.1"
    memory.on("/version", text_answer("hello"))
    with pytest.raises(DecodeError, match="GET /version"):
        await client.server_version()


async def test_the_client_knows_itself(memory: MemoryTransport, client: Client) -> None:
    assert repr(client) == "<Client of https://cluster.test>"
    assert client.namespace == client.metadata.namespace == "home"
    assert client.discovery is client.metadata.discovery


async def test_closing_closes_the_transport(memory: MemoryTransport, client: Client) -> None:
    await client.close()
    await client.close()
    assert memory.closed


async def test_the_body_of_a_subresource_has_a_kind_of_its_own_and_the_error_says_so(
    memory: MemoryTransport, client: Client
) -> None:
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "d", "namespace": "x"},
        "spec": {"replicas": 3},
    }
    with pytest.raises(NoMatchError, match="pass resource="):
        await client.update(scale, subresource="scale")
    path = "/apis/apps/v1/namespaces/x/deployments/d/scale"
    memory.on(path, json_answer(scale))
    await client.update(scale, resource=DEPLOYMENTS, subresource="scale")
    assert sent(memory) == ("PUT", path, {}, scale)
