"""Views: one list, one watch and one store, seen as typed, dynamic and metadata objects at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from kinform import Client, DynamicSharedInformerFactory, SharedInformerFactory
from kinform.errors import AlreadyStartedError, CacheError, ConfigError
from kinform.informers import (
    DeletedObject,
    EventStream,
    MetadataSharedInformerFactory,
    ResourceInformer,
    SharedIndexInformer,
)
from kinform.models.core.v1 import ConfigMap
from kinform.objects import Handle, PartialObjectMetadata, Unstructured
from kinform.testing import ApiServer
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK, Notes


@dataclass(frozen=True)
class Views:
    """The same config maps in three forms, through one factory."""

    factory: SharedInformerFactory
    typed: ResourceInformer[ConfigMap]
    tree: ResourceInformer[Unstructured]
    metadata: ResourceInformer[PartialObjectMetadata]

    @property
    def all(self) -> tuple[ResourceInformer[Any], ...]:
        return self.typed, self.tree, self.metadata


@pytest.fixture
async def views(client: Client) -> AsyncIterator[Views]:
    factory = SharedInformerFactory(client, options=QUICK)
    # The metadata is asked for first: that must not make it all that is fetched.
    metadata = factory.for_resource(MAPS, form=PartialObjectMetadata)
    tree = factory.for_resource(MAPS, form=Unstructured)
    yield Views(factory, factory.core.v1.config_maps, tree, metadata)
    await factory.shutdown()


class Types(Notes):
    """A handler that writes down the type of what it is given."""

    def on_add(self, obj: Handle, is_in_initial_list: bool, /) -> None:
        self.write(f"add {type(obj).__name__} {obj.name}")

    def on_update(self, old: Handle, new: Handle, /) -> None:
        self.write(f"update {type(old).__name__} {type(new).__name__} {new.name}")

    def on_delete(self, deleted: DeletedObject[Handle], /) -> None:
        self.write(f"delete {type(deleted.object).__name__} {deleted.key}")


# -- what they share -------------------------------------------------------------------------


async def test_all_forms_are_one_list_one_watch_and_one_store(
    kinform_api: ApiServer, views: Views
) -> None:
    kinform_api.create(config_map("a", data={"x": "y"}, app="web"))
    assert len(views.factory.informers) == 1
    views.factory.start()
    assert await views.factory.wait_for_cache_sync(timeout=20)

    assert len(kinform_api.requests.watches(MAPS)) == 1
    assert kinform_api.requests.lists(MAPS) == []
    typed, tree, metadata = (hold.lister.namespace("default").get("a") for hold in views.all)
    assert isinstance(typed, ConfigMap)
    assert isinstance(tree, Unstructured)
    assert isinstance(metadata, PartialObjectMetadata)
    assert typed.record is tree.record is metadata.record
    assert typed.data == tree["data"] == {"x": "y"}
    assert metadata.labels == {"app": "web"}
    assert "data" not in metadata
    assert len({hold.informer.status().bytes for hold in views.all}) == 1


def test_the_same_form_is_the_same_informer(client: Client) -> None:
    factory = SharedInformerFactory(client)

    def ask(form: type[Handle]) -> SharedIndexInformer[Any]:
        return factory.for_resource(MAPS, form=form).informer

    for form in (Unstructured, PartialObjectMetadata, ConfigMap):
        assert ask(form) is ask(form)
        assert ask(form).form is form
    assert ask(ConfigMap) is factory.core.v1.config_maps.informer
    assert ask(ConfigMap) is not ask(Unstructured)


async def test_handlers_get_the_form_of_the_view_they_came_through(
    kinform_api: ApiServer, views: Views
) -> None:
    kinform_api.create(config_map("a"))
    handlers = {hold.informer.form.__name__: Types() for hold in views.all}
    for hold in views.all:
        hold.informer.add_event_handler(handlers[hold.informer.form.__name__])
    views.factory.start()
    assert await views.factory.wait_for_cache_sync(timeout=20)
    kinform_api.update(config_map("a", data={"x": "y"}))
    kinform_api.delete(MAPS, "a", namespace="default")

    for form, handler in handlers.items():
        await handler.until(f"delete {form} default/a")
        assert handler.lines == [
            f"add {form} a",
            f"update {form} {form} a",
            f"delete {form} default/a",
        ]
    names = [each.name for each in views.typed.informer.registrations]
    assert len(set(names)) == 3
    assert views.tree.informer.registrations == views.typed.informer.registrations


async def test_a_late_handler_of_a_view_sees_the_snapshot_in_its_form(
    kinform_api: ApiServer, views: Views
) -> None:
    kinform_api.create(config_map("a"))
    views.factory.start()
    assert await views.factory.wait_for_cache_sync(timeout=20)
    for hold in views.all:
        late = Types()
        registration = hold.informer.add_event_handler(late)
        await late.until(f"add {hold.informer.form.__name__} a")
        async with asyncio.timeout(20):
            await registration.has_synced
        registration.remove()
    assert views.typed.informer.registrations == ()


async def test_filters_read_the_form_of_their_view(kinform_api: ApiServer, views: Views) -> None:
    for name, size in (("a", "1"), ("b", "2")):
        kinform_api.create(config_map(name, data={"size": size}))
    typed, tree = Types(), Types()
    views.typed.informer.add_event_handler(typed, filter=lambda each: each.data["size"] == "2")
    views.tree.informer.add_event_handler(tree, filter=lambda each: each["data"]["size"] == "1")
    views.factory.start()
    await typed.until("add ConfigMap b")
    await tree.until("add Unstructured a")
    kinform_api.update(config_map("a", data={"size": "2"}))
    await typed.until("add ConfigMap a")
    await tree.until("delete Unstructured default/a")


async def test_index_functions_read_the_form_they_came_with_and_serve_all(
    kinform_api: ApiServer, views: Views
) -> None:
    kinform_api.create(config_map("a", data={"size": "1"}, app="web"))
    views.typed.informer.add_indexers({"size": lambda each: [each.data["size"]]})
    views.tree.informer.add_indexers({"tree": lambda each: list(each["data"])})
    views.factory.start()
    assert await views.factory.wait_for_cache_sync(timeout=20)
    # And one that comes late, through the third door.
    views.metadata.informer.add_indexers({"app": lambda each: [each.labels["app"]]})

    for hold in views.all:
        for index, value in (("size", "1"), ("tree", "size"), ("app", "web")):
            (found,) = hold.informer.indexer.by_index(index, value)
            assert type(found) is hold.informer.form
        (same,) = hold.informer.indexer.index("size", found)
        assert same.name == "a"
        assert hold.informer.indexer.index_errors == {}
    with pytest.raises(CacheError, match="app"):
        views.typed.informer.add_indexers({"app": lambda each: []})


async def test_event_streams_are_of_the_form_of_their_view(
    kinform_api: ApiServer, views: Views
) -> None:
    kinform_api.create(config_map("a"))
    streams: list[EventStream[Any]] = [hold.informer.events() for hold in views.all]
    views.factory.start()
    async with asyncio.timeout(20):
        for hold, stream in zip(views.all, streams, strict=True):
            event = await anext(stream)
            assert type(event.object) is hold.informer.form
    for stream in streams:
        stream.close()


# -- one life --------------------------------------------------------------------------------


async def test_status_version_and_waiting_are_those_of_the_one_informer(
    kinform_api: ApiServer, client: Client, views: Views
) -> None:
    views.factory.start()
    assert await views.factory.wait_for_cache_sync(timeout=20)
    created = await client.create(config_map("a"))
    for hold in views.all:
        async with asyncio.timeout(20):
            await hold.informer.wait_for_rv(created.resource_version)
        assert hold.lister.get("default/a").name == "a"
        assert hold.informer.is_running
        assert hold.informer.has_synced is views.typed.informer.has_synced
        assert hold.informer.name == "v1/configmaps"
        assert hold.informer.is_fresh(60.0)
        assert "v1/configmaps" in repr(hold.informer)
        status = hold.informer.status()
        assert (status.objects, status.quarantined, status.is_running) == (1, 0, True)
        assert status.resource_version == hold.informer.last_sync_resource_version
    assert views.tree.informer.store.get_by_key("default/a") is not None


async def test_a_view_stops_and_starts_the_one_informer(
    kinform_api: ApiServer, views: Views
) -> None:
    kinform_api.create(config_map("a"))
    typed = Types()
    views.typed.informer.add_event_handler(typed)
    views.tree.informer.start()
    assert views.typed.informer.is_running
    with pytest.raises(AlreadyStartedError):
        views.metadata.informer.start()
    await typed.until("add ConfigMap a")

    views.metadata.informer.stop()
    async with asyncio.timeout(20):
        await views.tree.informer.stopped
    assert views.typed.informer.is_stopped
    kinform_api.create(config_map("b"))
    async with views.tree.informer as running:
        assert running is views.tree.informer
        await typed.until("add ConfigMap b")
        assert views.typed.informer.is_running
    assert views.typed.informer.is_stopped


async def test_run_of_a_view_is_the_life_of_the_informer(views: Views) -> None:
    running = asyncio.create_task(views.tree.informer.run())
    async with asyncio.timeout(20):
        await views.typed.informer.has_synced
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert views.typed.informer.is_stopped


async def test_the_informer_lives_until_the_last_form_is_released(views: Views) -> None:
    views.factory.start()
    assert await views.factory.wait_for_cache_sync(timeout=20)
    views.typed.release()
    views.typed.release()
    views.metadata.release()
    assert views.tree.informer.is_running
    assert len(views.factory.informers) == 1
    views.tree.release()
    async with asyncio.timeout(20):
        await views.typed.informer.stopped
    assert views.factory.informers == {}


# -- transforms ------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [ConfigMap, Unstructured, PartialObjectMetadata])
async def test_the_transform_gets_typed_objects_whoever_asks_first(
    kinform_api: ApiServer, client: Client, first: type[Handle]
) -> None:
    def shorten(obj: Any) -> None:
        assert type(obj) is ConfigMap
        obj.data = {key: value[:3] for key, value in obj.data.items()}

    kinform_api.create(config_map("a", data={"x": "abcdef"}))
    factory = SharedInformerFactory(client, transform=shorten)
    factory.for_resource(MAPS, form=first)
    tree = factory.for_resource(MAPS, form=Unstructured)
    async with factory:
        assert await factory.wait_for_cache_sync(timeout=20)
        assert tree.lister.get("default/a")["data"] == {"x": "abc"}
        assert factory.core.v1.config_maps.lister.get("default/a").data == {"x": "abc"}


def test_the_transform_is_not_set_through_a_view(views: Views) -> None:
    with pytest.raises(ConfigError, match="holds ConfigMap objects; set it on the factory"):
        views.tree.informer.set_transform(lambda obj: None)
    views.typed.informer.set_transform(lambda obj: None)


async def test_the_watch_error_handler_set_through_a_view_is_the_informers(
    kinform_api: ApiServer, views: Views
) -> None:
    views.tree.informer.set_watch_error_handler(lambda failure: None)
    views.factory.start()
    with pytest.raises(AlreadyStartedError):
        views.metadata.informer.set_watch_error_handler(None)


# -- other factories -------------------------------------------------------------------------


async def test_a_dynamic_factory_shows_typed_objects_if_asked(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.create(config_map("a", data={"x": "y"}))
    factory = DynamicSharedInformerFactory(client)
    maps, tree = factory.for_resource(ConfigMap, form=ConfigMap), factory.for_resource(ConfigMap)
    async with factory:
        assert await factory.wait_for_cache_sync(timeout=20)
        assert maps.lister.get("default/a").data == {"x": "y"}
        assert tree.lister.get("default/a")["data"] == {"x": "y"}
    assert len(kinform_api.requests.watches(MAPS)) == 1


def test_metadata_alone_cannot_be_seen_as_more(client: Client) -> None:
    factory = MetadataSharedInformerFactory(client)
    with pytest.raises(ConfigError, match="has metadata only, which cannot be read as ConfigMap"):
        factory.for_resource(MAPS, form=ConfigMap)
    assert factory.informers == {}
