"""The verbs in process: what they accept, return and refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kinform.api import GVK, GVR, ApiResource
from kinform.client import ResourceOrModel
from kinform.errors import (
    AlreadyExistsError,
    BadRequestError,
    ConfigError,
    ConflictError,
    InvalidError,
    NoMatchError,
    NotFoundError,
)
from kinform.models.core.v1 import ConfigMap
from kinform.models.meta.v1 import ObjectMeta
from kinform.objects import Unstructured
from kinform.testing import ApiServer
from tests.support import raw_http

CONFIG_MAPS = GVR("", "v1", "configmaps")
DEPLOYMENTS = GVR("apps", "v1", "deployments")
PODS = GVR("", "v1", "pods")


def _map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": data or {},
    }


async def test_an_object_without_a_namespace_is_in_default(kinform_api: ApiServer) -> None:
    created = kinform_api.create(_map("a"))

    assert created["metadata"]["namespace"] == "default"
    assert kinform_api.get(CONFIG_MAPS, "a") == created


async def test_arguments_and_results_are_not_shared(kinform_api: ApiServer) -> None:
    given = _map("a", {"k": "v"})
    created = kinform_api.create(given)
    given["data"]["k"] = "changed"
    created["data"]["k"] = "changed"

    assert kinform_api.get(CONFIG_MAPS, "a")["data"] == {"k": "v"}


async def test_an_update_of_an_old_version_is_a_conflict(kinform_api: ApiServer) -> None:
    created = kinform_api.create(_map("a"))
    kinform_api.update({**created, "data": {"k": "1"}})

    with pytest.raises(ConflictError, match="the object has been modified"):
        kinform_api.update({**created, "data": {"k": "2"}})


async def test_status_and_spec_are_updated_separately(kinform_api: ApiServer) -> None:
    created = kinform_api.create(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {}}
    )
    assert created["spec"]["replicas"] == 1

    by_status = {**created, "spec": {"replicas": 9}, "status": {"replicas": 1}}
    updated = kinform_api.update(by_status, subresource="status")
    assert (updated["spec"]["replicas"], updated["status"]) == (1, {"replicas": 1})
    assert updated["metadata"]["generation"] == 1

    by_spec = {**updated, "spec": {**updated["spec"], "replicas": 3}, "status": {}}
    updated = kinform_api.update(by_spec)
    assert (updated["spec"]["replicas"], updated["status"]) == (3, {"replicas": 1})
    assert updated["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("merge", {"data": {"k": "2"}}),
        ("strategic", {"data": {"k": "2"}}),
        ("json", [{"op": "replace", "path": "/data/k", "value": "2"}]),
    ],
)
async def test_all_kinds_of_patches(kinform_api: ApiServer, kind: Any, patch: Any) -> None:
    kinform_api.create(_map("a", {"k": "1", "other": "1"}))

    patched = kinform_api.patch(CONFIG_MAPS, "a", patch, type=kind)

    assert patched["data"] == {"k": "2", "other": "1"}


async def test_an_unknown_kind_of_patch_is_refused(kinform_api: ApiServer) -> None:
    kinform_api.create(_map("a"))

    with pytest.raises(BadRequestError, match="json, merge, strategic"):
        kinform_api.patch(CONFIG_MAPS, "a", {}, type="apply")  # type: ignore[call-overload]


async def test_a_patch_without_a_change_keeps_the_version(kinform_api: ApiServer) -> None:
    kinform_api.create(_map("a", {"k": "1"}))
    patched = kinform_api.patch(CONFIG_MAPS, "a", {"data": {"k": "2"}})

    assert kinform_api.patch(CONFIG_MAPS, "a", {"data": {"k": "2"}}) == patched
    assert kinform_api.resource_version == patched["metadata"]["resourceVersion"]


async def test_a_deletion_says_whether_it_is_done(kinform_api: ApiServer) -> None:
    kinform_api.create(_map("free"))
    kinform_api.create(_map("held", finalizers=["example.test/held"]))

    assert kinform_api.delete(CONFIG_MAPS, "free")
    assert not kinform_api.delete(CONFIG_MAPS, "held")
    with pytest.raises(NotFoundError):
        kinform_api.delete(CONFIG_MAPS, "free")


async def test_a_list_can_be_a_selection(kinform_api: ApiServer) -> None:
    kinform_api.create(_map("a", labels={"app": "web"}))
    kinform_api.create(_map("b", labels={"app": "db"}))

    by_label = kinform_api.list(CONFIG_MAPS, labels="app!=web")
    by_field = kinform_api.list(CONFIG_MAPS, fields="metadata.name=a")

    assert [found["metadata"]["name"] for found in by_label] == ["b"]
    assert [found["metadata"]["name"] for found in by_field] == ["a"]
    assert kinform_api.list(CONFIG_MAPS, "kube-system") == []


async def test_loaded_objects_are_as_they_were(kinform_api: ApiServer) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "uid": "mine", "creationTimestamp": "2020-01-01T00:00:00Z"},
        "status": {"phase": "Running"},
    }

    assert kinform_api.load([pod]) == 1

    found = kinform_api.get(PODS, "p")
    assert found["status"] == {"phase": "Running"}
    assert found["metadata"]["uid"] == "mine"
    assert found["metadata"]["creationTimestamp"] == "2020-01-01T00:00:00Z"
    assert found["metadata"]["resourceVersion"] == kinform_api.resource_version
    assert kinform_api.list(PODS, fields="status.phase=Running") == [found]


@pytest.mark.parametrize("indent", [None, 2])
async def test_objects_can_be_loaded_as_json(kinform_api: ApiServer, indent: int | None) -> None:
    text = json.dumps(_map("a", {"k": "line\nbreak"}), indent=indent).encode()

    kinform_api.load([text])

    assert kinform_api.get(CONFIG_MAPS, "a")["data"] == {"k": "line\nbreak"}


async def test_a_secret_in_plain_text_is_kept_encoded(kinform_api: ApiServer) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}

    created = kinform_api.create({**secret, "stringData": {"a": "b"}, "data": {"c": "ZA=="}})

    assert created["data"] == {"a": "Yg==", "c": "ZA=="}
    assert created["type"] == "Opaque"
    assert "stringData" not in created
    secrets = GVR("", "v1", "secrets")
    patched = kinform_api.patch(secrets, "s", {"stringData": {"c": "e"}})
    assert patched["data"] == {"a": "Yg==", "c": "ZQ=="}


async def test_what_cannot_be_loaded_is_refused(kinform_api: ApiServer) -> None:
    kinform_api.load([_map("a")])

    with pytest.raises(AlreadyExistsError):
        kinform_api.load([_map("a")])
    with pytest.raises(BadRequestError, match="cannot load an object"):
        kinform_api.load([b'{"kind":'])
    with pytest.raises(InvalidError):
        kinform_api.load([_map("Not_A_Name")])


async def test_an_object_needs_a_served_kind(kinform_api: ApiServer) -> None:
    with pytest.raises(BadRequestError, match="kind and apiVersion"):
        kinform_api.create({"metadata": {"name": "a"}})
    with pytest.raises(NoMatchError, match="Gadget"):
        kinform_api.create({"apiVersion": "v1", "kind": "Gadget", "metadata": {"name": "a"}})
    with pytest.raises(NoMatchError, match="v1/gadgets"):
        kinform_api.get(GVR("", "v1", "gadgets"), "a")


async def test_objects_are_the_same_in_every_version_of_their_group(
    kinform_api: ApiServer,
) -> None:
    core = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "reason": "Because"}
    kinform_api.create(core)

    found = kinform_api.get(GVR("events.k8s.io", "v1", "events"), "e")

    assert found["apiVersion"] == "events.k8s.io/v1"
    assert found["reason"] == "Because"


async def test_a_recreated_object_has_the_same_name_and_content_and_a_new_uid(
    kinform_api: ApiServer,
) -> None:
    old = kinform_api.create(_map("a", {"k": "v"}, labels={"app": "x"}))
    version = old["metadata"]["resourceVersion"]
    path = "/api/v1/namespaces/default/configmaps"
    watch = f"{path}?watch=true&resourceVersion={version}"

    new = kinform_api.recreate(CONFIG_MAPS, "a")
    async with raw_http.open_answer(kinform_api.url, watch) as answer:
        events = [await answer.event() for _ in range(2)]

    assert (new["data"], new["metadata"]["labels"]) == ({"k": "v"}, {"app": "x"})
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert [event["type"] for event in events] == ["DELETED", "ADDED"]


async def test_an_object_with_a_finalizer_cannot_be_recreated(
    kinform_api: ApiServer,
) -> None:
    kinform_api.create(_map("a", finalizers=["example.com/keep"]))

    with pytest.raises(ConflictError, match="finalizers prevent the deletion"):
        kinform_api.recreate(CONFIG_MAPS, "a")


ADDRESSES: list[ResourceOrModel] = [
    CONFIG_MAPS,
    "v1/configmaps",
    ConfigMap,
    GVK("", "v1", "ConfigMap"),
    ApiResource(CONFIG_MAPS, "ConfigMap", namespaced=True),
]


@pytest.mark.parametrize("resource", ADDRESSES, ids=repr)
async def test_every_verb_takes_what_a_client_takes(kinform_api: ApiServer, resource: Any) -> None:
    """18.27: models, text and classes."""
    api = kinform_api
    api.create(ConfigMap(metadata=ObjectMeta(name="a"), data={"k": "1"}))

    def data_of(found: Any) -> dict[str, str]:
        data: dict[str, str] = found.data if isinstance(found, ConfigMap) else found["data"]
        return data

    assert data_of(api.get(resource, "a")) == {"k": "1"}
    assert data_of(api.patch(resource, "a", {"data": {"k": "2"}})) == {"k": "2"}
    assert data_of(api.recreate(resource, "a")) == {"k": "2"}
    assert [data_of(each) for each in api.list(resource, fields={"metadata.name": "a"})] == [
        {"k": "2"}
    ]
    assert api.delete(resource, "a")


async def test_models_are_written_and_returned(kinform_api: ApiServer) -> None:
    """18.27: only dicts were accepted."""
    created = kinform_api.create(ConfigMap(metadata=ObjectMeta(name="a"), data={"k": "1"}))
    edited = created.copy()
    edited.data = {"k": "2"}
    updated = kinform_api.update(edited)

    assert (created.namespace, created.data, updated.data) == ("default", {"k": "1"}, {"k": "2"})
    assert int(updated.resource_version) > int(created.resource_version)
    loaded = ConfigMap(metadata=ObjectMeta(name="b", uid="mine"))
    assert kinform_api.load([loaded, Unstructured(_map("c"))]) == 2
    assert kinform_api.get(ConfigMap, "b").uid == "mine"
    assert kinform_api.create(Unstructured(_map("d")))["metadata"]["name"] == "d"


@pytest.mark.parametrize("given", [5, "a", None, ConfigMap], ids=repr)
async def test_only_objects_are_written(kinform_api: ApiServer, given: Any) -> None:
    """18.27: an error of this library, not an AttributeError."""
    for write in (kinform_api.create, kinform_api.update):
        with pytest.raises(ConfigError, match="takes an object: a model or a dict, not "):
            write(given)


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        ("v1/configmap", "'v1/configmap' is not served; did you mean v1/configmaps"),
        (GVK("", "v1", "Configmap"), "did you mean v1/ConfigMap"),
        ("example.com/v1/things", "create its CustomResourceDefinition first"),
    ],
    ids=str,
)
async def test_similar_resources_are_suggested(
    kinform_api: ApiServer, resource: Any, message: str
) -> None:
    """18.27: the error names what exists."""
    with pytest.raises(NoMatchError, match=message):
        kinform_api.get(resource, "a")
