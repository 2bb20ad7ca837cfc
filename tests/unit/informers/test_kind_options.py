"""Options per kind: defaults of a factory, of a kind and of a request."""

from __future__ import annotations

import asyncio

import pytest

from kinform import Client, DynamicSharedInformerFactory, KindOptions, SharedInformerFactory
from kinform.api import ListOptions
from kinform.errors import ConfigError
from kinform.models.core.v1 import ConfigMap, Secret
from kinform.objects import Unstructured
from kinform.testing import ApiServer
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK


def mark(obj: Unstructured) -> None:
    obj["data"] = {"marked": "yes"}


def tweak(options: ListOptions) -> ListOptions:
    return options.replace(label_selector="app=db")


async def test_options_of_a_kind_apply_to_that_kind(kinform_api: ApiServer, client: Client) -> None:
    for app in ("web", "db"):
        kinform_api.create(config_map(app, app=app))
    factory = DynamicSharedInformerFactory(
        client,
        30.0,
        options=QUICK,
        by_kind={
            "v1/configmaps": KindOptions(
                labels="app=web", transform=mark, resync_period=60.0, page_size=7, streaming=False
            )
        },
    )
    maps, secrets = factory.for_resource(MAPS), factory.for_resource("v1/secrets")
    async with factory, asyncio.timeout(20):
        await factory.wait_for_cache_sync(strict=True)
        (found,) = maps.lister.list()
        assert found.name == "web"
        assert found["data"] == {"marked": "yes"}
        # Read from a list in pages, not from a stream.
        assert kinform_api.requests.lists(MAPS)
        assert not kinform_api.requests.lists("secrets")
        assert maps.informer.add_event_handler(on_add=print).resync_period == 60.0
        assert secrets.informer.add_event_handler(on_add=print).resync_period == 30.0


async def test_a_request_overrides_the_kind_and_the_kind_the_factory(
    kinform_api: ApiServer, client: Client
) -> None:
    for app in ("web", "db"):
        kinform_api.create(config_map(app, app=app))
    factory = DynamicSharedInformerFactory(
        client, options=QUICK, transform=mark, by_kind={MAPS: KindOptions(labels="app=web")}
    )
    plain = factory.for_resource(MAPS, options=KindOptions(transform=None))
    by_selector = factory.for_resource(MAPS, labels="app=db")
    tweaked = factory.for_resource(MAPS, options=KindOptions(tweak_list_options=tweak))
    async with factory, asyncio.timeout(20):
        await factory.wait_for_cache_sync(strict=True)
        assert [each.get("data") for each in plain.lister.list()] == [None]
        assert [each.name for each in by_selector.lister.list()] == ["db"]
        assert [each["data"] for each in by_selector.lister.list()] == [{"marked": "yes"}]
        assert [each.name for each in tweaked.lister.list()] == ["db"]


def test_equal_options_share_an_informer_and_others_do_not(client: Client) -> None:
    factory = SharedInformerFactory(client, by_kind={ConfigMap: KindOptions(page_size=7)})
    default = factory.core.v1.config_maps.informer
    same = factory.for_model(ConfigMap, options=KindOptions(page_size=7)).informer
    assert same is default
    for options in (
        KindOptions[ConfigMap](page_size=8),
        KindOptions[ConfigMap](streaming=False),
        KindOptions[ConfigMap](resync_period=1.0),
        KindOptions[ConfigMap](transform=lambda obj: None),
        KindOptions[ConfigMap](tweak_list_options=tweak),
        KindOptions[ConfigMap](labels="app=web"),
        KindOptions[ConfigMap](namespace="default"),
    ):
        other = factory.for_model(ConfigMap, options=options).informer
        assert other is not default
        assert factory.for_model(ConfigMap, options=options).informer is other
    assert len(factory.informers) == 8


async def test_informers_that_differ_by_options_only_are_all_waited_for(
    kinform_api: ApiServer, client: Client
) -> None:
    factory = SharedInformerFactory(client, options=QUICK)
    leases = [
        factory.for_model(ConfigMap),
        factory.for_model(ConfigMap, options=KindOptions(page_size=3)),
        factory.for_model(ConfigMap, options=KindOptions(streaming=False)),
    ]
    async with factory, asyncio.timeout(20):
        result = await factory.wait_for_cache_sync(strict=True)
        assert len(result) == 3
        assert all(lease.informer.has_synced for lease in leases)
    assert len({lease.informer.name for lease in leases}) == 3


def test_invalid_options_are_named(client: Client) -> None:
    class Unhashable:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, obj: Unstructured) -> None: ...

    async def wait(obj: Unstructured) -> None: ...

    for options, why in (
        ({"page_size": 0}, "page_size must be at least 1, not 0"),
        ({"resync_period": -1}, "resync_period must be 0"),
        ({"transform": wait}, "transform"),
        ({"transform": Unhashable()}, "transform= must be hashable"),
    ):
        with pytest.raises(ConfigError, match=why):
            KindOptions(**options)
    with pytest.raises(ConfigError, match=r"by_kind\[v1/secrets\] takes kinform.KindOptions, not"):
        SharedInformerFactory(client, by_kind={Secret: 60.0})  # type: ignore[dict-item]
    with pytest.raises(ConfigError, match="by_kind has two entries for v1/secrets"):
        SharedInformerFactory(client, by_kind={Secret: KindOptions(), "v1/secrets": KindOptions()})
    factory = SharedInformerFactory(client)
    with pytest.raises(ConfigError, match=r"options= takes kinform\.KindOptions"):
        factory.for_model(Secret, options=5)  # type: ignore[arg-type]


def test_resync_periods_are_spread_by_the_jitter_and_informers_still_shared(client: Client) -> None:
    """19.7: each informer draws its own period once; the key has the period that was given."""
    factory = DynamicSharedInformerFactory(client, 100.0, resync_jitter=0.1)
    kinds = [f"v1/kind{number}s" for number in range(40)]
    informers = [factory.for_resource(kind).informer for kind in kinds]
    periods = [each.add_event_handler(on_add=print).resync_period for each in informers]
    assert all(90 <= period <= 110 for period in periods)
    assert len(set(periods)) > 1
    assert factory.for_resource(kinds[0]).informer is informers[0]
    assert informers[0].add_event_handler(on_add=print).resync_period == periods[0]
    assert {key.options.resync_period for key in factory.informers} == {100.0}
    never = DynamicSharedInformerFactory(client, resync_jitter=0.1).for_resource(MAPS).informer
    assert never.add_event_handler(on_add=print).resync_period == 0


@pytest.mark.parametrize("jitter", [-0.1, 1, 5.0, "10%"])
def test_invalid_jitter_is_refused(client: Client, jitter: float) -> None:
    """19.7: a period is never zero or negative."""
    with pytest.raises(ConfigError, match="resync_jitter must be a fraction"):
        DynamicSharedInformerFactory(client, resync_jitter=jitter)
