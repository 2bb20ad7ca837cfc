"""Questions about access, and what the answers say."""

from __future__ import annotations

from typing import Any

import pytest

from kinform import Cache, Client, KindOptions
from kinform.api import GVR
from kinform.cache import CachedKindOptions, NamespaceSelector
from kinform.cache._namespace_follower import NAMESPACES
from kinform.cache._preflight import (
    MissingAccess,
    PreflightResult,
    needed_scopes,
    preflight,
    with_followed_namespaces,
)
from kinform.errors import CacheError
from kinform.informers import Scope, Selectors
from kinform.models.core.v1 import ConfigMap, Node, Pod, Secret
from kinform.objects import Unstructured
from kinform.testing import ApiServer, faults
from tests.support.objects import record_of

PODS = GVR("", "v1", "pods")
DEPLOYMENTS = GVR("apps", "v1", "deployments")


class Reviewer:
    """Answers access reviews, and notes the questions."""

    def __init__(self, *refused: tuple[str, str, str]) -> None:
        self.refused = refused
        self.asked: list[dict[str, str]] = []

    async def create(self, review: dict[str, Any]) -> Unstructured:
        asked = review["spec"]["resourceAttributes"]
        self.asked.append(asked)
        question = (asked["resource"], asked["namespace"], asked["verb"])
        status = {"allowed": question not in self.refused}
        return Unstructured.over(record_of({**review, "metadata": {}, "status": status}))


async def test_each_verb_in_each_namespace_is_asked_for() -> None:
    reviewer: Any = Reviewer(
        ("pods", "a", "list"), ("pods", "a", "watch"), ("deployments", "", "watch")
    )
    several = (Selectors(labels="x=1"), Selectors(labels="x=2"))
    result = await preflight(
        reviewer,
        {
            PODS: Scope.of({"a": several, "b": Selectors()}),
            DEPLOYMENTS: Scope.of({"": Selectors()}),
        },
    )
    assert len(reviewer.asked) == 6
    assert {each["group"] for each in reviewer.asked} == {"", "apps"}
    assert result.missing == (
        MissingAccess(PODS, "a", ("list", "watch")),
        MissingAccess(DEPLOYMENTS, "", ("watch",)),
    )
    with pytest.raises(
        CacheError,
        match=r"list and watch v1/pods in namespace a; watch apps/v1/deployments in the whole",
    ):
        result.raise_for_missing()


def test_nothing_is_missing() -> None:
    result = PreflightResult([])
    assert result
    assert "nothing is missing" in repr(result)
    result.raise_for_missing()


async def test_kinds_with_options_are_needed_unless_they_are_read_live(
    kinform_api: ApiServer,
) -> None:
    """19: a read caches them, as if they were declared."""
    async with Client(kinform_api.config) as client:
        cache = Cache(
            client,
            kinds=[Node],
            namespace="b",
            by_kind={
                Pod: KindOptions(namespace="a"),
                ConfigMap: KindOptions(),
                Secret: CachedKindOptions(undeclared_reads="live"),
            },
        )
        needed = await needed_scopes(
            cache._registry.kinds, cache._options, cache._informers, cache._names
        )
        assert {gvr.resource: scope.coverage for gvr, scope in needed.items()} == {
            "nodes": "all namespaces",
            "pods": "a",
            "configmaps": "b",
        }
        assert list(cache.informers) == []


@pytest.mark.parametrize("is_allowed", [True, False])
async def test_followed_namespaces_are_needed(kinform_api: ApiServer, is_allowed: bool) -> None:
    """19: they can be named only if namespaces may be listed."""
    for name, team in (("one", "web"), ("two", "db"), ("three", "web")):
        metadata = {"name": name, "labels": {"team": team}}
        kinform_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    if not is_allowed:
        kinform_api.faults.inject(faults.forbidden(), resource="namespaces", times=None)
    inherited, own = Scope.of({}), Scope.of({"two": Selectors()})
    async with Client(kinform_api.config) as client:
        needed = await with_followed_namespaces(
            {PODS: inherited, DEPLOYMENTS: own}, NamespaceSelector("team=web"), client
        )
    assert needed[NAMESPACES].is_all_namespaces
    assert needed[DEPLOYMENTS] == own
    assert needed[PODS].namespaces == (("one", "three") if is_allowed else ())


async def test_cache_with_a_namespace_selector_asks_before_its_start(
    kinform_api: ApiServer,
) -> None:
    """19: list and watch of namespaces, and of the kind in the matching one."""
    metadata = {"name": "one", "labels": {"team": "web"}}
    kinform_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    async with Client(kinform_api.config) as client:
        cache = Cache(client, kinds=[ConfigMap], namespace=NamespaceSelector("team=web"))
        assert await cache.preflight()
    assert kinform_api.requests.count(resource="selfsubjectaccessreviews.authorization.k8s.io") == 4
