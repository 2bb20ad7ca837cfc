"""The contract of sources: which keys an event reconciles, and with which priority.

``cr-N`` in a docstring is item N of the tests of controller-runtime that docs/parity.md lists.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kinform import Client, PartialObjectMetadata, Unstructured
from kinform.api import GVR, ApiResource
from kinform.controllers import (
    LOW_PRIORITY,
    Channel,
    Cluster,
    Context,
    Controller,
    Request,
    Stream,
    Timer,
    Watch,
    owner_requests,
)
from kinform.controllers.predicates import labels_changed, of_type, predicate
from kinform.errors import CacheSyncError, ConfigError
from kinform.informers import ChangeType
from kinform.models.apps.v1 import Deployment, ReplicaSet
from kinform.models.core.v1 import ConfigMap, Node, Secret
from kinform.testing import ApiServer, faults
from tests.contract.controller_world import ControllerWorld, Seen, soon
from tests.support.config_maps import MAPS, config_map
from tests.support.controllers import running
from tests.support.objects import record_of
from tests.support.waiting import wait_until

DEPLOYMENTS = ApiResource(GVR("apps", "v1", "deployments"), "Deployment", True)
NODES = ApiResource(GVR("", "v1", "nodes"), "Node", False)


def reference(name: str, **changes: Any) -> dict[str, Any]:
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": f"uid-{name}"}
    return {**made, **changes}


def owned(*references: dict[str, Any], namespace: str = "ns") -> Unstructured:
    return Unstructured(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "child",
                "namespace": namespace,
                "ownerReferences": list(references),
            },
        }
    )


# -- owners --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("references", "every", "names"),
    [
        ([], True, []),
        ([reference("a")], True, ["a"]),
        ([reference("a")], False, []),
        ([reference("a", controller=False)], False, []),
        ([reference("a", controller=True)], False, ["a"]),
        ([reference("a", controller=True), reference("b")], False, ["a"]),
        ([reference("a", controller=True), reference("b")], True, ["a", "b"]),
        ([reference("a"), reference("a", uid="other")], True, ["a"]),
        ([reference("a", apiVersion="apps/v1beta2")], True, ["a"]),
        ([reference("a", apiVersion="extensions/v1beta1")], True, []),
        ([reference("a", apiVersion="v1")], True, []),
        ([reference("a", kind="ReplicaSet")], True, []),
        ([reference("a", kind="deployment")], True, []),
        ([reference("a", apiVersion="apps/v1/x"), reference("b")], True, ["b"]),
        ([reference("a", apiVersion=""), reference("b")], True, ["b"]),
        ([reference("a", kind="ReplicaSet", controller=True), reference("b")], False, []),
    ],
)
def test_owners_of_an_object(
    references: list[dict[str, Any]], every: bool, names: list[str]
) -> None:
    """cr-44: Differs: a reference that cannot be read does not hide those after it."""
    found = owner_requests(owned(*references), DEPLOYMENTS, every_owner=every)
    assert found == [Request("ns", name) for name in names]


def test_cluster_scoped_owner_has_no_namespace() -> None:
    """cr-44: the namespace is that of the object only if the owner has one."""
    child = owned(reference("n", apiVersion="v1", kind="Node", controller=True))
    assert owner_requests(child, NODES, cluster="east") == [Request("", "n", "east")]


def test_metadata_has_owners_too() -> None:
    """cr-44: of every form."""
    child = owned(reference("a", controller=True))
    partial = PartialObjectMetadata.over(record_of(child.to_dict()))
    assert owner_requests(partial, DEPLOYMENTS) == [Request("ns", "a")]


async def test_update_reconciles_old_and_new_owners_once(world: ControllerWorld) -> None:
    """cr-44: when an object moves from one owner to another, both have to know."""
    seen = Seen()
    watch: Watch[Request] = Watch(ConfigMap, owner=Deployment, every_owner=True)
    controller: Controller[Any] = Controller("owners", seen, watches=[watch])
    client = world.server.client
    async with running(controller, world.cluster):
        child = owned(reference("a"), reference("a2"), namespace=world.namespace)
        await client.create(child)
        await seen.called(2)
        assert sorted(seen.names) == ["a", "a2"]
        await client.patch(
            "v1/configmaps",
            "child",
            {"metadata": {"ownerReferences": [reference("a"), reference("b")]}},
            namespace=world.namespace,
        )
        await seen.called(5)
        await controller.queue.when_processed()
        assert sorted(seen.names[2:]) == ["a", "a2", "b"]
        await client.delete("v1/configmaps", "child", namespace=world.namespace)
        await seen.called(7)
        assert sorted(seen.names[5:]) == ["a", "b"]


async def test_owns_takes_the_controller_only(world: ControllerWorld) -> None:
    """cr-44, cr-47: ``owns`` means the controlling owner, unless a watch says every owner."""
    every, controlling = Seen(), Seen()
    one: Controller[Any] = Controller("one", controlling, for_=Deployment, owns=[ConfigMap])
    two: Controller[Any] = Controller(
        "two", every, watches=[Watch(ConfigMap, owner=Deployment, every_owner=True)]
    )
    references = [reference("a", controller=True), reference("b")]
    async with running(one, world.cluster), running(two, world.cluster):
        await world.server.client.create(owned(*references, namespace=world.namespace))
        await every.called(2)
        await controlling.called(1)
        assert sorted(every.names) == ["a", "b"]
        await one.queue.when_processed()
        assert controlling.names == ["a"]


# -- map functions and priorities ----------------------------------------------------------------


async def test_update_is_mapped_by_both_objects_and_each_key_is_queued_once(
    world: ControllerWorld,
) -> None:
    """cr-44: old first, and duplicates of one event are one key."""
    mapped: list[str] = []

    def by_color(obj: Any) -> list[Request]:
        color = obj.labels["color"]
        mapped.append(color)
        return [world.request(color), world.request("all"), world.request("all")]

    seen = Seen()
    controller: Controller[Any] = Controller(
        "colors", seen, watches=[Watch(ConfigMap, map=by_color)]
    )
    async with running(controller, world.cluster):
        await world.create_map("a", color="red")
        await seen.called(2)
        before = len(mapped)
        await world.label_map("a", color="blue")
        await seen.called(5)
        assert mapped[before:] == ["red", "blue"]
        await controller.queue.when_processed()
        assert sorted(seen.names) == ["all", "all", "blue", "red", "red"]


async def test_priorities_of_events(world: ControllerWorld) -> None:
    """cr-44: objects that exist at the start come later than changes, whatever the source."""
    await world.create_map("old")
    await world.create_map("changed")
    await world.create_map("deleted")
    seen = Seen()
    controller: Controller[Any] = Controller(
        "maps",
        seen,
        for_=ConfigMap,
        watches=[Watch(ConfigMap, map=lambda obj: [world.request(f"of-{obj.name}")])],
    )
    await controller.warm_up(world.cluster)
    await world.label_map("changed", step="2")
    await world.server.client.delete("v1/configmaps", "deleted", namespace=world.namespace)
    await world.create_map("new")
    await wait_until(lambda: len(controller.queue) == 8)
    await wait_until(lambda: controller.queue.priority_of(world.request("of-new")) == 0)
    await wait_until(lambda: controller.queue.status().by_priority == {0: 6, LOW_PRIORITY: 2})
    work = asyncio.create_task(controller.work())
    await seen.called(8)
    priorities = {name: priority for name, _, priority in seen.calls}
    for name in ("old", "of-old"):
        assert priorities.pop(name) == LOW_PRIORITY
    assert set(priorities.values()) == {0}
    assert {name for name, _, _ in seen.calls[-2:]} == {"old", "of-old"}
    controller.stop()
    await work
    await controller.close()


async def test_priority_of_initial_objects_can_be_chosen(world: ControllerWorld) -> None:
    """cr-44: per watch."""
    await world.create_map("old")
    seen = Seen()
    controller: Controller[Any] = Controller(
        "maps", seen, watches=[Watch(ConfigMap, initial_priority=5)]
    )
    async with running(controller, world.cluster):
        await seen.called(1)
        assert seen.priorities == [5]


# -- the embedded server: tombstones, channels, streams, timers ----------------------------------


@pytest.fixture
async def api() -> AsyncIterator[ApiServer]:
    async with ApiServer() as running_api:
        yield running_api


@pytest.fixture
async def cluster(api: ApiServer) -> AsyncIterator[Cluster]:
    async with Client(api.config) as client:
        found = Cluster(client)
        async with found.cache:
            yield found


async def test_deletion_that_was_missed_is_reconciled(api: ApiServer, cluster: Cluster) -> None:
    """cr-46: with the last known object, for predicates and map functions alike."""
    for name in ("kept", "gone"):
        api.create(config_map(name, color=name))
    events: list[Any] = []
    seen = Seen()

    @predicate
    def note(event: Any) -> bool:
        events.append(event)
        return True

    mapped = Watch(ConfigMap, map=lambda obj: [Request("colors", obj.labels["color"])])
    controller: Controller[Any] = Controller(
        "maps", seen, for_=ConfigMap, watches=[mapped], when=note
    )
    async with running(controller, cluster):
        await seen.called(4)
        await wait_until(lambda: len(api.requests.watches(MAPS)) >= 1)
        del events[:]
        api.faults.inject(faults.status(503), verb="watch", resource="configmaps", times=1)
        api.end_watches(MAPS)
        api.delete(MAPS, "gone", "default")
        api.compact()
        await seen.called(6)
        assert sorted(seen.names[4:]) == ["gone", "gone"]
        deletions = [event for event in events if event.type is ChangeType.DELETED]
        assert deletions
        assert all(event.object.name == "gone" for event in deletions)


async def test_channel_keeps_what_is_sent_before_the_start(cluster: Cluster) -> None:
    """cr-46: each key once; what is sent later comes at once."""
    channel: Channel[Request] = Channel()
    for name in ("a", "b", "a"):
        channel.send(Request("ns", name))
    seen = Seen()
    controller: Controller[Any] = Controller("sent", seen, watches=[channel])
    async with running(controller, cluster):
        await seen.called(2)
        assert sorted(seen.names) == ["a", "b"]
        channel.send(Request("ns", "c"), priority=4)
        await seen.called(3)
        assert seen.calls[2] == ("c", 1, 4)


async def test_channel_never_blocks_its_senders(cluster: Cluster) -> None:
    """cr-46: Differs: there is no buffer to fill, though the only worker hangs."""
    channel: Channel[Request] = Channel()
    gate = asyncio.Event()
    names: list[str] = []

    async def reconcile(request: Request, context: Context[Any]) -> None:
        names.append(request.name)
        await gate.wait()

    controller: Controller[Any] = Controller("sent", reconcile, watches=[channel])
    async with running(controller, cluster):
        channel.send(Request("ns", "first"))
        await wait_until(lambda: names == ["first"])

        def send() -> None:
            for number in range(3000):
                channel.send(Request("ns", str(number)))

        sender = threading.Thread(target=send)
        sender.start()
        await wait_until(lambda: not sender.is_alive())
        sender.join()
        assert len(controller.queue) == 3000
        gate.set()
        await wait_until(lambda: len(names) == 3001)


async def test_channel_of_a_closed_controller_keeps_items_for_the_next_start(
    cluster: Cluster,
) -> None:
    """cr-46: closing loses nothing that is sent afterwards, and raises nothing."""
    channel: Channel[Request] = Channel()
    seen = Seen()
    controller: Controller[Any] = Controller("sent", seen, watches=[channel])
    async with running(controller, cluster):
        channel.send(Request("ns", "a"))
        await seen.called(1)
    channel.send(Request("ns", "b"))
    async with running(controller, cluster):
        await seen.called(2)
    assert seen.names == ["a", "b"]


async def test_channel_maps_items_and_raises_to_the_sender(cluster: Cluster) -> None:
    """cr-46: generic events; predicates are for kinds, so a global one does not stop them."""
    channel: Channel[Request] = Channel(map=lambda item: [Request("ns", each) for each in item])
    seen = Seen()
    controller: Controller[Any] = Controller(
        "sent", seen, for_=ConfigMap, watches=[channel], when=lambda event: False
    )
    async with running(controller, cluster):
        channel.send(["a", "b"])
        await seen.called(2)
        with pytest.raises(TypeError):
            channel.send(5)
        assert sorted(seen.names) == ["a", "b"]


async def test_stream_is_opened_again_after_a_failure(cluster: Cluster) -> None:
    """cr-46: an iterator that raises is visible, and not the end."""
    opened = 0

    async def messages() -> AsyncIterator[str]:
        nonlocal opened
        opened += 1
        yield f"message-{opened}"
        if opened == 1:
            raise ConnectionError("lost")
        await asyncio.Event().wait()

    seen = Seen()
    stream: Stream[Request] = Stream(messages, map=lambda text: [Request("ns", text)], name="bus")
    controller: Controller[Any] = Controller("sent", seen, watches=[stream])
    async with running(controller, cluster):
        await seen.called(2)
        assert seen.names == ["message-1", "message-2"]
        assert "lost" in controller.status().sources[0].problem
        assert any("bus" in problem for problem in controller.problems())


async def test_stream_that_ends_is_closed(cluster: Cluster) -> None:
    """cr-46: as a closed channel; the controller goes on without it."""

    async def messages() -> AsyncIterator[Request]:
        yield Request("ns", "only")

    seen = Seen()
    channel: Channel[Request] = Channel()
    controller: Controller[Any] = Controller("sent", seen, watches=[Stream(messages), channel])
    async with running(controller, cluster):
        await seen.called(1)
        channel.send(Request("ns", "other"))
        await seen.called(2)
        assert seen.names == ["only", "other"]


async def test_timer_reconciles_at_the_start_and_periodically(cluster: Cluster) -> None:
    """cr-46: without a counterpart; the keys may change from round to round."""
    rounds: list[str] = []

    def keys() -> list[Request]:
        rounds.append(f"r{len(rounds)}")
        if len(rounds) == 2:
            raise OSError("disk")
        return [Request("", rounds[-1])]

    seen = Seen()
    timer: Timer[Request] = Timer(0.01, keys)
    controller: Controller[Any] = Controller("timed", seen, watches=[timer])
    async with running(controller, cluster):
        await seen.called(3)
        assert seen.names[:3] == ["r0", "r2", "r3"]
        assert set(seen.priorities) == {LOW_PRIORITY}


async def test_missing_kind_fails_the_start_unless_it_is_optional(
    api: ApiServer, cluster: Cluster
) -> None:
    """cr-46: Differs: workers do not wait for an optional kind, which may be missing."""
    kind = "stable.example.com/v1/crontabs"
    required: Controller[Any] = Controller("tabs", Seen(), watches=[kind], sync_timeout=0.3)
    with pytest.raises(CacheSyncError, match="crontabs"):
        await required.warm_up(cluster)

    seen = Seen()
    optional: Controller[Any] = Controller(
        "tabs", seen, for_=ConfigMap, watches=[Watch(kind, optional=True)]
    )
    async with running(optional, cluster):
        api.create(config_map("a"))
        await seen.called(1)
        status = {each.name: each for each in optional.status().sources}
        assert [each.is_required for each in status.values()] == [True, False]
        assert not list(status.values())[1].has_synced
        assert optional.problems() == ()


# -- construction --------------------------------------------------------------------------------


async def _nothing(request: Any, context: Any) -> None:
    return None


@pytest.mark.parametrize(
    "make",
    [
        lambda: Controller("web", _nothing),
        lambda: Controller("web", _nothing, owns=[Secret]),
        lambda: Controller("web", _nothing, owns=[Secret], watches=[ConfigMap]),
        lambda: Controller("", _nothing, for_=ConfigMap),
        lambda: Controller("web", None, for_=ConfigMap),  # type: ignore[arg-type]
        lambda: Controller("web", object(), for_=ConfigMap),  # type: ignore[arg-type]
        lambda: Controller("web", _nothing, for_="what is that"),
        lambda: Controller("web", _nothing, for_=ConfigMap, workers=0),
        lambda: Controller("web", _nothing, for_=ConfigMap, workers=True),
        lambda: Controller("web", _nothing, for_=ConfigMap, timeout=0),
        lambda: Controller("web", _nothing, for_=ConfigMap, timeout=float("nan")),
        lambda: Controller("web", _nothing, for_=ConfigMap, sync_timeout=-1),
        lambda: Controller("web", _nothing, for_=ConfigMap, when=5),  # type: ignore[arg-type]
        lambda: Controller("web", _nothing, for_=ConfigMap, when=_nothing),  # type: ignore[arg-type]
        lambda: Controller("web", _nothing, for_=ConfigMap, watches=[5]),  # type: ignore[arg-type]
        lambda: Controller("web", _nothing, for_=ConfigMap, watches=ConfigMap),  # type: ignore[arg-type]
        lambda: Controller("web", _nothing, for_=ConfigMap, owns=[5]),  # type: ignore[list-item]
        lambda: Controller("web", _nothing, for_=ConfigMap, rate_limiter=5),  # type: ignore[arg-type]
        lambda: Watch(ConfigMap, map=lambda _: [], owner=Node),
        lambda: Watch(ConfigMap, every_owner=True),
        lambda: Watch(ConfigMap, map=5),  # type: ignore[arg-type]
        lambda: Watch(ConfigMap, form=int),  # type: ignore[arg-type]
        lambda: Watch(ConfigMap, initial_priority="high"),  # type: ignore[arg-type]
        lambda: Watch(ConfigMap, cluster="east"),  # type: ignore[arg-type]
        lambda: Channel(map=_nothing),  # type: ignore[arg-type]
        lambda: Channel(map=5),  # type: ignore[arg-type]
        lambda: Stream(5),  # type: ignore[arg-type]
        lambda: Timer(0, []),
        lambda: Timer(1, [], jitter=-1),
        lambda: Timer(1, 5),  # type: ignore[arg-type]
        lambda: Cluster(5),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_work_is_refused_at_construction(make: Callable[[], Any]) -> None:
    """cr-47: with our error, before anything runs."""
    with pytest.raises(ConfigError):
        make()


async def test_predicates_of_a_kind_and_of_all_kinds(world: ControllerWorld) -> None:
    """cr-47: those for all are checked first, and all must pass."""
    asked: list[tuple[str, str]] = []

    def noting(name: str) -> Any:
        def note(event: Any) -> bool:
            asked.append((name, event.object.kind))
            return True

        return note

    seen = Seen()
    watch: Watch[Request] = Watch(ConfigMap, when=[noting("own"), of_type(ChangeType.ADDED)])
    controller: Controller[Any] = Controller(
        "maps", seen, for_=Secret, watches=[watch], when=noting("all"), rate_limiter=soon()
    )
    async with running(controller, world.cluster):
        await world.create_map("a")
        await seen.called(1)
        assert asked == [("all", "ConfigMap"), ("own", "ConfigMap")]
        await world.label_map("a", color="red")
        await wait_until(lambda: len(asked) == 4)
        await world.create_secret("s")
        await seen.called(2)
        assert seen.names == ["a", "s"]
        assert asked[4:] == [("all", "Secret")]


async def test_kinds_in_watches_have_the_predicates_of_all_kinds(world: ControllerWorld) -> None:
    """cr-47: a source that is no kind has not."""
    seen = Seen()
    controller: Controller[Any] = Controller(
        "maps", seen, for_=Secret, watches=[ConfigMap], when=labels_changed
    )
    async with running(controller, world.cluster):
        await world.create_map("a")
        await seen.called(1)
        await world.server.client.patch(
            "v1/configmaps", "a", {"data": {"x": "y"}}, namespace=world.namespace
        )
        await world.label_map("a", color="red")
        await seen.called(2)
        await controller.queue.when_processed()
        assert seen.names == ["a", "a"]
        assert controller.queue.status().adds == 2


async def test_metadata_is_enough_for_a_watch(world: ControllerWorld) -> None:
    """cr-47: no whole object is fetched for it."""
    forms: list[type] = []

    @predicate
    def note(event: Any) -> bool:
        forms.append(type(event.object))
        return True

    seen = Seen()
    watch: Watch[Request] = Watch(ConfigMap, form=PartialObjectMetadata, when=note)
    controller: Controller[Any] = Controller("maps", seen, watches=[watch])
    async with running(controller, world.cluster):
        await world.create_map("a")
        await seen.called(1)
        assert list(world.cluster.cache.informers) == ["metadata of v1/configmaps"]
        assert forms == [PartialObjectMetadata]


def test_owned_kind_and_a_second_watch_of_it_may_be_declared_together() -> None:
    """cr-47: several sources of one kind are no mistake."""
    controller: Controller[Any] = Controller(
        "web",
        _nothing,
        for_=Deployment,
        owns=[ReplicaSet],
        watches=[Watch(ReplicaSet, map=lambda _: []), Watch(Deployment, map=lambda _: [])],
    )
    assert controller.status().state == "new"
