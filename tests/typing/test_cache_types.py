"""The types that checkers infer for the blocking cache are those of the results."""

from __future__ import annotations

from typing import assert_type

from kinform import blocking
from kinform.cache import KindReader
from kinform.client import ObjectList
from kinform.models.core.v1 import ConfigMap
from kinform.objects import PartialObjectMetadata, Unstructured
from kinform.testing import BlockingApiServer
from tests.support.config_maps import MAPS, config_map


def test_the_blocking_cache_returns_the_class_it_is_asked_for(
    kinform_server: BlockingApiServer,
) -> None:
    """19: typed, untyped, and as another form."""
    kinform_server.create(config_map("a"))
    with blocking.Client(kinform_server.config) as client, blocking.Cache(client) as cache:
        typed = assert_type(cache.get(ConfigMap, "a"), ConfigMap)
        plain = assert_type(cache.get(MAPS, "a"), Unstructured)
        metadata = assert_type(
            cache.get(ConfigMap, "a", form=PartialObjectMetadata), PartialObjectMetadata
        )
        listed = assert_type(cache.list(ConfigMap), ObjectList[ConfigMap])
        reader = assert_type(cache.peek(ConfigMap), KindReader[ConfigMap])
        informer = assert_type(
            cache.get_informer(ConfigMap), blocking.SharedIndexInformer[ConfigMap]
        )
        plain_informer = assert_type(
            cache.get_informer(MAPS), blocking.SharedIndexInformer[Unstructured]
        )

    assert (type(typed), type(plain), type(metadata)) == (
        ConfigMap,
        Unstructured,
        PartialObjectMetadata,
    )
    assert [type(each) for each in [*listed, reader.get("a")]] == [ConfigMap] * 2
    assert (informer.form, plain_informer.form) == (ConfigMap, Unstructured)


def test_the_blocking_cached_client_has_the_same_types(kinform_server: BlockingApiServer) -> None:
    """19: reads from the cache, writes to the server."""
    with blocking.Client(kinform_server.config) as client, blocking.Cache(client) as cache:
        mine = assert_type(cache.client(), blocking.CachedClient)
        created = assert_type(mine.create(config_map("a")), Unstructured)
        typed = assert_type(mine.get(ConfigMap, "a"), ConfigMap)
        plain = assert_type(mine.list(MAPS), ObjectList[Unstructured])
        metadata = assert_type(
            mine.list(ConfigMap, form=PartialObjectMetadata), ObjectList[PartialObjectMetadata]
        )
        patched = assert_type(mine.patch(ConfigMap, "a", {}), ConfigMap)

    assert [type(each) for each in (created, *plain)] == [Unstructured] * 2
    assert [type(each) for each in (typed, patched)] == [ConfigMap] * 2
    assert [type(each) for each in metadata] == [PartialObjectMetadata]
