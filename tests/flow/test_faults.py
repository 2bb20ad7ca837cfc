"""Every fault of the guide that concerns reads: the store ends as the server is, and who follows
the changes ends there too, with nothing lost and nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinform.api import GVR
from kinform.client import Client
from kinform.informers import (
    Backoff,
    DeletedObject,
    ListWatch,
    Phase,
    ReflectorOptions,
    ServerCapabilities,
    SharedIndexInformer,
)
from kinform.objects import PartialObjectMetadata, Unstructured
from kinform.testing import ApiServer, faults
from kinform.testing.faults import Fault, Injection
from tests.support.waiting import wait_until

pytestmark = pytest.mark.usefixtures("impatient")

MAPS = GVR("", "v1", "configmaps")
State = dict[str, tuple[str, str]]
"""By name: the uid, and a mark that every change of the test changes."""


def fault(make: Callable[[], Fault], *, name: str = "") -> Any:
    return pytest.param(make, id=name or make().name)


REFUSALS = [
    fault(faults.expired),
    fault(faults.too_large_resource_version),
    fault(faults.overloaded),
    fault(faults.cache_not_ready),
    fault(faults.shutting_down),
    fault(faults.unavailable),
    fault(faults.unauthorized),
    fault(faults.forbidden),
    fault(lambda: faults.forbidden(pretty=True), name="pretty forbidden"),
    fault(faults.not_found),
    fault(faults.not_acceptable),
    fault(faults.bad_gateway),
    fault(faults.empty_answer),
    fault(lambda: faults.status(418, "ImATeapot"), name="status 418"),
    fault(
        lambda: faults.answer(200, b"<html>", headers={"Content-Type": "text/html"}), name="page"
    ),
    fault(faults.drop_connection),
    fault(faults.reset_connection),
    fault(faults.hang),
]
BROKEN_BODIES = [
    fault(lambda: faults.cut_after(30)),
    fault(lambda: faults.reset_after(30)),
    fault(lambda: faults.truncate(30)),
]
# What a client should not even notice.
AWKWARD_BODIES = [
    fault(lambda: faults.delay_answer(0.02)),
    fault(lambda: faults.delay_body(0.02)),
    fault(lambda: faults.delay_events(0.002)),
    fault(lambda: faults.rechunk(7)),
    fault(faults.gzip_members),
    fault(faults.close_after_answer),
]
BROKEN_WATCHES = [
    fault(faults.method_not_allowed),
    fault(faults.expired_event),
    fault(faults.close_silently),
    fault(faults.internal_error_event),
    fault(faults.storage_read_error_event),
    fault(faults.error_event_without_kind),
    fault(lambda: faults.error_event(500, "Whatever"), name="error event"),
    fault(lambda: faults.cut_after_events(2)),
    fault(lambda: faults.cut_inside_event(after=1)),
    fault(lambda: faults.end_inside_event(after=1)),
    fault(lambda: faults.expired_event(after=1), name="expired event later"),
    fault(lambda: faults.close_silently(after=1), name="close silently later"),
]
AWKWARD_WATCHES = [
    fault(faults.missing_bookmarks),
    fault(faults.huge_event),
    fault(faults.malformed_event),
    fault(faults.garbage_line),
    fault(lambda: faults.ignore_parameters("timeoutSeconds", "allowWatchBookmarks"), name="deaf"),
]
STREAMS = [
    fault(faults.initial_events_unsupported),
    fault(lambda: faults.initial_events_unsupported(400), name="initial events unsupported 400"),
    fault(faults.ignore_initial_events),
    fault(faults.missing_end_bookmark),
    fault(faults.unannotated_end_bookmark),
    fault(faults.changes_before_end_bookmark),
]
SILENT_STREAMS = [
    fault(lambda: faults.stall_after(100)),
    fault(lambda: faults.silence(after=2)),
]
LISTS = [
    fault(faults.malformed_list),
    fault(faults.method_not_allowed),
    fault(lambda: faults.stall_after(30)),
]
AWKWARD_LISTS = [
    fault(faults.expired_page),
    fault(faults.empty_page),
    fault(faults.items_with_kind),
    fault(faults.items_without_kind),
]
OTHER_VERSIONS = [fault(faults.opaque_resource_versions), fault(faults.huge_resource_versions)]


class Follower:
    """A handler that knows a state only from what it is told, and complains if that jumps."""

    def __init__(self) -> None:
        self.state: State = {}
        self.complaints: list[str] = []

    async def on_add(self, obj: Unstructured, is_in_initial_list: bool) -> None:
        if obj.name in self.state:
            self.complaints.append(f"{obj.name} was added twice")
        self.state[obj.name] = mark(obj)

    async def on_update(self, old: Unstructured, new: Unstructured) -> None:
        if self.state.get(old.name) != mark(old):
            self.complaints.append(f"{old.name} was changed from what it had not been")
        if old.resource_version == new.resource_version:
            self.complaints.append(f"{old.name} was told twice")
        self.state[new.name] = mark(new)

    async def on_delete(self, deleted: DeletedObject[Unstructured]) -> None:
        if self.state.pop(deleted.name, None) is None:
            self.complaints.append(f"{deleted.name} was deleted and had not been there")


def mark(obj: Unstructured) -> tuple[str, str]:
    return obj.uid, obj["data"]["mark"]


class Scene:
    """Five config maps on a server, an informer of them, and somebody who follows it."""

    def __init__(self, api: ApiServer, client: Client, **options: Any) -> None:
        self.api = api
        self._marks = 0
        self.follower = Follower()
        self.informer: SharedIndexInformer[Unstructured] = SharedIndexInformer(
            ListWatch.for_resource(client, MAPS, namespace="default"),
            options=ReflectorOptions(
                backoff=lambda: Backoff(0.002, cap=0.01),
                capabilities=ServerCapabilities(0.05),
                poll_interval=0.01,
                **options,
            ),
        )
        self.informer.add_event_handler(self.follower)
        for name in "abcde":
            self.create(name)

    def inject(
        self, fault: Fault, verb: str, *, times: int | None = 1, after: int = 0
    ) -> Injection:
        return self.api.faults.inject(
            fault, verb=verb, resource="configmaps", times=times, after=after
        )

    def create(self, name: str, *, namespace: str = "default") -> None:
        metadata = {"name": name, "namespace": namespace}
        kind = {"kind": "ConfigMap", "apiVersion": "v1"}
        self.api.create({**kind, "metadata": metadata, "data": self._next_mark()})

    def change(self, name: str, *, namespace: str = "default") -> None:
        self.api.patch(MAPS, name, {"data": self._next_mark()}, namespace)

    def churn(self) -> None:
        """A bit of everything; nobody hears of it before this returns."""
        self.change("a")
        self.change("b")
        self.api.delete(MAPS, "c", "default")
        self.create("f")
        self.api.recreate(MAPS, "d", "default")
        self.change("a")
        self.api.delete(MAPS, "f", "default")
        self.create("g")

    def churn_again(self) -> None:
        self.change("b")
        self.api.delete(MAPS, "e", "default")
        self.create("h")

    def _next_mark(self) -> dict[str, str]:
        self._marks += 1
        return {"mark": str(self._marks)}

    def truth(self) -> State:
        objects = self.api.list(MAPS, "default")
        return {
            obj["metadata"]["name"]: (obj["metadata"]["uid"], obj["data"]["mark"])
            for obj in objects
        }

    def is_settled(self) -> bool:
        truth = self.truth()
        stored = {obj.name: mark(obj) for obj in self.informer.store.list()}
        watching = self.informer.status().phase is Phase.WATCHING
        return watching and stored == self.follower.state == truth

    async def settle(self, *injections: Injection) -> None:
        """Everybody agrees with the server, and with what it does next."""
        for injection in injections:
            await wait_until(lambda injection=injection: not injection.active, timeout=5)  # type: ignore[misc]  # mypy does not infer a lambda with a default
        await wait_until(self.is_settled, timeout=5)
        self.create("last")
        self.change("a")
        await wait_until(self.is_settled, timeout=5)
        assert self.follower.complaints == []


@pytest.mark.parametrize(
    "make",
    [
        *REFUSALS,
        *BROKEN_BODIES,
        *BROKEN_WATCHES,
        *AWKWARD_BODIES,
        *AWKWARD_WATCHES,
        *STREAMS,
        *SILENT_STREAMS,
    ],
)
async def test_a_fault_of_the_first_stream(
    api: ApiServer, client: Client, make: Callable[[], Fault]
) -> None:
    scene = Scene(api, client)
    injection = scene.inject(make(), "watch")
    async with scene.informer:
        await wait_until(lambda: injection.hits > 0, timeout=5)
        scene.churn()
        await scene.settle(injection)


@pytest.mark.parametrize("make", [*REFUSALS, *BROKEN_BODIES, *BROKEN_WATCHES, *STREAMS])
async def test_a_fault_of_the_first_streams_until_they_are_given_up(
    api: ApiServer, client: Client, make: Callable[[], Fault]
) -> None:
    scene = Scene(api, client)
    injection = scene.inject(make(), "watch", times=None)
    async with scene.informer:
        await wait_until(lambda: injection.hits > 0, timeout=5)
        scene.churn()
        await wait_until(lambda: injection.hits > 3 or bool(scene.informer.has_synced), timeout=5)
        injection.remove()
        await scene.settle()


@pytest.mark.parametrize("times", [1, 4])
@pytest.mark.parametrize(
    "make", [*REFUSALS, *BROKEN_BODIES, *BROKEN_WATCHES, *AWKWARD_BODIES, *AWKWARD_WATCHES]
)
async def test_a_fault_of_a_resumed_watch(
    api: ApiServer, client: Client, make: Callable[[], Fault], times: int
) -> None:
    scene = Scene(api, client)
    scene.inject(faults.cut_after_events(8), "watch")  # five objects, their end, two changes
    injection = scene.inject(make(), "watch", times=times, after=1)
    async with scene.informer:
        await scene.informer.has_synced
        scene.churn()
        await wait_until(lambda: injection.hits > 0, timeout=5)
        scene.churn_again()
        await scene.settle()


@pytest.mark.parametrize("make", [*REFUSALS, *BROKEN_BODIES, *AWKWARD_BODIES, *LISTS])
@pytest.mark.parametrize("times", [1, 2])
async def test_a_fault_of_the_first_list(
    api: ApiServer, client: Client, make: Callable[[], Fault], times: int
) -> None:
    scene = Scene(api, client, streaming=False)
    injection = scene.inject(make(), "list", times=times)
    async with scene.informer:
        await wait_until(lambda: injection.hits > 0, timeout=5)
        scene.churn()
        await scene.settle()


@pytest.mark.parametrize("make", [*REFUSALS, *BROKEN_BODIES, *AWKWARD_BODIES, *LISTS])
async def test_a_fault_of_a_later_list(
    api: ApiServer, client: Client, make: Callable[[], Fault]
) -> None:
    scene = Scene(api, client, streaming=False)
    scene.inject(faults.expired_event(after=2), "watch")
    injection = scene.inject(make(), "list", after=1)
    async with scene.informer:
        await scene.informer.has_synced
        await wait_until(scene.is_settled, timeout=5)
        scene.churn()
        await scene.settle(injection)
    assert scene.informer.status().relists == {"expired": 1}


@pytest.mark.parametrize("make", AWKWARD_LISTS)
async def test_a_fault_of_pages(api: ApiServer, client: Client, make: Callable[[], Fault]) -> None:
    scene = Scene(api, client, streaming=False, page_size=2)
    scene.inject(faults.expired(), "list")  # for only the newest state comes in pages
    injection = scene.inject(make(), "list", after=1)
    async with scene.informer:
        await wait_until(lambda: injection.hits > 0, timeout=5)
        scene.churn()
        await scene.settle(injection)


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("make", OTHER_VERSIONS)
async def test_versions_that_are_no_small_numbers(
    api: ApiServer, client: Client, make: Callable[[], Fault], streaming: bool
) -> None:
    scene = Scene(api, client, streaming=streaming)
    for verb in ("list", "watch"):
        scene.inject(make(), verb, times=None)
    scene.inject(faults.cut_after_events(3), "watch", after=1 if streaming else 0)
    async with scene.informer:
        await scene.informer.has_synced
        scene.churn()
        await scene.settle()
    assert scene.informer.status().relists == {}


@pytest.mark.parametrize("make", [faults.replay_on_resume], ids=["numeric"])
async def test_a_server_that_replays_instead_of_resuming(
    api: ApiServer, client: Client, make: Callable[[], Fault]
) -> None:
    scene = Scene(api, client)
    scene.inject(faults.cut_after_events(8), "watch")
    injection = scene.inject(make(), "watch")
    async with scene.informer:
        await scene.informer.has_synced
        scene.churn()
        await scene.settle(injection)
    assert scene.informer.status().relists == {"replayed": 1}


async def test_silence_on_an_open_socket_is_noticed_by_missing_bookmarks() -> None:
    async with ApiServer(bookmark_interval=0.01) as api, Client(api.config) as client:
        scene = Scene(api, client)
        scene.create("beat", namespace="kube-system")

        def has_fallen_silent() -> bool:
            # What changes elsewhere is told in bookmarks, and in nothing else.
            scene.change("beat", namespace="kube-system")
            return (scene.informer.status().bookmark_age or 0) > 0.05

        scene.inject(faults.silence(after=10), "watch")
        async with scene.informer:
            await wait_until(has_fallen_silent, timeout=5)
            scene.churn()
            await scene.settle()
        assert scene.informer.status().errors == {"WatchSilenceError": 1}
        assert scene.informer.status().relists == {}


async def test_a_version_that_is_compacted_while_nobody_listened(
    api: ApiServer, client: Client
) -> None:
    scene = Scene(api, client)
    scene.inject(faults.cut_after_events(8), "watch")
    async with scene.informer:
        await scene.informer.has_synced
        scene.churn()
        api.compact()
        await scene.settle()
    assert scene.informer.status().relists == {"expired": 1}


async def test_whole_objects_for_who_asked_for_metadata(api: ApiServer, client: Client) -> None:
    scene = Scene(api, client)
    source = ListWatch.for_resource(client.metadata, MAPS, namespace="default")
    informer: SharedIndexInformer[PartialObjectMetadata] = SharedIndexInformer(source)
    injection = scene.inject(faults.ignore_metadata_accept(), "watch")
    async with informer:
        await informer.has_synced
        scene.churn()
        await wait_until(lambda: set(informer.store.list_keys()) == KEYS, timeout=5)
    assert injection.hits == 1
    assert all(b"mark" not in entry.payload for entry in informer.store.table.entries())


KEYS = {f"default/{name}" for name in "abdeg"}


# An informer asks for no shards.
_NOT_OF_READS = {"ignore_shard_selector"}


def test_no_fault_is_forgotten_here() -> None:
    source = Path(__file__).read_text()
    all_of_them = {name for name in faults.__all__ if name.islower()}
    assert {name for name in all_of_them if f"faults.{name}" not in source} == _NOT_OF_READS
