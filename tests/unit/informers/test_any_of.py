"""Several selectors of one namespace: one list and watch each, one store with the union."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from kinform import Client
from kinform.api import LabelSelector
from kinform.errors import CacheError, ConfigError, SelectorError
from kinform.informers import (
    ChangeSource,
    ChangeType,
    ListWatch,
    Scope,
    Selectors,
    SharedIndexInformer,
)
from kinform.objects import Unstructured
from kinform.testing import ApiServer, faults
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK, AsyncRecorder
from tests.support.waiting import wait_until

WEB, DB, RED = (Selectors(labels=each) for each in ("app=web", "app=db", "color=red"))


def informer_of(
    client: Client, parts: dict[str, Sequence[Selectors]], **excluded: tuple[str, ...]
) -> SharedIndexInformer[Unstructured]:
    source = ListWatch.for_resource(client, MAPS)
    scope = Scope.of(parts, **excluded)
    return SharedIndexInformer(source, scope=scope, name="maps", options=QUICK)


def put(server: ApiServer, name: str, namespace: str = "a", **labels: str) -> str:
    """Create or relabel a config map, and return its version."""
    obj = config_map(name, namespace)
    obj["metadata"]["labels"] = labels
    known = {each["metadata"]["name"] for each in server.list(MAPS, namespace)}
    written = server.update(obj) if name in known else server.create(obj)
    version: str = written["metadata"]["resourceVersion"]
    return version


def keys(informer: SharedIndexInformer[Unstructured]) -> list[str]:
    return sorted(informer.indexer.list_keys())


@pytest.fixture(autouse=True)
def namespaces(kinform_api: ApiServer) -> None:
    for namespace in ("a", "b", "c"):
        kinform_api.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        )


async def caught_up(server: ApiServer, informer: SharedIndexInformer[Unstructured]) -> None:
    """Wait until all watches have passed everything that was written so far."""
    version = put(server, "last", app="web", color="red")
    await informer.wait_for_rv(version, namespace="a")


async def test_store_has_the_union_and_each_change_once(
    kinform_api: ApiServer, client: Client
) -> None:
    """19.1: one watch for each selector; objects that match both are delivered once."""
    put(kinform_api, "both", app="web", color="red")
    put(kinform_api, "web", app="web")
    put(kinform_api, "none", app="db")
    informer = informer_of(client, {"a": [WEB, RED]})
    recorder = AsyncRecorder()
    informer.add_event_handler(recorder)
    async with informer, asyncio.timeout(20):
        await informer.has_synced
        assert keys(informer) == ["a/both", "a/web"]
        assert len([e for e in kinform_api.requests.watches(MAPS) if e.is_open]) == 2
        put(kinform_api, "both", app="web", color="red", more="x")
        put(kinform_api, "red", color="red")
        await caught_up(kinform_api, informer)
        assert keys(informer) == ["a/both", "a/last", "a/red", "a/web"]
        kinform_api.delete(MAPS, "both", namespace="a")
        await wait_until(lambda: "a/both" not in informer.indexer)
        await caught_up(kinform_api, informer)
    words = [" ".join(line.split("@")[0].split()) for line in recorder.lines]
    assert sum("add" in word and "both" in word for word in words) == 1, recorder.lines
    assert sum("update" in word and "both" in word for word in words) == 1, recorder.lines
    assert sum("delete" in word and "both" in word for word in words) == 1, recorder.lines


async def test_object_stays_while_one_selector_matches(
    kinform_api: ApiServer, client: Client
) -> None:
    """19.1: leaving one of two selectors is an update, leaving the last one a deletion."""
    put(kinform_api, "x", app="web", color="red")
    informer = informer_of(client, {"a": [WEB, RED]})
    async with informer, informer.events() as events, asyncio.timeout(20):
        await informer.has_synced
        put(kinform_api, "x", color="red")
        await caught_up(kinform_api, informer)
        found = informer.indexer.get_by_key("a/x")
        assert found is not None
        assert dict(found.labels) == {"color": "red"}
        put(kinform_api, "x", color="blue")
        await wait_until(lambda: "a/x" not in informer.indexer)
        seen = [await anext(events) for _ in range(4)]
    assert [(event.type, event.key, event.source) for event in seen if event.key == "a/x"] == [
        (ChangeType.ADDED, "a/x", ChangeSource.INITIAL),
        (ChangeType.UPDATED, "a/x", ChangeSource.WATCH),
        (ChangeType.DELETED, "a/x", ChangeSource.WATCH),
    ]


async def test_relist_of_one_selector_removes_only_what_no_other_has(
    kinform_api: ApiServer, client: Client
) -> None:
    """19.1: deletions that both watches missed are found; what the other has stays."""
    put(kinform_api, "both", app="web", color="red")
    put(kinform_api, "web", app="web")
    put(kinform_api, "red", color="red")
    informer = informer_of(client, {"a": [WEB, RED]})
    async with informer, asyncio.timeout(20):
        await informer.has_synced
        relists = sum(informer.status().relists.values())
        await kinform_api.stop()
        put(kinform_api, "both", color="red")
        kinform_api.delete(MAPS, "web", namespace="a")
        kinform_api.compact()
        await kinform_api.start()
        await wait_until(lambda: keys(informer) == ["a/both", "a/red"])
        await caught_up(kinform_api, informer)
        assert keys(informer) == ["a/both", "a/last", "a/red"]
        assert sum(informer.status().relists.values()) > relists


async def test_versions_never_go_back_if_one_watch_is_late(
    kinform_api: ApiServer, client: Client
) -> None:
    """19.1: an older event of a slow watch is not applied after a newer one of another."""
    put(kinform_api, "x", app="web", color="red")
    kinform_api.faults.inject(faults.delay_events(0.05), verb="watch", resource=MAPS, times=1)
    informer = informer_of(client, {"a": [WEB, RED]})
    recorder = AsyncRecorder()
    informer.add_event_handler(recorder)
    async with informer, asyncio.timeout(20):
        await informer.has_synced
        for number in range(10):
            put(kinform_api, "x", app="web", color="red", number=str(number))
            if number % 3 == 0:
                kinform_api.delete(MAPS, "x", namespace="a")
        await caught_up(kinform_api, informer)
    newest = [line.split("@")[-1].split()[0] for line in recorder.lines if " x@" in line]
    versions = [int(each.rstrip("?")) for each in newest]
    assert len(versions) > 10
    assert versions == sorted(versions), recorder.lines


async def test_version_is_reached_when_all_selectors_have_reached_it(
    kinform_api: ApiServer, client: Client
) -> None:
    """19.6: waiting for a version of a namespace waits for all its sources."""
    informer = informer_of(client, {"a": [WEB, RED]})
    async with informer, asyncio.timeout(20):
        await informer.has_synced
        version = put(kinform_api, "web", app="web")
        latch = informer.wait_for_rv(version, namespace="a")
        await wait_until(lambda: "a/web" in informer.indexer)
        assert not latch  # the other watch has had neither an event nor a bookmark
        put(kinform_api, "red", color="red")
        await latch
        assert set(informer.status().sources) == {"a where app=web", "a where color=red"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([WEB], [WEB, RED]),
        ([WEB, RED], [RED]),
        ([WEB], [DB, RED]),
        ([WEB, RED], [DB]),
        ([WEB, RED], [WEB, DB]),
        ([WEB, RED], [DB, Selectors()]),
    ],
)
async def test_selectors_change_with_the_differences_only(
    kinform_api: ApiServer, client: Client, before: list[Selectors], after: list[Selectors]
) -> None:
    """19.1: objects that are in both selections are not touched, whatever their number."""
    for app in ("web", "db", "api"):
        for color in ("red", "blue"):
            put(kinform_api, f"{app}-{color}", app=app, color=color)

    def selected(by: list[Selectors]) -> set[str]:
        return {
            f"a/{each['metadata']['name']}"
            for one in by
            for each in kinform_api.list(MAPS, "a", labels=one.labels)
        }

    informer = informer_of(client, {"a": before})
    async with informer, informer.events() as events, asyncio.timeout(20):
        await informer.has_synced
        assert set(keys(informer)) == selected(before)
        await informer.set_selectors(any_of=after)
        assert set(keys(informer)) == selected(after)
        await wait_until(
            lambda: len([e for e in kinform_api.requests.watches(MAPS) if e.is_open]) == len(after)
        )
        changed = selected(before) ^ selected(after)
        seen = [await anext(events) for _ in range(len(selected(before)) + len(changed))]
        later = seen[len(selected(before)) :]
        assert {event.key for event in later} == changed
        assert {event.source for event in later} <= {ChangeSource.SCOPE}
        put(kinform_api, "new", app="db", color="red")
        await wait_until(lambda: "a/new" in informer.indexer)


async def test_selection_that_cannot_be_listed_keeps_the_old_one(
    kinform_api: ApiServer, client: Client
) -> None:
    """19.1: the current objects stay until all new lists are complete."""
    put(kinform_api, "web", app="web")
    put(kinform_api, "red", color="red")
    informer = informer_of(client, {"a": [WEB]})
    async with informer, asyncio.timeout(20):
        await informer.has_synced
        refusal = kinform_api.faults.inject(faults.forbidden(), resource=MAPS, times=None)
        done = informer.set_selectors(any_of=[DB, RED])
        await wait_until(lambda: refusal.hits > 2)
        put(kinform_api, "more", app="web")
        await wait_until(lambda: "a/more" in informer.indexer)
        assert not done
        # Set back before it was reached: nothing has happened.
        await informer.set_selectors(labels="app=web")
        assert keys(informer) == ["a/more", "a/web"]
        refusal.remove()
        await informer.set_selectors(any_of=[DB, RED])
        assert keys(informer) == ["a/red"]


async def test_namespace_with_several_selectors_is_added_and_removed(
    kinform_api: ApiServer, client: Client
) -> None:
    """19.1: ``add_namespace`` takes several selectors."""
    put(kinform_api, "web", "b", app="web")
    put(kinform_api, "red", "b", color="red")
    put(kinform_api, "blue", "b", color="blue")
    informer = informer_of(client, {"a": [Selectors()]})
    async with informer, asyncio.timeout(20):
        await informer.has_synced
        await informer.add_namespace("b", any_of=[WEB, RED])
        assert keys(informer) == ["b/red", "b/web"]
        assert informer.scope.selectors["b"] == (WEB, RED)
        await informer.remove_namespace("b")
        assert keys(informer) == []
        assert informer.scope == Scope.of({"a": Selectors()})


def test_selectors_are_normalised_and_hashable() -> None:
    """19.1: equal selections are equal, however they are written."""
    same = [
        Selectors({"app": "web"}),
        Selectors("app = web"),
        Selectors(LabelSelector.parse("app=web")),
    ]
    assert len(set(same)) == 1
    assert Selectors(fields={"a": "1", "b": "2"}) == Selectors(fields="b=2,a=1")
    assert Selectors("app=web") != "app=web"
    assert repr(Selectors("app=web")) == "Selectors(labels='app=web', fields='')"
    assert str(Scope.of({"a": [RED, WEB], "b": []})) == "in a where app=web or color=red"
    with pytest.raises(SelectorError):
        Selectors("app in (")


def test_any_of_excludes_the_other_selectors(client: Client) -> None:
    """19.1: errors say what to pass instead."""
    informer = informer_of(client, {"a": [WEB]})
    with pytest.raises(ConfigError, match="any_of= excludes labels= and fields="):
        informer.set_selectors(labels="app=web", any_of=[RED])
    for wrong in ([], ["app=web"], "app=web", 5):
        with pytest.raises(ConfigError, match="pass a list of selectors"):
            informer.set_selectors(any_of=wrong)  # type: ignore[arg-type]
    assert informer.scope == Scope.of({"a": WEB})


# -- a scope with "" beside listed namespaces, and exclusions --------------------------------


async def test_other_namespaces_have_their_own_selectors(
    kinform_api: ApiServer, client: Client
) -> None:
    """19.3: ``""`` stands for all namespaces that are not listed."""
    for namespace in ("a", "b", "c"):
        put(kinform_api, "web", namespace, app="web")
        put(kinform_api, "db", namespace, app="db")
    informer = informer_of(client, {"a": [WEB], "": [DB]})
    async with informer, asyncio.timeout(20):
        await informer.has_synced
        assert keys(informer) == ["a/web", "b/db", "c/db"]
        (others,) = [each for each in informer._core.scope.sources if not each.name]
        assert others.selectors == Selectors("app=db", "metadata.namespace!=a")
        assert informer.scope.covers("a")
        assert informer.scope.covers("d")
        assert informer.scope.is_all_namespaces


async def test_namespaces_move_between_the_list_and_the_others(
    kinform_api: ApiServer, client: Client
) -> None:
    """19.5: adding a namespace narrows ``""``, removing it widens it again."""
    for namespace in ("a", "b", "c"):
        put(kinform_api, "web", namespace, app="web")
        put(kinform_api, "db", namespace, app="db")
    informer = informer_of(client, {"a": [WEB], "": [DB]})
    async with informer, informer.events() as events, asyncio.timeout(20):
        await informer.has_synced
        await informer.add_namespace("b")
        assert keys(informer) == ["a/web", "b/db", "b/web", "c/db"]
        await informer.remove_namespace("a")
        assert keys(informer) == ["a/db", "b/db", "b/web", "c/db"]
        await informer.remove_namespace("b")
        assert keys(informer) == ["a/db", "b/db", "c/db"]
        assert informer.scope == Scope.of({"": DB})
        put(kinform_api, "new", "b", app="db")
        await wait_until(lambda: "b/new" in informer.indexer)
        seen = [await anext(events) for _ in range(8)]
    assert (seen[3].type, seen[3].key) == (ChangeType.ADDED, "b/web")
    # b/db and c/db were in the scope all the time.
    assert [e.key for e in seen].count("b/db") == 1
    assert [e.key for e in seen].count("c/db") == 1


async def test_excluded_namespace_is_out_of_scope_until_it_is_added(
    kinform_api: ApiServer, client: Client
) -> None:
    """19.2, 19.5: all but these, as a field selector; an excluded one can be added."""
    for namespace in ("a", "b", "c"):
        put(kinform_api, "web", namespace, app="web")
    informer = informer_of(client, {"": [WEB]}, excluded=("c", "b"))
    async with informer, asyncio.timeout(20):
        await informer.has_synced
        assert keys(informer) == ["a/web"]
        assert str(informer.scope) == "in all namespaces except b, c where app=web"
        assert not informer.scope.covers("b")
        assert not informer.scope.is_all_namespaces
        with pytest.raises(CacheError, match="it covers all namespaces except b, c"):
            informer.wait_for_rv("1", namespace="b")
        with pytest.raises(ConfigError, match="all namespaces except b, c are covered already"):
            informer.add_namespace("a")
        with pytest.raises(ConfigError, match="it covers all namespaces except b, c"):
            informer.remove_namespace("a")
        await informer.add_namespace("b")
        assert keys(informer) == ["a/web", "b/web"]
        await informer.remove_namespace("b")
        # It is one of the others now.
        assert keys(informer) == ["a/web", "b/web"]
        assert str(informer.scope) == "in all namespaces except c where app=web"


# -- a scope without namespaces --------------------------------------------------------------


async def test_empty_scope_is_synced_at_once_and_gains_namespaces(
    kinform_api: ApiServer, client: Client
) -> None:
    """19.4: an informer of no namespace yet."""
    put(kinform_api, "web", app="web")
    informer = informer_of(client, {})
    assert str(informer.scope) == "in no namespace"
    assert not informer.scope.covers("a")
    assert not informer.has_synced
    async with informer, asyncio.timeout(20):
        await informer.has_synced
        assert keys(informer) == []
        assert not kinform_api.requests.count(resource=MAPS)
        await informer.add_namespace("a", any_of=[WEB, RED])
        assert keys(informer) == ["a/web"]
        await informer.remove_namespace("a")
        assert keys(informer) == []
        await informer.add_namespace("a", labels="app=web")
        assert keys(informer) == ["a/web"]
