"""Strategic merge patches of built-in kinds: what ``kubectl apply`` and ``edit`` send."""

from __future__ import annotations

from tests.conformance.harness import STRATEGIC_MERGE_PATCH, Json, Server, assert_refused
from tests.conformance.samples import config_map, deployment, pod


async def _patch(server: Server, path: str, change: Json) -> Json:
    answer = await server.patch(path, change, content_type=STRATEGIC_MERGE_PATCH)
    return answer.object()


def _containers(found: Json) -> dict[str, str]:
    listed = found["spec"]["template"]["spec"]["containers"]
    return {container["name"]: container["image"] for container in listed}


def _for_containers(*containers: Json) -> Json:
    return {"spec": {"template": {"spec": {"containers": list(containers)}}}}


async def test_maps_are_merged_and_null_removes(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one", keep="1", drop="2"))

    patched = await _patch(server, f"{configmaps}/one", {"data": {"drop": None, "add": "3"}})

    assert patched["data"] == {"keep": "1", "add": "3"}


async def test_containers_are_merged_by_name(server: Server, deployments: str) -> None:
    await server.create(deployments, deployment("one"))

    patched = await _patch(
        server,
        f"{deployments}/one",
        _for_containers(
            {"name": "main", "image": "example.test/main:2"},
            {"name": "side", "image": "example.test/side:1"},
        ),
    )

    assert _containers(patched) == {
        "main": "example.test/main:2",
        "side": "example.test/side:1",
    }


async def test_a_container_is_removed_by_directive(server: Server, deployments: str) -> None:
    await server.create(deployments, deployment("one"))
    side = {"name": "side", "image": "example.test/side:1"}
    await _patch(server, f"{deployments}/one", _for_containers(side))

    patched = await _patch(
        server, f"{deployments}/one", _for_containers({"name": "side", "$patch": "delete"})
    )

    assert _containers(patched) == {"main": "example.test/main:1"}


async def test_a_list_is_replaced_by_directive(server: Server, deployments: str) -> None:
    await server.create(deployments, deployment("one"))
    only = {"name": "only", "image": "example.test/only:1"}

    patched = await _patch(
        server, f"{deployments}/one", _for_containers({"$patch": "replace"}, only)
    )

    assert _containers(patched) == {"only": "example.test/only:1"}


async def test_finalizers_are_merged_as_a_set(server: Server, configmaps: str) -> None:
    first = config_map("one")
    first["metadata"]["finalizers"] = ["kinform.test/a"]
    await server.create(configmaps, first)

    patched = await _patch(
        server,
        f"{configmaps}/one",
        {"metadata": {"finalizers": ["kinform.test/b", "kinform.test/a"]}},
    )

    assert set(patched["metadata"]["finalizers"]) == {"kinform.test/a", "kinform.test/b"}
    assert len(patched["metadata"]["finalizers"]) == 2


async def test_a_finalizer_is_removed_by_directive(server: Server, configmaps: str) -> None:
    first = config_map("one")
    first["metadata"]["finalizers"] = ["kinform.test/a", "kinform.test/b"]
    await server.create(configmaps, first)

    patched = await _patch(
        server,
        f"{configmaps}/one",
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["kinform.test/a"]}},
    )

    assert patched["metadata"]["finalizers"] == ["kinform.test/b"]


async def test_conditions_of_the_status_are_merged_by_type(server: Server, pods: str) -> None:
    await server.create(pods, pod("one", node="somewhere"))
    ready = {"type": "Ready", "status": "False"}
    started = {"type": "Initialized", "status": "True"}
    await _patch(server, f"{pods}/one/status", {"status": {"conditions": [ready, started]}})

    patched = await _patch(
        server,
        f"{pods}/one/status",
        {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
    )

    found = {
        condition["type"]: condition["status"] for condition in patched["status"]["conditions"]
    }
    assert found == {"Ready": "True", "Initialized": "True"}


async def test_a_deletion_of_elements_that_is_not_a_list_is_ignored(
    server: Server, configmaps: str
) -> None:
    found = config_map("one")
    found["metadata"]["finalizers"] = ["example.test/a"]
    await server.create(configmaps, found)
    directive = "$deleteFromPrimitiveList/finalizers"

    patched = await _patch(server, f"{configmaps}/one", {"metadata": {directive: 5}})
    emptied = await _patch(server, f"{configmaps}/one", {"metadata": {directive: None}})

    assert patched["metadata"]["finalizers"] == ["example.test/a"]
    assert "finalizers" not in emptied["metadata"]


async def test_an_order_that_is_not_a_list_is_an_error(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one"))

    answer = await server.patch(
        f"{configmaps}/one",
        {"metadata": {"$setElementOrder/finalizers": 5}},
        content_type=STRATEGIC_MERGE_PATCH,
    )

    assert_refused(answer, 500, None, "expected a []interface {}, but received a int64")


async def test_a_custom_kind_takes_no_strategic_merge_patch(server: Server, widgets: str) -> None:
    answer = await server.patch(f"{widgets}/one", {}, content_type=STRATEGIC_MERGE_PATCH)

    assert_refused(
        answer,
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
    )
