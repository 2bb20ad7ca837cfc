"""Typed informers without ``await``: the same names, the same objects."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from kinform import blocking, informers
from kinform.api import ListOptions
from kinform.errors import ConfigError, NoMatchError
from kinform.informers import DeletedObject, Latch, label_index
from kinform.informers.typed import Groups, accessor
from kinform.models.core.v1 import ConfigMap, Node
from kinform.objects import PartialObjectMetadata, Unstructured
from kinform.testing import BlockingApiServer
from tests.support.config_maps import MAPS, config_map


@pytest.fixture
def client(kinform_server: BlockingApiServer) -> Iterator[blocking.Client]:
    kinform_server.create(config_map("a", data={"x": "y"}, app="web"))
    with blocking.Client(kinform_server.config) as client:
        yield client


def members(owner: object, of: type | None = None) -> Iterator[tuple[str, Any]]:
    for name, member in vars(of or type(owner)).items():
        if isinstance(member, property | accessor):
            yield name, getattr(owner, name)


# -- the same names --------------------------------------------------------------------------


def test_no_name_of_the_async_factory_is_missing() -> None:
    names = {each for each in dir(informers.SharedInformerFactory) if not each.startswith("_")}
    assert names <= set(dir(blocking.SharedInformerFactory))
    wanted = set(inspect.signature(informers.new_informer).parameters)
    options = set(blocking.SharedIndexInformerOptions.__annotations__)
    assert wanted <= set(inspect.signature(blocking.new_informer).parameters) | options


def test_every_accessor_leads_to_the_same_kind(client: blocking.Client) -> None:
    factory = blocking.SharedInformerFactory(client)
    other = informers.SharedInformerFactory(client._inner)
    seen = 0
    for group, versions in members(other, Groups):
        for version, resources in members(versions):
            for name, hold in members(resources):
                mine = getattr(getattr(getattr(factory, group), version), name)
                assert isinstance(mine, blocking.ResourceInformer)
                assert isinstance(mine.informer, blocking.SharedIndexInformer)
                assert mine.informer.form is hold.informer.form
                seen += 1
    assert seen == len(factory.informers) > 90


def test_the_same_accessor_is_the_same_informer_with_a_lease_of_its_own(
    client: blocking.Client,
) -> None:
    factory = blocking.SharedInformerFactory(client)
    nodes = factory.core.v1.nodes
    assert factory.for_resource(Node).informer is nodes.informer
    factory.core.v1.nodes.release()
    assert not nodes.is_released
    assert factory.for_model(Node).informer is nodes.informer


# -- a life ----------------------------------------------------------------------------------


def test_handlers_and_listers_are_typed(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    factory = blocking.SharedInformerFactory(client)
    maps = factory.core.v1.config_maps
    added, deleted = Latch("b was added"), Latch("b was deleted")
    seen: list[str] = []

    def on_add(each: ConfigMap) -> None:
        seen.append(f"{each.metadata.name} {each.data}")
        if each.name == "b":
            added.set()

    def on_delete(gone: DeletedObject[ConfigMap]) -> None:
        assert gone.object is not None
        seen.append(f"no {gone.object.metadata.name}")
        deleted.set()

    maps.informer.add_indexers({"app": label_index("app")})
    maps.informer.add_event_handler(on_add=on_add, on_delete=on_delete)
    with factory:
        assert factory.wait_for_cache_sync(timeout=20)
        kinform_server.create(config_map("b"))
        added.wait(timeout=20)
        kinform_server.delete(MAPS, "b", namespace="default")
        deleted.wait(timeout=20)
        assert maps.lister.namespace("default").get("a").data == {"x": "y"}
        (found,) = maps.informer.indexer.by_index("app", "web")
        assert isinstance(found, ConfigMap)
    assert seen == ["a {'x': 'y'}", "b {}", "no b"]


def test_typed_dynamic_and_metadata_views_share_one_watch(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    factory = blocking.SharedInformerFactory(client)
    tree = factory.for_resource(MAPS, form=Unstructured)
    metadata = factory.for_resource(MAPS, form=PartialObjectMetadata)
    typed = factory.core.v1.config_maps
    with factory:
        assert factory.wait_for_cache_sync(timeout=20)
        assert tree.lister.get("default/a")["data"] == typed.lister.get("default/a").data
        assert metadata.lister.get("default/a").labels == {"app": "web"}
        assert [type(next(iter(each.informer.events())).object) for each in (tree, typed)] == [
            Unstructured,
            ConfigMap,
        ]
    assert len(kinform_server.requests.watches(MAPS)) == 1


def test_an_unknown_resource_is_refused_and_its_metadata_can_be_had(
    client: blocking.Client,
) -> None:
    factory = blocking.SharedInformerFactory(client)
    with pytest.raises(NoMatchError, match=r"did you mean v1/pods\?"):
        factory.for_resource("v1/pod")
    assert factory.object_or_metadata("v1/pod").informer.form is PartialObjectMetadata
    assert factory.object_or_metadata("v1/configmaps").informer.form is ConfigMap


def test_what_was_built_for_the_factory_lives_with_it(client: blocking.Client) -> None:
    factory = blocking.SharedInformerFactory(client, 3.0)
    built: list[tuple[float, blocking.SharedIndexInformer[ConfigMap]]] = []

    def build(
        client: blocking.Client, resync_period: float
    ) -> blocking.SharedIndexInformer[ConfigMap]:
        built.append((resync_period, blocking.new_informer(ConfigMap, client, labels="app=web")))
        return built[-1][1]

    informer = factory.informer_for(ConfigMap, build)
    assert factory.informer_for(ConfigMap, build) is informer
    assert built == [(3.0, informer)]
    with factory:
        assert factory.wait_for_cache_sync(timeout=20)
        del informer
        built.clear()  # who lets go of what was built does not end it
        gc.collect()
        maps = factory.core.v1.config_maps
        client.get(ConfigMap, "a")  # what the collector had done on the loop is done by now
        assert maps.informer.is_running
        assert [each.name for each in maps.lister.list()] == ["a"]
    assert maps.informer.is_stopped


# -- without a factory -----------------------------------------------------------------------


def test_an_informer_of_ones_own(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    kinform_server.create(config_map("b", app="db"))

    def tweak(options: ListOptions) -> ListOptions:
        return options.replace(label_selector="app=web")

    maps = blocking.new_informer(
        ConfigMap,
        client,
        namespace=["default", "kube-system"],
        indexers={"x": lambda each: [each.data["x"]]},
        tweak_list_options=tweak,
    )
    with maps:
        maps.has_synced.wait(timeout=20)
        assert [each.name for each in maps.indexer.by_index("x", "y")] == ["a"]
        assert len(maps.store) == 1
    with pytest.raises(NoMatchError, match="v1/nodes is cluster-scoped"):
        blocking.new_informer(Node, client, namespace="default")
    with pytest.raises(ConfigError, match="pass non-empty names"):
        blocking.new_informer(ConfigMap, client, namespace=[])
