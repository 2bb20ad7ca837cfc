"""Helpers of reconcilers on the embedded and on the real server.

``C-68`` is client-go's UntilWithSync and RetryWatcher; all else corresponds to the tests of
controller-runtime's controllerutil.
"""

from __future__ import annotations

import asyncio
from typing import Any, assert_type

import pytest

from kinform import Cache, Client
from kinform.client import EventType
from kinform.controllers.helpers import (
    OperationResult,
    add_finalizer,
    create_or_patch,
    create_or_update,
    find_condition,
    is_condition_true,
    is_controlled_by,
    remove_finalizer,
    resuming_watch,
    retry_on_conflict,
    set_condition,
    set_controller_reference,
    wait_until,
    wait_until_gone,
)
from kinform.errors import (
    AlreadyStoppedError,
    ConfigError,
    ConflictError,
    ExpiredError,
    InvalidError,
    NotFoundError,
    WaitTimeoutError,
)
from kinform.informers import ListWatch, SharedIndexInformer
from kinform.models.apps.v1 import Deployment
from kinform.models.core.v1 import ConfigMap, Pod
from kinform.models.meta.v1 import ObjectMeta
from kinform.objects import Quantity, Unstructured
from kinform.testing import ApiServer, faults
from tests.contract.cache_server import CacheServer
from tests.support.config_maps import MAPS

WRITERS = [create_or_update, create_or_patch]
EITHER_WAY = pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)


def config_map(namespace: str, name: str = "settings", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data=data)


def deployment(namespace: str) -> Deployment:
    return Deployment.from_dict(
        {
            "metadata": {"name": "web", "namespace": namespace},
            "spec": {
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {
                        "containers": [
                            {
                                "name": "main",
                                "image": "web:1",
                                "resources": {"requests": {"cpu": "1"}},
                            }
                        ]
                    },
                },
            },
        }
    )


# -- create or update ------------------------------------------------------------------------


@EITHER_WAY
async def test_object_is_created_updated_or_left_alone(server: CacheServer, write: Any) -> None:
    """cr-50: each result, with one request to read and at most one to write."""
    namespace = await server.new_namespace()
    wanted = config_map(namespace, color="red")

    def mutate(found: ConfigMap) -> None:
        found.data["color"] = color

    color = "red"
    made, result = await write(server.client, wanted, mutate)
    assert result is OperationResult.CREATED
    again, result = await write(server.client, wanted, mutate)
    assert result is OperationResult.UNCHANGED
    assert again.resource_version == made.resource_version
    color = "blue"
    changed, result = await write(server.client, wanted, mutate)
    assert (result, changed.data) == (OperationResult.UPDATED, {"color": "blue"})
    assert type(changed) is ConfigMap
    stored = await server.client.get(ConfigMap, "settings", namespace=namespace)
    assert stored.resource_version == changed.resource_version
    assert wanted.data == {"color": "red"}, "the given object is not modified"


@EITHER_WAY
async def test_values_of_others_are_kept(server: CacheServer, write: Any) -> None:
    """cr-50: the function receives the stored object, with what the server and others have set."""
    namespace = await server.new_namespace()
    wanted = deployment(namespace)
    await write(server.client, wanted, lambda found: None)
    await server.client.patch(
        Deployment, "web", {"metadata": {"labels": {"team": "a"}}}, namespace=namespace
    )

    def mutate(found: Deployment) -> None:
        found.spec.replicas = 3
        found.spec.template.spec.containers[0].image = "web:2"

    changed, result = await write(server.client, wanted, mutate)
    assert result is OperationResult.UPDATED
    assert changed.metadata.labels == {"team": "a"}
    assert changed.spec.replicas == 3
    _, result = await write(server.client, wanted, mutate)
    assert result is OperationResult.UNCHANGED


@EITHER_WAY
async def test_equal_quantities_are_no_change(server: CacheServer, write: Any) -> None:
    """cr-50: 1 and 1000m are the same, as in Go's semantic comparison."""
    namespace = await server.new_namespace()
    wanted = deployment(namespace)
    await write(server.client, wanted, lambda found: None)

    def mutate(found: Deployment) -> None:
        found.spec.template.spec.containers[0].resources.requests["cpu"] = Quantity("1000m")

    _, result = await write(server.client, wanted, mutate)
    assert result is OperationResult.UNCHANGED


@EITHER_WAY
async def test_status_is_written_through_its_subresource(server: CacheServer, write: Any) -> None:
    """cr-50: status alone, both, and with the creation."""
    namespace = await server.new_namespace()
    wanted = deployment(namespace)
    generation, replicas = 0, 1

    def mutate(found: Deployment) -> None:
        found.spec.replicas = replicas
        found.status.observed_generation = generation

    await write(server.client, wanted, mutate)
    generation = 1
    changed, result = await write(server.client, wanted, mutate)
    assert result is OperationResult.UPDATED_STATUS_ONLY
    generation, replicas = 2, 2
    changed, result = await write(server.client, wanted, mutate)
    assert result is OperationResult.UPDATED_STATUS
    stored = await server.client.get(Deployment, "web", namespace=namespace)
    assert (stored.spec.replicas, stored.status.observed_generation) == (2, 2)
    assert stored.resource_version == changed.resource_version
    _, result = await write(server.client, wanted, mutate)
    assert result is OperationResult.UNCHANGED
    await server.client.delete(Deployment, "web", namespace=namespace, propagation="Background")
    made, result = await write(server.client, wanted, mutate)
    assert (result, made.status.observed_generation) == (OperationResult.CREATED, 2)


@EITHER_WAY
async def test_dicts_are_unstructured_objects(server: CacheServer, write: Any) -> None:
    """cr-50: without a model, with the same results."""
    namespace = await server.new_namespace()
    wanted = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": namespace},
    }

    async def mutate(found: Unstructured) -> None:
        await asyncio.sleep(0)
        found["data"] = {"n": "1"}

    results = [(await write(server.client, wanted, mutate)) for _ in range(2)]
    assert [result for _, result in results] == [
        OperationResult.CREATED,
        OperationResult.UNCHANGED,
    ]
    assert type(results[0][0]) is Unstructured
    assert "data" not in wanted


@EITHER_WAY
@pytest.mark.parametrize("exists", [False, True])
async def test_function_must_not_change_the_key(
    server: CacheServer, write: Any, exists: bool
) -> None:
    """cr-50: nothing is written."""
    namespace = await server.new_namespace()
    wanted = config_map(namespace)
    if exists:
        await server.client.create(wanted)

    def rename(found: ConfigMap) -> None:
        found.name = "other"

    def move(found: ConfigMap) -> None:
        found.metadata.namespace = "other"

    for mutate in (rename, move):
        with pytest.raises(ConfigError, match=f"changed ConfigMap {namespace}/settings to"):
            await write(server.client, wanted, mutate)
    with pytest.raises(ConfigError, match="returned another object"):
        await write(server.client, wanted, lambda found: found.copy())
    listed = await server.client.list(ConfigMap, namespace=namespace)
    assert ("settings" in [each.name for each in listed]) is exists
    assert "other" not in [each.name for each in listed]


async def test_update_conflicts_where_a_patch_merges(server: CacheServer) -> None:
    """cr-50: a modification between read and write; with a lock, a patch conflicts as well."""
    namespace = await server.new_namespace()
    await server.client.create(config_map(namespace, a="1"))
    number = 0

    async def mutate(found: ConfigMap) -> None:
        nonlocal number
        number += 1
        theirs = {"data": {"theirs": str(number)}}
        await server.client.patch(ConfigMap, "settings", theirs, namespace=namespace)
        found.data["ours"] = str(number)

    wanted = config_map(namespace)
    with pytest.raises(ConflictError):
        await create_or_update(server.client, wanted, mutate)
    with pytest.raises(ConflictError):
        await create_or_patch(server.client, wanted, mutate, optimistic_lock=True)
    merged, result = await create_or_patch(server.client, wanted, mutate)
    assert result is OperationResult.UPDATED
    assert merged.data == {"a": "1", "theirs": "3", "ours": "3"}


async def test_conflicting_changes_are_retried_until_they_succeed(server: CacheServer) -> None:
    """cr-50: five tasks increment one number; no increment is lost."""
    namespace = await server.new_namespace()
    await server.client.create(config_map(namespace, n="0"))

    async def increment() -> ConfigMap:
        found = await server.client.get(ConfigMap, "settings", namespace=namespace)
        edited = found.copy()
        edited.data["n"] = str(int(edited.data["n"]) + 1)
        return await server.client.update(edited)

    await asyncio.gather(*(retry_on_conflict(increment, attempts=50) for _ in range(5)))
    stored = await server.client.get(ConfigMap, "settings", namespace=namespace)
    assert stored.data == {"n": "5"}


@EITHER_WAY
async def test_client_of_a_cache_reads_from_it(server: CacheServer, write: Any) -> None:
    """cr-50: without a request to read, and with the own writes in the next read."""
    namespace = await server.new_namespace()
    async with Cache(server.client, namespace=namespace) as cache:
        client = cache.client()
        wanted = config_map(namespace)

        async def write_number(number: str) -> str:
            def mutate(found: ConfigMap) -> None:
                found.data["n"] = number

            _, result = await write(client, wanted, mutate)
            done: OperationResult = result
            return done.value

        results = [await write_number(number) for number in ("1", "1", "2", "2")]
        assert results == ["created", "unchanged", "updated", "unchanged"]


@EITHER_WAY
async def test_namespace_that_does_not_exist_is_an_error(server: CacheServer, write: Any) -> None:
    """cr-50: the object is not found, and cannot be created."""
    with pytest.raises(NotFoundError, match=f"{server.marker}-none"):
        await write(server.client, config_map(f"{server.marker}-none"), lambda found: None)
    with pytest.raises(ConfigError, match="the ConfigMap needs a name"):
        await write(server.client, ConfigMap(), lambda found: None)


async def test_results_keep_the_class_of_the_object(server: CacheServer) -> None:
    """cr-50: for type checkers."""
    namespace = await server.new_namespace()
    typed = await create_or_update(server.client, config_map(namespace), lambda found: None)
    assert_type(typed, tuple[ConfigMap, OperationResult])
    tree: dict[str, Any] = typed[0].to_dict()
    plain = await create_or_patch(server.client, tree, lambda found: None)
    assert_type(plain, tuple[Unstructured, OperationResult])
    assert plain[1] is OperationResult.UNCHANGED


async def test_kind_without_a_status_subresource_keeps_its_status() -> None:
    """cr-50: it is written with the object: such kinds exist as custom resources only."""
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "plains.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "plains", "singular": "plain", "kind": "Plain"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "x-kubernetes-preserve-unknown-fields": True,
                        }
                    },
                }
            ],
        },
    }
    async with ApiServer() as api, Client(api.config) as client:
        await client.create(definition)
        wanted = {"apiVersion": "example.com/v1", "kind": "Plain", "metadata": {"name": "a"}}
        phase, size = "one", 1

        def mutate(found: Unstructured) -> None:
            found["size"] = size
            found["status"] = {"phase": phase}

        for write in WRITERS:
            await write(client, wanted, mutate)  # type: ignore[operator]
            phase = "two"
            made, result = await write(client, wanted, mutate)  # type: ignore[operator]
            assert (result, made["status"]) == (
                OperationResult.UPDATED_STATUS_ONLY,
                {"phase": "two"},
            )
            phase, size = "three", 2
            made, result = await write(client, wanted, mutate)  # type: ignore[operator]
            assert (result, made["status"]) == (OperationResult.UPDATED_STATUS, {"phase": "three"})
            phase, size = "one", 1


# -- owners, finalizers, conditions ----------------------------------------------------------


async def test_server_accepts_what_the_helpers_write(server: CacheServer) -> None:
    """cr-50: an owner, a finalizer that delays the deletion, a condition in the status."""
    namespace = await server.new_namespace()
    owner = await server.client.create(deployment(namespace))
    child = config_map(namespace)
    set_controller_reference(owner, child)
    add_finalizer(child, "example.com/web")
    made = await server.client.create(child)
    assert is_controlled_by(owner, made)

    edited = owner.copy()
    set_condition(edited, type="Checked", status=True, reason="Looked", message="fine")
    stored = await server.client.update(edited, subresource="status")
    assert is_condition_true(stored, "Checked")
    assert find_condition(stored, "Checked").last_transition_time is not None
    assert not set_condition(
        stored.copy(), type="Checked", status=True, reason="Looked", message="fine"
    )

    await server.client.delete(ConfigMap, "settings", namespace=namespace)
    waiting = (await server.client.get(ConfigMap, "settings", namespace=namespace)).copy()
    assert waiting.metadata.deletion_timestamp is not None
    add_finalizer(waiting, "example.com/too-late")
    with pytest.raises(InvalidError):
        await server.client.update(waiting)
    remove_finalizer(waiting, "example.com/too-late")
    assert remove_finalizer(waiting, "example.com/web")
    await server.client.update(waiting)
    with pytest.raises(NotFoundError):
        await server.client.get(ConfigMap, "settings", namespace=namespace)


# -- waiting ---------------------------------------------------------------------------------


def informer_of(server: CacheServer, namespace: str) -> SharedIndexInformer[ConfigMap]:
    return SharedIndexInformer(
        ListWatch.for_resource(server.client, ConfigMap, namespace=namespace)
    )


async def test_wait_ends_when_the_object_is_in_the_wanted_state(server: CacheServer) -> None:
    """C-68: also if it is already, or does not exist yet."""
    namespace = await server.new_namespace()
    key = f"{namespace}/settings"
    async with informer_of(server, namespace) as maps, asyncio.timeout(50):
        waiting = asyncio.ensure_future(wait_until(maps, key, lambda found: found.data["n"] == "2"))
        await maps.has_synced
        await server.client.create(config_map(namespace, n="1"))
        created = await wait_until(maps, key)
        assert not waiting.done()
        edited = created.copy()
        edited.data["n"] = "2"
        await server.client.update(edited)
        found = assert_type(await waiting, ConfigMap)
        assert found.data == {"n": "2"}
        assert (await wait_until(maps, key, lambda found: found.data["n"] == "2")) == found


async def test_conditions_hold_one_after_the_other(server: CacheServer) -> None:
    """C-68: every state is seen, and the last one is checked against the next condition."""
    namespace = await server.new_namespace()
    key = f"{namespace}/settings"
    made = await server.client.create(config_map(namespace, n="1"))
    async with informer_of(server, namespace) as maps, asyncio.timeout(50):
        await maps.has_synced
        checked: list[tuple[int, str]] = []

        def is_number(step: int, number: str) -> Any:
            def check(found: ConfigMap) -> bool:
                checked.append((step, found.data["n"]))
                return found.data["n"] == number

            return check

        waiting = asyncio.ensure_future(
            wait_until(maps, key, is_number(1, "2"), is_number(2, "2"), is_number(3, "1"))
        )
        await asyncio.sleep(0)
        for number in ("2", "3", "1"):
            edited = made.copy()
            edited.data["n"] = number
            made = await server.client.update(edited)
        assert (await waiting).resource_version == made.resource_version
        assert checked == [(1, "1"), (1, "2"), (2, "2"), (3, "2"), (3, "3"), (3, "1")]


async def test_wait_on_a_cache_needs_the_kind(server: CacheServer) -> None:
    """C-68: typed by it, or Unstructured."""
    namespace = await server.new_namespace()
    await server.client.create(config_map(namespace, n="1"))
    key = f"{namespace}/settings"
    async with Cache(server.client, namespace=namespace) as cache, asyncio.timeout(50):
        typed = await wait_until(cache, key, lambda found: found.data["n"] == "1", kind=ConfigMap)
        assert_type(typed, ConfigMap)
        plain = assert_type(await wait_until(cache, key, kind=MAPS), Unstructured)
        assert plain.key == typed.key == key
        with pytest.raises(ConfigError, match="needs the kind"):
            await wait_until(cache, key)  # type: ignore[call-overload]


async def test_wait_until_an_object_is_gone(server: CacheServer) -> None:
    """C-68: or has been replaced by another one of its name."""
    namespace = await server.new_namespace()
    key = f"{namespace}/settings"
    made = await server.client.create(config_map(namespace))
    async with informer_of(server, namespace) as maps, asyncio.timeout(50):
        await wait_until(maps, key)
        gone = asyncio.ensure_future(wait_until_gone(maps, key))
        replaced = asyncio.ensure_future(wait_until_gone(maps, key, uid=made.uid))
        await asyncio.sleep(0)
        await server.client.delete(ConfigMap, "settings", namespace=namespace)
        again = await server.client.create(config_map(namespace))
        await gone
        await replaced
        await wait_until(maps, key, lambda found: found.uid == again.uid)
        await wait_until_gone(maps, key, uid=made.uid)
        with pytest.raises(WaitTimeoutError, match=f"before {key} is gone"):
            await wait_until_gone(maps, key, timeout=0.05)


async def test_wait_says_what_it_saw(server: CacheServer) -> None:
    """C-68: timeouts, stopped informers and failing conditions."""
    namespace = await server.new_namespace()
    made = await server.client.create(config_map(namespace, n="1"))
    key = f"{namespace}/settings"
    maps = informer_of(server, namespace)
    async with maps, asyncio.timeout(50):
        await maps.has_synced
        with pytest.raises(WaitTimeoutError, match=f"resource version {made.resource_version}"):
            await wait_until(maps, key, lambda found: False, timeout=0.05)
        with pytest.raises(WaitTimeoutError, match="it was not seen"):
            await wait_until(maps, f"{namespace}/other", timeout=0.05)
        with pytest.raises(KeyError):
            await wait_until(maps, key, lambda found: bool(found.data["none"]))
        with pytest.raises(TimeoutError):
            await wait_until(maps, key, lambda found: False, timeout=0.05)
        assert maps.registrations == (), "nothing is left of a wait"
        waiting = asyncio.ensure_future(wait_until(maps, key, lambda found: False))
        await asyncio.sleep(0)
    with pytest.raises(AlreadyStoppedError, match=f"before {key} is in the wanted state"):
        await waiting


# -- resuming watches ------------------------------------------------------------------------


async def test_resuming_watch_of_a_real_stream(server: CacheServer) -> None:
    """C-68: from the version of a list, typed."""
    namespace = await server.new_namespace()
    listed = await server.client.list(ConfigMap, namespace=namespace)
    made = await server.client.create(config_map(namespace, n="1"))
    watch = resuming_watch(
        server.client, ConfigMap, resource_version=listed.resource_version, namespace=namespace
    )
    async with watch, asyncio.timeout(50):
        seen = await anext(watch)
        while seen.object.name != "settings":  # a real server adds a map of its own
            seen = await anext(watch)
        assert (seen.type, seen.object.resource_version) == (
            EventType.ADDED,
            made.resource_version,
        )
        assert assert_type(seen.object, ConfigMap).data == {"n": "1"}
        await server.client.delete(ConfigMap, "settings", namespace=namespace)
        while seen.object.name != "settings" or seen.type is EventType.ADDED:
            seen = await anext(watch)
        assert seen.type is EventType.DELETED


async def test_resuming_watch_survives_faults(kinform_api: ApiServer) -> None:
    """C-68: cut, refused, busy; and it ends with a 410, at open and in the stream."""
    async with Client(kinform_api.config) as client, asyncio.timeout(50):
        for fault in (faults.cut_after(300), faults.drop_connection(), faults.unavailable()):
            kinform_api.faults.inject(fault, verb="watch", resource="pods")
        listed = await client.list(Pod)
        watch = resuming_watch(client, Pod, resource_version=listed.resource_version)
        async with watch:
            for number in range(5):
                await client.create(
                    {
                        "apiVersion": "v1",
                        "kind": "Pod",
                        "metadata": {"name": f"p{number}", "namespace": "default"},
                        "spec": {"containers": [{"name": "main", "image": "a"}]},
                    }
                )
                assert (await anext(watch)).object.name == f"p{number}"
        assert watch.connections == 3, "the first was cut and dropped"
        for fault in (faults.expired(), faults.expired_event()):
            kinform_api.faults.inject(fault, verb="watch", resource="pods")
            version = watch.resource_version
            async with resuming_watch(client, Pod, resource_version=version) as ended:
                with pytest.raises(ExpiredError):
                    await anext(ended)
