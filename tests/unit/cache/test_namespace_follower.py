"""Namespaces that match a selector, as they come and go."""

from __future__ import annotations

import asyncio

import pytest

from kinform.cache._namespace_follower import NamespaceFollower, NamespaceSelector
from kinform.client import Client
from kinform.errors import SelectorError
from kinform.informers import DynamicSharedInformerFactory
from kinform.testing import ApiServer
from tests.support.waiting import wait_until


def test_selector() -> None:
    assert repr(NamespaceSelector({"team": "web"})) == "NamespaceSelector('team=web')"
    with pytest.raises(SelectorError):
        NamespaceSelector("team in")


async def test_each_change_is_reported_with_all_names() -> None:
    seen: list[list[str]] = []
    follower = NamespaceFollower(
        NamespaceSelector("team=web"), lambda names: seen.append(sorted(names))
    )
    async with ApiServer() as api, Client(api.config) as client:

        def create(name: str, team: str) -> None:
            head = {"name": name, "labels": {"team": team}}
            api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": head})

        create("a", "web")
        create("x", "other")
        factory = DynamicSharedInformerFactory(client)
        running = asyncio.ensure_future(follower.run(factory))
        await follower.has_synced
        assert seen == [["a"]]
        create("b", "web")
        await wait_until(lambda: seen[-1] == ["a", "b"])
        api.patch("v1/namespaces", "a", {"metadata": {"labels": {"team": "other"}}})
        await wait_until(lambda: seen[-1] == ["b"])
        api.patch("v1/namespaces", "b", {"metadata": {"annotations": {"note": "1"}}})
        api.patch("v1/namespaces", "x", {"metadata": {"labels": {"team": "web"}}})
        await wait_until(lambda: seen[-1] == ["b", "x"])
        assert seen == [["a"], ["a", "b"], ["b"], ["b", "x"]]
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await factory.shutdown()
