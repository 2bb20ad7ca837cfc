"""The types that checkers infer for the clients are those of the results.

``assert_type`` is for the checkers, which check this file like all others. The tests also run, to
compare with the actual types.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator
from typing import Any, assert_type, get_type_hints

import pytest

from kinform import blocking
from kinform.api import GVK, GVR, ApiResource, ListOptions
from kinform.client import (
    ApplyKeywords,
    Client,
    DeleteCollectionKeywords,
    DeleteKeywords,
    GetKeywords,
    ListKeywords,
    ObjectList,
    PageKeywords,
    PatchKeywords,
    Reader,
    Verbs,
    ViewReader,
    ViewWatcher,
    Watch,
    Watcher,
    WatchKeywords,
    WriteKeywords,
    Writer,
)
from kinform.client._object_writer import ObjectWriter
from kinform.informers import ListWatch
from kinform.models.apps.v1 import Deployment
from kinform.models.autoscaling.v1 import Scale
from kinform.models.core.v1 import ConfigMap, Pod
from kinform.models.meta.v1 import ObjectMeta
from kinform.objects import Handle, PartialObjectMetadata, Unstructured
from kinform.testing import ApiServer, BlockingApiServer

MAPS = GVR("", "v1", "configmaps")
RAW = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "raw"}}


def made(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name))


@pytest.fixture
async def client(kinform_api: ApiServer) -> AsyncIterator[Client]:
    async with Client(kinform_api.config) as client:
        yield client


def is_all_of(objects: list[Handle | None], form: type[Handle]) -> bool:
    return all(type(each) is form for each in objects)


async def test_a_class_gives_its_objects(client: Client) -> None:
    created = assert_type(await client.create(made("a")), ConfigMap)
    updated = assert_type(await client.update(created), ConfigMap)
    patched = assert_type(await client.patch(ConfigMap, "a", {"data": {"k": "v"}}), ConfigMap)
    got = assert_type(await client.get(ConfigMap, "a", namespace="default"), ConfigMap)
    listed = assert_type(await client.list(ConfigMap, labels={}), ObjectList[ConfigMap])
    page = assert_type(await client.page(ConfigMap, ListOptions()), ObjectList[ConfigMap])
    pages = assert_type(client.pages(ConfigMap), AsyncGenerator[ObjectList[ConfigMap], None])
    watch = assert_type(client.watch(ConfigMap), Watch[ConfigMap])
    async with watch:
        seen = assert_type((await anext(watch)).object, ConfigMap)
    found = [each async for page in pages for each in page]
    deleted = assert_type(await client.delete(ConfigMap, "a"), ConfigMap | None)

    assert is_all_of([created, updated, patched, got, *listed, *page, *found, seen], ConfigMap)
    assert deleted is None
    assert_type(got.data, dict[str, str])


async def test_a_resource_gives_unstructured_ones(client: Client) -> None:
    created = assert_type(await client.create(RAW), Unstructured)
    updated = assert_type(await client.update(created), Unstructured)
    patched = assert_type(await client.patch(MAPS, "raw", {}), Unstructured)
    listed = assert_type(await client.list(MAPS), ObjectList[Unstructured])
    watch = assert_type(client.watch(MAPS), Watch[Unstructured])
    pages = assert_type(client.pages(MAPS), AsyncGenerator[ObjectList[Unstructured], None])
    kind = assert_type(await client.get(GVK("", "v1", "ConfigMap"), "raw"), Unstructured)
    resource: ApiResource | None = ConfigMap.resource
    assert resource is not None
    known = assert_type(await client.get(resource, "raw"), Unstructured)
    async with watch:
        seen = (await anext(watch)).object
    found = [each async for page in pages for each in page]
    deleted = assert_type(await client.delete(MAPS, "raw"), Unstructured | None)

    everything = [created, updated, patched, *listed, seen, *found, kind, known]
    assert is_all_of([*everything], Unstructured)
    assert deleted is None


async def test_a_form_decides(client: Client) -> None:
    created = assert_type(await client.create(RAW, form=ConfigMap), ConfigMap)
    updated = assert_type(await client.update(created, form=Unstructured), Unstructured)
    got = assert_type(await client.get(MAPS, "raw", form=ConfigMap), ConfigMap)
    patched = assert_type(await client.patch(ConfigMap, "raw", {}, form=Unstructured), Unstructured)
    view = assert_type(client.view(ConfigMap), Verbs[ConfigMap])
    viewed = assert_type(await view.get(MAPS, "raw"), ConfigMap)

    assert is_all_of([created, got, viewed], ConfigMap)
    assert is_all_of([updated, patched], Unstructured)


async def test_metadata_is_metadata(client: Client) -> None:
    await client.create(made("a"))
    got = assert_type(await client.metadata.get(ConfigMap, "a"), PartialObjectMetadata)
    listed = assert_type(await client.metadata.list(MAPS), ObjectList[PartialObjectMetadata])
    typed = assert_type(await client.metadata.list(ConfigMap), ObjectList[PartialObjectMetadata])
    watch = assert_type(client.metadata.watch(ConfigMap), Watch[PartialObjectMetadata])
    async with watch:
        seen = (await anext(watch)).object

    assert is_all_of([got, *listed, *typed, seen], PartialObjectMetadata)


async def test_sources_are_of_what_they_were_made_by(client: Client) -> None:
    pods = assert_type(ListWatch.for_resource(client, Pod), ListWatch[Pod])
    maps = assert_type(ListWatch.for_resource(client, MAPS), ListWatch[Unstructured])
    view = assert_type(ListWatch.for_resource(client.view(Pod), MAPS), ListWatch[Pod])
    metadata = assert_type(
        ListWatch.for_resource(client.metadata, Pod), ListWatch[PartialObjectMetadata]
    )
    forms = (pods.form, maps.form, view.form, metadata.form)
    assert forms == (Pod, Unstructured, Pod, PartialObjectMetadata)


def test_a_function_over_any_form_takes_every_view(kinform_server: BlockingApiServer) -> None:
    def form_of(verbs: blocking.Verbs[Any]) -> type[Handle]:
        form: type[Handle] = verbs.form
        return form

    with blocking.Client(kinform_server.config) as client:
        assert form_of(client) is Unstructured
        assert form_of(client.metadata) is PartialObjectMetadata
        assert form_of(client.view(Pod)) is Pod


def test_the_blocking_client_has_the_same_types(kinform_server: BlockingApiServer) -> None:
    with blocking.Client(kinform_server.config) as client:
        created = assert_type(client.create(made("a")), ConfigMap)
        raw = assert_type(client.create(RAW), Unstructured)
        as_class = assert_type(client.update(raw, form=ConfigMap), ConfigMap)
        got = assert_type(client.get(ConfigMap, "a"), ConfigMap)
        patched = assert_type(client.patch(ConfigMap, "a", {}), ConfigMap)
        listed = assert_type(client.list(ConfigMap), ObjectList[ConfigMap])
        page = assert_type(client.page(ConfigMap, ListOptions()), ObjectList[ConfigMap])
        pages = assert_type(client.pages(ConfigMap), Generator[ObjectList[ConfigMap], None, None])
        watch = assert_type(client.watch(ConfigMap), blocking.Watch[ConfigMap])
        with watch:
            seen = assert_type(next(watch).object, ConfigMap)
        found = [each for page in pages for each in page]
        plain = assert_type(client.get(MAPS, "raw"), Unstructured)
        metadata = assert_type(client.metadata.get(ConfigMap, "a"), PartialObjectMetadata)
        all_metadata = assert_type(
            client.metadata.list(ConfigMap), ObjectList[PartialObjectMetadata]
        )
        deleted = assert_type(client.delete(ConfigMap, "a"), ConfigMap | None)

    everything = [created, as_class, got, patched, *listed, *page, seen, *found]
    assert is_all_of([*everything], ConfigMap)
    assert is_all_of([raw, plain], Unstructured)
    assert is_all_of([metadata, *all_metadata], PartialObjectMetadata)
    assert deleted is None


def test_protocols_are_satisfied_by_what_fits(kinform_server: BlockingApiServer) -> None:
    client = Client(kinform_server.config)
    all_three: tuple[Reader, Writer, Watcher] = (client, client, client)
    readers: tuple[ViewReader[PartialObjectMetadata], ViewReader[Pod]] = (
        client.metadata,
        client.view(Pod),
    )
    watchers: tuple[ViewWatcher[PartialObjectMetadata], ViewWatcher[Pod]] = (
        client.metadata,
        client.view(Pod),
    )
    # The checkers must report these, and do.
    no_reader: Reader = client.metadata  # type: ignore[assignment]  # a class names no form here
    no_writer: Writer = client.view(Pod)  # type: ignore[assignment]  # it cannot create
    other_form: ViewWatcher[Pod] = client.metadata  # type: ignore[assignment]

    assert [type(each) for each in all_three] == [Client] * 3
    assert [each.form for each in watchers] == [PartialObjectMetadata, Pod]
    assert len(readers) == 2
    assert None not in (no_reader, no_writer, other_form)


async def through_protocols(reader: Reader, writer: Writer, watcher: Watcher) -> None:
    """For the checkers alone."""
    assert_type(await reader.get(Pod, "a"), Pod)
    assert_type(await reader.get(MAPS, "a", namespace="x"), Unstructured)
    assert_type(await reader.list(Pod, labels="app=web", limit=5), ObjectList[Pod])
    assert_type(await writer.create(made("a")), ConfigMap)
    assert_type(await writer.update(RAW, subresource="status"), Unstructured)
    assert_type(await writer.apply(RAW, field_manager="me", form=ConfigMap), ConfigMap)
    assert_type(await writer.patch(Pod, "a", {}), Pod)
    assert_type(await writer.delete(Pod, "a"), Pod | None)
    assert_type(await watcher.page(Pod, ListOptions()), ObjectList[Pod])
    assert_type(watcher.watch(MAPS), Watch[Unstructured])
    assert_type(watcher.view(Pod), ViewWatcher[Pod])
    await reader.get(Pod, "a", subresource="scale")  # type: ignore[call-overload]  # not cached


async def never_run(client: Client, scaled: Scale, plain: blocking.Client) -> None:
    """What needs a server of more; for the checkers alone."""
    assert_type(await client.get(Deployment, "web", subresource="scale", form=Scale), Scale)
    assert_type(await client.update(scaled, resource=Deployment, subresource="scale"), Scale)
    assert_type(await client.apply(made("a"), field_manager="me"), ConfigMap)
    assert_type(await client.apply(RAW, field_manager="me"), Unstructured)
    assert_type(plain.apply(made("a"), field_manager="me"), ConfigMap)
    # Each of these is a mistake that a checker finds; one that it does not would be reported.
    await client.apply(made("a"))  # type: ignore[call-overload]  # by whom?
    await client.get(Pod, "a", namspace="x")  # type: ignore[call-overload]  # misspelt
    await client.list(int)  # type: ignore[type-var]  # no class of objects


# -- the keywords are declared once, and are those of the verbs ------------------------------


@pytest.mark.parametrize(
    ("verb", "declared", "positional"),
    [
        (Verbs.get, GetKeywords, {"resource", "name"}),
        (Verbs.list, ListKeywords, {"resource"}),
        (Verbs.page, PageKeywords, {"resource", "options"}),
        (Verbs.watch, WatchKeywords, {"resource", "options"}),
        (Verbs.patch, PatchKeywords, {"resource", "name", "patch"}),
        (Verbs.delete, DeleteKeywords, {"resource", "name"}),
        (Verbs.delete_collection, DeleteCollectionKeywords, {"resource"}),
    ],
)
def test_no_keyword_is_missing(verb: Any, declared: Any, positional: set[str]) -> None:
    taken = get_type_hints(verb)
    del taken["return"]
    assert {k: v for k, v in taken.items() if k not in positional} == get_type_hints(declared)


def test_no_keyword_of_the_writes_is_missing() -> None:
    # What is declared is passed on to one place, which takes no more than that.
    taken = get_type_hints(ObjectWriter.write).keys() - {"verb", "obj", "form", "return"}
    assert get_type_hints(WriteKeywords).keys() == taken - {"force"}
    assert get_type_hints(ApplyKeywords).keys() == taken
