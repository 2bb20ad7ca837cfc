"""What nobody can have meant is refused by name, where it is said and not when it runs."""

from __future__ import annotations

from typing import Any

import pytest

from kinform import Client, SharedInformerFactory, blocking, new_informer
from kinform.api import GVR
from kinform.errors import ConfigError, InvalidNameError, SelectorError
from kinform.informers import (
    DeltaFIFO,
    DynamicSharedInformerFactory,
    Indexer,
    Informer,
    ListWatch,
    MetadataSharedInformerFactory,
    Reflector,
    SharedIndexInformer,
    Store,
    chain,
    field_index,
    label_index,
    wait_for,
)
from kinform.models.core.v1 import Container, Pod
from kinform.transport import ClusterConfig

CONFIG = ClusterConfig(server="https://cluster.test")
NO_CLIENTS = [CONFIG, None, 5, "https://cluster.test", blocking.Client(CONFIG), Client]
FACTORIES = [
    SharedInformerFactory,
    DynamicSharedInformerFactory,
    MetadataSharedInformerFactory,
]


SOURCE = ListWatch[Any](lambda options: [], lambda options: iter(()))


def kind_of(given: object) -> str:
    return f"{type(given).__module__}-{type(given).__name__}"


@pytest.mark.parametrize("given", NO_CLIENTS, ids=kind_of)
@pytest.mark.parametrize("factory", FACTORIES)
def test_a_factory_is_made_of_a_client(factory: Any, given: object) -> None:
    with pytest.raises(
        ConfigError, match=rf"{factory.__name__} takes a kinform\.Client, not .*from_env"
    ):
        factory(given)


def test_an_error_names_what_was_given_and_shows_no_secret() -> None:
    config: Any = ClusterConfig(server="https://cluster.test")
    with pytest.raises(ConfigError, match=r"not kinform\.transport\.ClusterConfig; ") as caught:
        SharedInformerFactory(config)
    assert "cluster.test" not in str(caught.value)
    blocking_client: Any = blocking.Client(CONFIG)
    with pytest.raises(ConfigError, match=r"not kinform\.blocking\.Client; "):
        SharedInformerFactory(blocking_client)


@pytest.mark.parametrize("given", NO_CLIENTS, ids=kind_of)
def test_an_informer_of_its_own_and_a_source_are_made_of_a_client(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"new_informer takes a kinform\.Client, not "):
        new_informer(Pod, given)
    with pytest.raises(ConfigError, match=r"ListWatch\.for_resource takes a kinform\.Client, not "):
        ListWatch.for_resource(given, Pod)


@pytest.mark.parametrize("wrong", [5, None, "pods", [], Container, Pod()], ids=kind_of)
def test_what_is_no_kind_has_no_informer(client: Client, wrong: Any) -> None:
    factory = SharedInformerFactory(client)
    with pytest.raises(InvalidNameError, match=r"is not a model class; for a resource"):
        new_informer(wrong, client)
    with pytest.raises(InvalidNameError, match=r"is not a resource; .*'apps/v1/deployments'"):
        ListWatch.for_resource(client, wrong)
    with pytest.raises(
        (InvalidNameError, ConfigError), match=r"is not a resource|objects are available as"
    ):
        factory.for_model(wrong)


def test_a_resource_in_the_place_of_a_class_is_named(client: Client) -> None:
    pods: Any = GVR("", "v1", "pods")
    with pytest.raises(InvalidNameError, match=r"is not a model class"):
        new_informer(pods, client, namespace="default")


@pytest.mark.parametrize("wrong", [["app=web"], 5, None], ids=repr)
@pytest.mark.parametrize("option", ["labels", "fields"])
def test_a_factory_refuses_what_is_no_selector(client: Client, option: str, wrong: object) -> None:
    options: Any = {option: wrong}
    factory = SharedInformerFactory(client)
    with pytest.raises(SelectorError, match=f"{option}=.* is not a selector"):
        factory.for_resource(Pod, **options)
    assert not factory.informers


@pytest.mark.parametrize("wrong", [["app=web"], 5, None], ids=repr)
def test_a_lister_refuses_what_is_no_selector(client: Client, wrong: Any) -> None:
    with pytest.raises(SelectorError, match=r"labels=.* is not a selector"):
        SharedInformerFactory(client).core.v1.pods.lister.list(wrong)


@pytest.mark.parametrize("wrong", [5, b"default", [5], Pod], ids=repr)
def test_what_is_no_namespace_is_refused(client: Client, wrong: Any) -> None:
    complaint = "namespace=.*: pass a string, a list of strings"
    with pytest.raises(ConfigError, match=complaint):
        SharedInformerFactory(client, namespace=wrong)
    with pytest.raises(ConfigError, match=complaint):
        SharedInformerFactory(client).for_resource(Pod, namespace=wrong)
    with pytest.raises(ConfigError, match=complaint):
        new_informer(Pod, client, namespace=wrong)


@pytest.mark.parametrize(
    "option", ["transform", "tweak_list_options", "on_watch_error", "on_handler_error"]
)
def test_what_is_to_be_called_must_be_a_function(client: Client, option: str) -> None:
    options: Any = {option: 5}
    with pytest.raises(ConfigError, match=f"{option} must be a function, not 5"):
        SharedInformerFactory(client, **options).for_model(Pod)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"default_resync": "often"}, "resync_period must be 0 .never. or more, not 'often'"),
        ({"by_kind": 5}, "by_kind= takes a dict of KindOptions by resource, not int"),
        (
            {"options": {"page_size": 5}},
            r"options= takes kinform\.informers\.ReflectorOptions, not dict",
        ),
    ],
)
def test_an_option_that_cannot_be_meant_is_named(
    client: Client, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        SharedInformerFactory(client, **options).for_model(Pod)


def test_who_builds_an_informer_is_a_function_and_gives_one(client: Client) -> None:
    factory = SharedInformerFactory(client)
    nobody: Any = None
    with pytest.raises(ConfigError, match="build must be a function, not None"):
        factory.informer_for(Pod, nobody)
    with pytest.raises(ConfigError, match=r"takes a function that returns a .*, not None"):
        factory.informer_for(Pod, lambda client, resync_period: nobody)
    assert not factory.informers


@pytest.mark.parametrize("wrong", [5, None, [5], Pod], ids=repr)
def test_an_informer_needs_a_source(wrong: Any) -> None:
    complaint = r"an informer takes a kinform\.ListWatch, not .*ListWatch\.for_resource"
    with pytest.raises(ConfigError, match=complaint):
        SharedIndexInformer(wrong)
    with pytest.raises(ConfigError, match=complaint):
        Informer(wrong, on_add=print)


def test_a_source_needs_two_functions_and_a_form() -> None:
    wrong: Any = 5
    with pytest.raises(ConfigError, match="list must be a function, not 5"):
        ListWatch(wrong, print)
    with pytest.raises(ConfigError, match="watch must be a function, not 5"):
        ListWatch(print, wrong)
    with pytest.raises(ConfigError, match="5 is not a class of objects"):
        ListWatch(print, print, form=wrong)


def test_a_chain_is_of_functions_that_nobody_awaits() -> None:
    wrong: Any = 5

    async def later(pod: Pod) -> None: ...

    with pytest.raises(ConfigError, match="each transform must be a function, not 5"):
        chain(wrong)
    awaited: Any = later
    with pytest.raises(ConfigError, match="each transform must not be async"):
        chain(awaited)


async def test_only_latches_are_waited_for(client: Client) -> None:
    informer: Any = new_informer(Pod, client)
    with pytest.raises(ConfigError, match=r"wait_for takes latches such as informer\.has_synced"):
        await wait_for(informer)


@pytest.mark.parametrize("given", [5, None, "pods", Store(), CONFIG], ids=kind_of)
def test_a_reflector_reads_a_list_watch(given: Any) -> None:
    """18.28: the message names the type in the words of every other argument."""
    with pytest.raises(
        ConfigError, match=r"^Reflector takes a ListWatch, not \S+; .* ListWatch\.for_resource"
    ):
        Reflector(given, Store())


@pytest.mark.parametrize("given", [5, [], {}], ids=kind_of)
def test_a_reflector_fills_a_store(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"takes a Store, .*; a \w+ has no \w+\(\)"):
        Reflector(SOURCE, given)


@pytest.mark.parametrize("options", [{}, {"store": None}], ids=["none", "None"])
def test_a_reflector_without_a_store_says_what_to_pass(options: dict[str, Any]) -> None:
    """18.28: a ConfigError, not Python's TypeError; the source is checked first."""
    with pytest.raises(ConfigError, match=r"Reflector needs a store to fill: pass a Store\(\)"):
        Reflector(SOURCE, **options)
    source: Any = 5
    for reflector in (Reflector, blocking.Reflector):
        with pytest.raises(ConfigError, match=r"takes .*ListWatch"):
            reflector(source, **options)


def test_the_resync_period_of_a_reflector_is_a_number() -> None:
    """18.28: a ConfigError, not the TypeError of a comparison."""
    period: Any = "30s"
    with pytest.raises(ConfigError, match=r"resync_period must be 0 \(never\) or more, not '30s'"):
        Reflector(SOURCE, Store(), resync_period=period)


def test_an_index_of_a_label_has_a_label() -> None:
    """18.28: when it is created, not for each object."""
    label: Any = 5
    with pytest.raises(ConfigError, match=r"^label_index takes a label such as 'app', not int$"):
        label_index(label)


@pytest.mark.parametrize("given", [5, "by_node", [("by_node", len)]], ids=kind_of)
def test_indexers_are_functions_by_name(given: Any) -> None:
    for add in (Indexer().add_indexers, SharedIndexInformer(SOURCE).add_indexers):
        with pytest.raises(
            ConfigError, match=r"^indexers takes a dict of .*, not \w+; pass one such as \{'by_node"
        ):
            add(given)


def test_each_of_them_has_a_name_and_can_be_called() -> None:
    numbered: Any = {1: len}
    uncalled: Any = {"by_node": "spec.nodeName"}
    indexer = Indexer()
    with pytest.raises(ConfigError, match="name of an index must be a string, not 1"):
        indexer.add_indexers(numbered)
    with pytest.raises(ConfigError, match=r"'by_node' must be a function, not 'spec\.nodeName'"):
        indexer.add_indexers(uncalled)
    assert indexer.indexers == {}


@pytest.mark.parametrize("given", [5, None, 1.5], ids=kind_of)
def test_an_index_of_a_field_has_a_path(given: Any) -> None:
    """18.28: a ConfigError, as for the other arguments of a wrong type."""
    with pytest.raises(
        ConfigError, match=r"^field_index takes a path such as 'spec\.nodeName', not \w+$"
    ):
        field_index(given)


@pytest.mark.parametrize("given", [5, "Pod", dict], ids=kind_of)
def test_a_store_is_of_a_class_of_handles(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"is not a handle class .*; pass a key_func"):
        Store(given)


def test_keys_are_made_by_a_function() -> None:
    given: Any = "metadata.name"
    for room in (Store, DeltaFIFO):
        with pytest.raises(ConfigError, match=r"key_func must be a function, not 'metadata\.name'"):
            room(key_func=given)
