"""Namespaces go with everything in them, and wait for what does not want to go."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.api import GVR
from kinform.errors import ForbiddenError, NotFoundError
from kinform.testing import ApiServer
from tests.support.waiting import wait_until

NAMESPACES = GVR("", "v1", "namespaces")
CONFIG_MAPS = GVR("", "v1", "configmaps")
PODS = GVR("", "v1", "pods")
SERVICES = GVR("", "v1", "services")


def _namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _map(name: str, namespace: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, **metadata},
    }


def _names(api: ApiServer, gvr: GVR, namespace: str = "") -> list[str]:
    return [found["metadata"]["name"] for found in api.list(gvr, namespace)]


async def test_a_new_server_has_what_every_cluster_has(kinform_api: ApiServer) -> None:
    assert _names(kinform_api, NAMESPACES) == [
        "default",
        "kube-node-lease",
        "kube-public",
        "kube-system",
    ]
    assert _names(kinform_api, SERVICES) == ["kubernetes"]


async def test_a_namespace_takes_its_content_with_it(kinform_api: ApiServer) -> None:
    api = kinform_api
    api.create(_namespace("team"))
    api.create(_map("one", "team"))
    api.create(_map("one", "default"))
    # A scheduled pod would wait for its kubelet, which there is none of.
    pod = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
    metadata = {"name": "p", "namespace": "team"}
    api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod})

    assert not api.delete(NAMESPACES, "team")
    await wait_until(lambda: "team" not in _names(api, NAMESPACES))

    assert _names(api, CONFIG_MAPS) == ["one"]
    assert _names(api, PODS) == []


async def test_a_finalizer_keeps_the_namespace_until_it_is_taken_away(
    kinform_api: ApiServer,
) -> None:
    api = kinform_api
    api.create(_namespace("team"))
    api.create(_map("held", "team", finalizers=["example.test/held"]))
    api.create(_map("free", "team"))

    api.delete(NAMESPACES, "team")
    await wait_until(lambda: _names(api, CONFIG_MAPS, "team") == ["held"])

    assert api.get(NAMESPACES, "team")["status"]["phase"] == "Terminating"
    assert api.get(CONFIG_MAPS, "held", "team")["metadata"]["deletionTimestamp"]
    with pytest.raises(ForbiddenError, match="because it is being terminated"):
        api.create(_map("late", "team"))

    api.patch(CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, "team")

    with pytest.raises(NotFoundError):
        api.get(NAMESPACES, "team")


async def test_a_namespace_can_be_created_again(kinform_api: ApiServer) -> None:
    api = kinform_api
    first = api.create(_namespace("team"))
    api.create(_map("one", "team"))
    api.delete(NAMESPACES, "team")
    await wait_until(lambda: "team" not in _names(api, NAMESPACES))

    second = api.create(_namespace("team"))

    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert _names(api, CONFIG_MAPS, "team") == []


async def test_nothing_can_be_created_in_a_namespace_that_is_not_there(
    kinform_api: ApiServer,
) -> None:
    with pytest.raises(NotFoundError, match='namespaces "nowhere" not found'):
        kinform_api.create(_map("one", "nowhere"))


async def test_the_name_label_cannot_be_taken_away(kinform_api: ApiServer) -> None:
    kinform_api.create(_namespace("team"))

    patched = kinform_api.patch(NAMESPACES, "team", {"metadata": {"labels": None}})

    assert patched["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}
