"""The smallest informer: a store and one handler, called in step with it."""

from __future__ import annotations

import asyncio

import pytest

from kinform import Client
from kinform.errors import AlreadyStartedError, ConfigError
from kinform.informers import DeletedObject, Informer, ListWatch, WatchFailure
from kinform.objects import Unstructured
from kinform.testing import ApiServer, virtual_time
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK, LoggedSource, Recorder
from tests.support.running import running
from tests.support.waiting import wait_until


async def test_its_handler_is_told_everything_in_order_of_the_server(
    kinform_api: ApiServer,
) -> None:
    kinform_api.create(config_map("a"))
    lines: list[str] = []
    async with Client(kinform_api.config) as client:
        informer = Informer(
            ListWatch.for_resource(client, MAPS, namespace="default"),
            on_add=lambda obj: lines.append(f"add {obj.name}"),
            on_update=lambda old, new: lines.append(f"update {new.name}"),
            on_delete=lambda gone: lines.append(f"delete {gone.key}"),
        )
        async with running(informer):
            await informer.has_synced
            assert lines == ["add a"]
            kinform_api.create(config_map("b"))
            kinform_api.patch(MAPS, "a", {"data": {"x": "y"}}, "default")
            kinform_api.delete(MAPS, "b", "default")
            await wait_until(lambda: len(lines) == 4)
            assert informer.store.list_keys() == ["default/a"]

    assert lines == ["add a", "add b", "update a", "delete default/b"]


async def test_its_handler_is_called_when_the_store_has_the_change_and_nothing_later() -> None:
    source = LoggedSource("a")
    seen: list[list[str]] = []
    informer = Informer(
        source.list_watch(), on_add=lambda obj: seen.append(sorted(informer.store.list_keys()))
    )
    async with running(informer):
        await informer.has_synced
        source.add("b")
        await wait_until(lambda: len(seen) == 2)

    assert seen == [["default/a"], ["default/a", "default/b"]]


async def test_an_object_may_be_its_handler_and_learns_what_was_there() -> None:
    source = LoggedSource("a")
    recorder = Recorder()
    async with running(Informer(source.list_watch(), recorder, options=QUICK)):
        await recorder.until("add a@1 initial")
        source.update("a")
        await recorder.until("update a@1 a@2")
        source.delete("a", missed=True)
        source.forget_history()
        source.add("b")
        told = await recorder.until("add b@5")

    assert told[:2] == ["add a@1 initial", "update a@1 a@2"]
    assert "delete a@2?" in told


@pytest.mark.parametrize("missed", [False, True], ids=["watch", "list"])
async def test_another_object_of_the_same_name_is_a_deletion_and_an_addition(missed: bool) -> None:
    source = LoggedSource("a")
    recorder = Recorder()
    async with running(Informer(source.list_watch(), recorder, options=QUICK)):
        await recorder.until("add a@1 initial")
        source.update("a", uid="another", missed=missed)
        if missed:
            source.forget_history()
        told = await recorder.until("add a@2")

    assert told == ["add a@1 initial", "delete a@1?", "add a@2"]


@virtual_time
async def test_a_resync_tells_it_of_everything_again() -> None:
    source = LoggedSource("a", "b")
    recorder = Recorder()
    async with running(Informer(source.list_watch(), recorder, resync_period=10)):
        await asyncio.sleep(25)

    assert recorder.lines[2:] == ["update a@1 a@1", "update b@2 b@2"] * 2
    assert source.versions == ["0", "2"]


async def test_what_it_was_made_with_counts() -> None:
    source = LoggedSource("a")
    source.list_error = RuntimeError("not yet")
    failures: list[WatchFailure] = []

    def hear(failure: WatchFailure) -> None:
        failures.append(failure)
        source.list_error = None

    def mark(obj: Unstructured) -> None:
        obj["marked"] = True

    informer = Informer(
        source.list_watch(),
        on_delete=lambda gone: None,
        indexers={"name": lambda obj: [obj.name]},
        transform=mark,
        on_watch_error=hear,
        options=QUICK,
    )
    async with running(informer):
        await informer.has_synced
        assert [obj["marked"] for obj in informer.store.by_index("name", "a")] == [True]

    assert len(failures) == 1


async def test_it_runs_once() -> None:
    informer = Informer(LoggedSource().list_watch(), Recorder())
    async with running(informer):
        await informer.has_synced
        with pytest.raises(AlreadyStartedError, match="has already run"):
            await informer.run()


async def test_what_its_handler_raises_ends_the_run() -> None:
    def fail(deleted: DeletedObject[Unstructured]) -> None:
        raise LookupError(deleted.key)

    source = LoggedSource("a")
    async with running(Informer(source.list_watch(), on_delete=fail)) as task:
        await wait_until(lambda: len(source.versions) == 2)
        source.delete("a")
        with pytest.raises(LookupError, match="default/a"):
            await task


def test_a_handler_that_it_could_not_call_in_step_is_refused() -> None:
    async def on_add(obj: Unstructured) -> None: ...

    with pytest.raises(ConfigError, match="async def"):
        Informer(LoggedSource().list_watch(), on_add=on_add)
    with pytest.raises(ConfigError, match="none of on_add"):
        Informer(LoggedSource().list_watch())
