"""A server that was restored from a backup, under a running informer."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace

import pytest

from kinform.client import Client
from kinform.errors import AlreadyStoppedError
from kinform.informers import (
    Backoff,
    DeletedObject,
    ListWatch,
    ReflectorOptions,
    SharedIndexInformer,
)
from kinform.objects import Handle, Unstructured
from kinform.testing import ApiServer
from kinform.testing.faults import Fault, Hooks
from kinform.testing.interception import WatchFrame
from tests.support.config_maps import MAPS, config_map
from tests.support.waiting import wait_until

WENT_BACK = {"versions went back": 1}


@pytest.fixture
async def client(api: ApiServer) -> AsyncIterator[Client]:
    async with Client(api.config) as client:
        yield client


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence is suspicious at once."""
    monkeypatch.setattr("kinform.informers.reflector._version_regression._SILENCE", 0.2)
    monkeypatch.setattr("kinform.informers.reflector._version_regression._LEAST_INTERVAL", 0.1)


@pytest.fixture
def soon_after_outages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only silence after an outage is."""
    module = "kinform.informers.reflector._version_regression"
    monkeypatch.setattr(f"{module}._SILENCE_AFTER_OUTAGE", 0.2)


class Recorder:
    def __init__(self) -> None:
        self.calls: list[str] = []

    async def on_add(self, obj: Handle, is_in_initial_list: bool) -> None:
        self.calls.append(f"add {obj.name}")

    async def on_update(self, old: Handle, new: Handle) -> None:
        self.calls.append(f"update {new.name}")

    async def on_delete(self, deleted: DeletedObject[Unstructured]) -> None:
        self.calls.append(f"delete {deleted.name}")


def informer_of(client: Client, *, streaming: bool = True) -> SharedIndexInformer[Unstructured]:
    options = ReflectorOptions(streaming=streaming, backoff=lambda: Backoff(0.02, cap=0.1))
    source = ListWatch.for_resource(client, MAPS, namespace="default")
    return SharedIndexInformer(source, options=options)


def on_server(api: ApiServer) -> dict[str, object]:
    return {
        each["metadata"]["name"]: (each["metadata"]["resourceVersion"], each.get("data"))
        for each in api.list(MAPS, "default")
    }


def is_current(api: ApiServer, informer: SharedIndexInformer[Unstructured]) -> Callable[[], bool]:
    def known() -> dict[str, object]:
        return {
            obj.name: (obj.resource_version, obj.get("data")) for obj in informer.indexer.list()
        }

    return lambda: known() == on_server(api)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


def change_after_backup(api: ApiServer) -> None:
    """What the restored server does not know."""
    api.patch(MAPS, "changed", {"data": {"k": "lost"}}, "default")
    api.delete(MAPS, "deleted", "default")
    for number in range(20):
        api.create(config_map(f"ghost-{number}"))


def back_up(api: ApiServer) -> str:
    for name in ("same", "changed", "deleted"):
        api.create(config_map(name, data={"k": "v"}))
    return api.resource_version


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "paged"])
async def test_a_restored_server_replaces_what_the_informer_knew(
    api: ApiServer,
    client: Client,
    soon: None,
    caplog: pytest.LogCaptureFixture,
    streaming: bool,
) -> None:
    """18.8: Ghosts are deleted, older states are delivered, and the watch goes on."""
    backup, recorder = back_up(api), Recorder()
    informer = informer_of(client, streaming=streaming)
    informer.add_event_handler(recorder)
    async with informer:
        await informer.has_synced
        change_after_backup(api)
        await wait_until(lambda: len(recorder.calls) == 3 + 22)
        recorder.calls.clear()
        newest = api.resource_version

        with caplog.at_level(logging.WARNING, "kinform"):
            api.restore(backup)
            await wait_until(is_current(api, informer))
        await wait_until(lambda: len(recorder.calls) == 22)
        assert sorted(recorder.calls) == sorted(
            ["add deleted", "update changed", *(f"delete ghost-{n}" for n in range(20))]
        )
        assert informer.status().relists == WENT_BACK

        api.create(config_map("new"))
        await wait_until(lambda: recorder.calls[-1] == "add new")
    (warning,) = warnings(caplog)
    assert f"versions went back from {newest} to {backup}" in warning


async def test_a_server_that_is_restarted_with_a_backup_is_noticed_after_the_outage(
    api: ApiServer, client: Client, soon_after_outages: None
) -> None:
    """18.8: It was not reachable, so even a short silence is checked."""
    backup = back_up(api)
    informer = informer_of(client)
    async with informer:
        await informer.has_synced
        change_after_backup(api)
        await wait_until(is_current(api, informer))

        await api.stop()
        api.restore(backup)
        await wait_until(lambda: informer.sync_status().attempts > 1)
        await api.start()
        await wait_until(is_current(api, informer))
        assert informer.status().relists == WENT_BACK


async def test_the_same_version_with_another_content_is_delivered(
    api: ApiServer, client: Client, soon: None
) -> None:
    """18.8: After a restore, versions are used again for other changes."""
    backup, recorder = back_up(api), Recorder()
    seen: list[object] = []

    def mark(obj: Unstructured) -> None:
        seen.append(obj.get("data"))

    informer = informer_of(client)
    informer.set_transform(mark)
    informer.add_event_handler(recorder)
    async with informer:
        await informer.has_synced
        api.patch(MAPS, "changed", {"data": {"k": "before"}}, "default")
        reused = api.resource_version
        api.create(config_map("ghost"))
        await wait_until(lambda: "add ghost" in recorder.calls)
        recorder.calls.clear()

        api.restore(backup)
        api.patch(MAPS, "changed", {"data": {"k": "after"}}, "default")
        assert api.resource_version == reused
        await wait_until(is_current(api, informer))
        await wait_until(lambda: {"update changed", "delete ghost"} <= {*recorder.calls})
    assert {"k": "after"} in seen


async def test_waiting_for_a_lost_version_fails(api: ApiServer, client: Client, soon: None) -> None:
    """18.8: It does not wait until other changes get this version."""
    backup = back_up(api)
    informer = informer_of(client)
    async with informer:
        await informer.has_synced
        change_after_backup(api)
        await wait_until(is_current(api, informer))
        latch = informer.wait_for_rv(str(int(api.resource_version) + 5))
        api.restore(backup)
        with pytest.raises(AlreadyStoppedError, match="was lost: the server's versions went back"):
            await latch
        created = api.create(config_map("new"))
        await informer.wait_for_rv(created["metadata"]["resourceVersion"])
        assert is_current(api, informer)()


async def test_a_restarted_informer_finds_the_restored_state(
    api: ApiServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """18.8: "Too large resource version", and then a list that is older than the store."""
    backup = back_up(api)
    informer = informer_of(client, streaming=False)
    async with informer:
        await informer.has_synced
        change_after_backup(api)
        await wait_until(is_current(api, informer))
    api.restore(backup)
    async with informer:
        await wait_until(is_current(api, informer), timeout=30)  # the server waits for 3 s
    (warning,) = warnings(caplog)
    assert f"to {backup}" in warning


def bookmarks_at(version: str) -> Fault:
    """All bookmarks have this version, as from a replica that lags behind the others."""

    def frames(frame: WatchFrame) -> Iterable[WatchFrame]:
        if frame.type != "BOOKMARK":
            return (frame,)
        bookmark = json.loads(frame.object)
        bookmark["metadata"]["resourceVersion"] = version
        return (replace(frame, object=json.dumps(bookmark).encode()),)

    return Fault("older bookmarks", lambda call, hits: Hooks(frames=frames))


async def test_older_bookmarks_of_a_lagging_replica_are_no_regression(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """18.8: A consistent read shows that the server is not behind; nothing is listed."""
    async with ApiServer(bookmark_interval=0.1) as api, Client(api.config) as client:
        api.faults.inject(bookmarks_at(back_up(api)), verb="watch")
        informer = informer_of(client, streaming=False)
        async with informer:
            await informer.has_synced
            change_after_backup(api)
            await wait_until(is_current(api, informer))
            known = informer.last_sync_resource_version
            api.requests.clear()
            api.create(config_map("elsewhere", "kube-public"))  # reported by the next bookmark
            await wait_until(lambda: bool(api.requests.lists()))
            assert informer.last_sync_resource_version == known

            api.create(config_map("new"))
            await wait_until(is_current(api, informer))
            assert not informer.status().relists
            assert [each.query.get("limit") for each in api.requests.lists()] == ["1"]
    assert not warnings(caplog)
