"""18.27: the types of the embedded server's verbs: classes give objects, other resources dicts."""

from __future__ import annotations

from typing import Any, assert_type

from kinform import blocking
from kinform.client import Client, ObjectList, Watch
from kinform.models.core.v1 import ConfigMap
from kinform.models.meta.v1 import ObjectMeta
from kinform.objects import Unstructured
from kinform.testing import ApiServer, BlockingApiServer

TEXT = "v1/configmaps"
Json = dict[str, Any]


def made(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name), data={"k": "1"})


async def test_a_class_gives_its_objects(kinform_api: ApiServer) -> None:
    created = assert_type(kinform_api.create(made("a")), ConfigMap)
    updated = assert_type(kinform_api.update(created), ConfigMap)
    patched = assert_type(kinform_api.patch(ConfigMap, "a", {"data": {"k": "2"}}), ConfigMap)
    got = assert_type(kinform_api.get(ConfigMap, "a"), ConfigMap)
    again = assert_type(kinform_api.recreate(ConfigMap, "a"), ConfigMap)
    listed = assert_type(kinform_api.list(ConfigMap, "default"), list[ConfigMap])

    assert {type(each) for each in [created, updated, patched, got, again, *listed]} == {ConfigMap}


async def test_text_gives_dicts(kinform_api: ApiServer) -> None:
    created = assert_type(kinform_api.create(made("a").to_dict()), Json)
    updated = assert_type(kinform_api.update(created), Json)
    patched = assert_type(kinform_api.patch(TEXT, "a", {"data": {"k": "2"}}), Json)
    got = assert_type(kinform_api.get(TEXT, "a"), Json)
    again = assert_type(kinform_api.recreate(TEXT, "a"), Json)
    listed = assert_type(kinform_api.list(TEXT, "default"), list[Json])

    assert {type(each) for each in [created, updated, patched, got, again, *listed]} == {dict}


def test_the_blocking_server_has_the_same_types(kinform_server: BlockingApiServer) -> None:
    created = assert_type(kinform_server.create(made("a")), ConfigMap)
    got = assert_type(kinform_server.get(TEXT, "a"), Json)
    listed = assert_type(kinform_server.list(ConfigMap, "default"), list[ConfigMap])
    ended = assert_type(kinform_server.end_watches("pods"), int)

    assert (type(created), type(got), [type(each) for each in listed], ended) == (
        ConfigMap,
        dict,
        [ConfigMap],
        0,
    )


async def test_text_gives_unstructured_objects_of_a_client(kinform_api: ApiServer) -> None:
    kinform_api.create(made("a"))
    async with Client(kinform_api.config) as client:
        got = assert_type(await client.get(TEXT, "a"), Unstructured)
        listed = assert_type(await client.list(TEXT), ObjectList[Unstructured])
        watch = assert_type(client.watch(TEXT), Watch[Unstructured])
        as_class = assert_type(await client.get(TEXT, "a", form=ConfigMap), ConfigMap)
        async with watch:
            seen = (await anext(watch)).object

    assert {type(each) for each in [got, *listed, seen]} == {Unstructured}
    assert type(as_class) is ConfigMap


def never_run(client: blocking.Client) -> None:
    """For the checkers alone."""
    assert_type(client.get(TEXT, "a"), Unstructured)
    assert_type(client.list(TEXT), ObjectList[Unstructured])
