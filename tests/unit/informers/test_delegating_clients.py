"""Informers over a client that is not a ``Client``: whatever satisfies ``Watcher`` will do."""

from __future__ import annotations

import asyncio

import pytest

from kinform import (
    Client,
    DynamicSharedInformerFactory,
    MetadataSharedInformerFactory,
    SharedInformerFactory,
    new_informer,
)
from kinform.errors import ConfigError
from kinform.informers import ListWatch, SharedIndexInformer
from kinform.models.core.v1 import ConfigMap
from kinform.testing import ApiServer
from tests.support.config_maps import MAPS, config_map
from tests.support.recording_client import RecordingClient


@pytest.mark.parametrize(
    ("factory_class", "form"),
    [
        (SharedInformerFactory, "ConfigMap"),
        (DynamicSharedInformerFactory, "Unstructured"),
        (MetadataSharedInformerFactory, "PartialObjectMetadata"),
    ],
)
async def test_factories_read_through_a_delegating_client(
    kinform_api: ApiServer,
    client: Client,
    factory_class: type[SharedInformerFactory],
    form: str,
) -> None:
    kinform_api.create(config_map("a"))
    recording = RecordingClient(client)
    factory = factory_class(recording)
    maps = factory.for_resource(MAPS)
    async with factory, asyncio.timeout(20):
        await factory.wait_for_cache_sync(strict=True)
        assert [each.key for each in maps.lister.list()] == ["default/a"]
    assert recording.calls == [f"view {form}"]


async def test_informers_without_a_factory_read_through_a_delegating_client(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.create(config_map("a"))
    recording = RecordingClient(client)
    for informer in (
        new_informer(ConfigMap, recording),
        SharedIndexInformer(ListWatch.for_resource(recording, ConfigMap)),
    ):
        async with informer, asyncio.timeout(20):
            await informer.has_synced
            assert informer.indexer.list_keys() == ["default/a"]
    assert recording.calls == ["view ConfigMap"] * 2


def test_what_lacks_a_member_is_refused_by_its_name() -> None:
    class Half:
        def view(self, form: object) -> None: ...

    with pytest.raises(
        ConfigError, match=r"it has no 'reachability', which kinform\.client\.Watcher"
    ):
        SharedInformerFactory(Half())  # type: ignore[arg-type]
