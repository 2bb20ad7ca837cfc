"""Changes of an informer's scope on a real kube-apiserver."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self

import pytest

from kinform.client import Client
from kinform.informers import ListWatch, Scope, Selectors, SharedIndexInformer
from kinform.objects import Unstructured
from kinform.transport import StaticToken
from tests.cluster.informer_flows import (
    CONFIG_MAPS,
    PATIENCE,
    Line,
    client_in_new_namespace,
    config_map,
    config_of,
    create_namespace,
    quick,
)
from tests.property.history_folds import InTask, Known, Manner, OnThread
from tests.property.live_scope_model import ScopeFold
from tests.support.cluster import RealCluster
from tests.support.waiting import wait_until

pytestmark = pytest.mark.cluster

# Writers at the same time, which make several hundred writes a second, and how many in all.
WRITERS = 16
BUSY_WRITES = 1500
NAMES = [f"m-{number}" for number in range(32)]
RBAC = "rbac.authorization.k8s.io"


@dataclass
class Watched:
    """An informer, and what two handlers conclude from their events."""

    informer: SharedIndexInformer[Unstructured]
    folds: list[ScopeFold]

    async def come_to(self, expected: dict[str, Known]) -> None:
        def has_come() -> bool:
            return self.store() == expected and all(
                each.has_come_to(expected) for each in self.folds
            )

        await wait_until(has_come, timeout=PATIENCE)
        self.check()

    def check(self) -> None:
        assert [each.broken_promises for each in self.folds] == [[] for _ in self.folds]

    def store(self) -> dict[str, Known]:
        return {obj.key: Known.of(obj) for obj in self.informer.store.list()}

    def out_of_scope(self) -> list[list[str]]:
        return [sorted(each.out_of_scope) for each in self.folds]

    def departed(self) -> list[list[str]]:
        return [sorted(each.departed) for each in self.folds]


@asynccontextmanager
async def watching(
    client: Client, *namespaces: str, labels: str = "", streaming: bool = True
) -> AsyncIterator[Watched]:
    sources = [
        ListWatch.for_resource(client, CONFIG_MAPS, namespace=name, labels=labels)
        for name in namespaces
    ]
    informer = SharedIndexInformer(sources, options=quick(streaming=streaming))
    folds = [ScopeFold("thread", Manner()), ScopeFold("task", Manner())]
    informer.add_event_handler(OnThread(folds[0]), run_on="thread")
    informer.add_event_handler(InTask(folds[1]))
    async with asyncio.timeout(PATIENCE * 2), informer:
        await informer.has_synced
        yield Watched(informer, folds)


@pytest.fixture
async def client(real_cluster: RealCluster) -> AsyncIterator[Client]:
    async with client_in_new_namespace(real_cluster) as client:
        yield client


async def new_namespace(client: Client) -> str:
    name = f"scope-{uuid.uuid4().hex[:8]}"
    await create_namespace(client, name)
    return name


async def truth(
    client: Client, *namespaces: str, labels: str = "", fields: str = ""
) -> dict[str, Known]:
    found: dict[str, Known] = {}
    for namespace in namespaces:
        objects = await client.list(CONFIG_MAPS, namespace=namespace, labels=labels, fields=fields)
        found |= {obj.key: Known.of(obj) for obj in objects}
    return found


class BusyWriter:
    """Relabels, deletes and creates objects until its ``async with`` block ends."""

    def __init__(self, client: Client, *namespaces: str) -> None:
        self._client = client
        self._namespaces = namespaces
        self._ends = False
        self.writes = 0

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(self._write(number)) for number in range(WRITERS)]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._ends = True
        await asyncio.gather(*self._tasks)

    async def _write(self, number: int) -> None:
        """Each writer has objects of its own, so that no two writes conflict."""
        names = NAMES[number::WRITERS]
        exists = {(namespace, name): False for namespace in self._namespaces for name in names}
        for step in itertools.count(1):
            for namespace, name in exists:
                if self._ends:
                    return
                app = ("web", "db", "api")[(step + number) % 3]
                if not exists[namespace, name]:
                    await self._client.create(config_map(name, namespace=namespace, app=app))
                elif step % 7 == 0:
                    await self._client.delete(CONFIG_MAPS, name, namespace=namespace)
                else:
                    patch = {"metadata": {"labels": {"app": app}}, "data": {"k": str(step)}}
                    await self._client.patch(CONFIG_MAPS, name, patch, namespace=namespace)
                exists[namespace, name] = step % 7 != 0 or not exists[namespace, name]
                self.writes += 1


async def test_namespaces_come_and_go(client: Client) -> None:
    first, second = await new_namespace(client), await new_namespace(client)
    for namespace in (first, second):
        await client.create(config_map("a", namespace=namespace))
    async with watching(client, first) as watched:
        await watched.informer.add_namespace(second)
        await watched.come_to(await truth(client, first, second))

        await watched.informer.remove_namespace(first)
        await client.delete(CONFIG_MAPS, "a", namespace=first)
        await client.create(config_map("b", namespace=first))
        await client.delete(CONFIG_MAPS, "a", namespace=second)
        await client.create(config_map("b", namespace=second))
        await watched.come_to(await truth(client, second))
        assert watched.out_of_scope() == [[f"{first}/a"]] * 2
        assert watched.departed() == [[f"{second}/a"]] * 2

        await watched.informer.add_namespace(first)
        await watched.come_to(await truth(client, first, second))


@pytest.mark.parametrize("streaming", [True, False])
async def test_selectors_by_label_and_by_field_replace_each_other(
    client: Client, streaming: bool
) -> None:
    namespace = await new_namespace(client)
    for name, app in (("a", "web"), ("b", "web"), ("c", "db")):
        await client.create(config_map(name, namespace=namespace, app=app))
    async with watching(client, namespace, labels="app=web", streaming=streaming) as watched:
        await watched.come_to(await truth(client, namespace, labels="app=web"))

        await watched.informer.set_selectors(fields="metadata.name=a")
        await watched.come_to(await truth(client, namespace, fields="metadata.name=a"))
        assert watched.out_of_scope() == [[f"{namespace}/b"]] * 2
        await client.create(config_map("d", namespace=namespace, app="web"))
        await client.patch(CONFIG_MAPS, "a", {"data": {"k": "new"}}, namespace=namespace)
        await watched.come_to(await truth(client, namespace, fields="metadata.name=a"))

        await watched.informer.set_selectors(
            labels="app in (web, db)", fields="metadata.name!=a", namespace=namespace
        )
        await watched.come_to(await truth(client, namespace, fields="metadata.name!=a"))
        await watched.informer.set_selectors()
        await watched.come_to(await truth(client, namespace))
    assert watched.departed() == [[], []]
    assert [
        [each.key for each in fold.heard if each.type == "UPDATED"] for fold in watched.folds
    ] == [[f"{namespace}/a"]] * 2


@pytest.mark.timeout(180)
@pytest.mark.parametrize("streaming", [True, False])
async def test_versions_never_go_back_while_the_scope_of_a_busy_resource_changes(
    client: Client, streaming: bool
) -> None:
    first, second = await new_namespace(client), await new_namespace(client)
    selectors = itertools.cycle(["app=web", "app in (web, db)", "app=db", "", "app!=web"])
    async with watching(client, first, streaming=streaming) as watched:
        informer = watched.informer
        async with BusyWriter(client, first, second) as writer:
            while writer.writes < BUSY_WRITES:
                labels = next(selectors)
                await informer.add_namespace(second, labels=labels)
                await informer.set_selectors(labels=labels)
                informer.set_selectors(fields=f"metadata.name={NAMES[3]}")
                informer.set_selectors(labels="app=api", namespace=second)
                await informer.set_selectors(labels=labels)
                await informer.remove_namespace(second)
                watched.check()
        await informer.add_namespace(second, labels="app=web")
        expected = await truth(client, first, labels=labels)
        await watched.come_to(expected | await truth(client, second, labels="app=web"))


async def test_scope_that_changed_behind_a_cut_line_is_reached_when_it_is_mended(
    client: Client, real_cluster: RealCluster
) -> None:
    first, second = await new_namespace(client), await new_namespace(client)
    for namespace in (first, second):
        for name, app in (("a", "web"), ("b", "db")):
            await client.create(config_map(name, namespace=namespace, app=app))
    async with (
        Line(real_cluster) as line,
        Client(line.through(config_of(real_cluster))) as far,
        watching(far, first) as watched,
    ):
        line.cut()
        added = watched.informer.add_namespace(second, labels="app=web")
        selected = watched.informer.set_selectors(labels="app=db")
        await client.patch(
            CONFIG_MAPS, "a", {"metadata": {"labels": {"app": "db"}}}, namespace=first
        )
        await client.delete(CONFIG_MAPS, "b", namespace=second)
        assert not added
        assert not selected
        assert sorted(watched.store()) == [f"{first}/a", f"{first}/b"]
        line.mend()
        await added
        await selected
        assert watched.informer.has_synced
        await watched.come_to(await truth(client, first, second, labels="app=db"))
    assert watched.departed() == [[], []]


async def test_forbidden_namespace_is_covered_once_it_is_allowed(
    client: Client, real_cluster: RealCluster
) -> None:
    first, second = await new_namespace(client), await new_namespace(client)
    await allow_nobody(client, first)
    for namespace in (first, second):
        await client.create(config_map("a", namespace=namespace))
    config = config_of(real_cluster, StaticToken(real_cluster.nobody_token))
    async with Client(config) as limited, watching(limited, first) as watched:
        added = watched.informer.add_namespace(second)
        await wait_until(lambda: watched.informer.sync_status().error is not None)
        await client.create(config_map("b", namespace=first))
        await watched.come_to(await truth(client, first))
        assert not added
        assert watched.informer.has_synced

        await allow_nobody(client, second)
        await added
        await watched.come_to(await truth(client, first, second))


async def test_scope_changes_while_the_informer_is_stopped(client: Client) -> None:
    first, second = await new_namespace(client), await new_namespace(client)
    for namespace in (first, second):
        for name, app in (("a", "web"), ("b", "db")):
            await client.create(config_map(name, namespace=namespace, app=app))
    async with watching(client, first, labels="app=web") as watched:
        informer = watched.informer
        informer.stop()
        await informer.stopped
        informer.set_selectors(labels="app=db")
        informer.add_namespace(second)
        await client.delete(CONFIG_MAPS, "b", namespace=first)
        informer.start()
        expected = await truth(client, first, labels="app=db")
        await watched.come_to(expected | await truth(client, second))
        assert informer.has_synced
        assert watched.out_of_scope() == [[f"{first}/a"]] * 2


async def test_several_selectors_and_excluded_namespaces(client: Client) -> None:
    """19.1, 19.2: the union of two selectors, in all namespaces but one."""
    first, second = await new_namespace(client), await new_namespace(client)
    for namespace in (first, second):
        for name, app in (("a", "web"), ("b", "db"), ("c", "api")):
            await client.create(config_map(name, namespace=namespace, app=app))
    scope = Scope.of(
        {"": [Selectors("app=web"), Selectors("app", "metadata.name=b")]}, excluded=[second]
    )
    informer = SharedIndexInformer(
        ListWatch.for_resource(client, CONFIG_MAPS), scope=scope, options=quick(streaming=True)
    )

    def own() -> list[str]:
        return sorted(key for key in informer.store.list_keys() if key.startswith((first, second)))

    async with asyncio.timeout(PATIENCE), informer:
        await informer.has_synced
        assert own() == [f"{first}/a", f"{first}/b"]
        await client.patch(
            CONFIG_MAPS, "b", {"metadata": {"labels": {"app": "web"}}}, namespace=first
        )
        await client.patch(
            CONFIG_MAPS, "c", {"metadata": {"labels": {"app": "web"}}}, namespace=first
        )
        await client.delete(CONFIG_MAPS, "a", namespace=first)
        await wait_until(lambda: own() == [f"{first}/b", f"{first}/c"], timeout=PATIENCE)
        await informer.add_namespace(second, labels="app=api")
        assert own() == sorted([f"{first}/b", f"{first}/c", f"{second}/c"])


async def allow_nobody(client: Client, namespace: str) -> None:
    """Let the user ``nobody`` list and watch config maps of a namespace."""
    head = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": "reader", "namespace": namespace}}
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}
    await client.create({**head, "kind": "Role", "rules": [rule]})
    role = {"apiGroup": RBAC, "kind": "Role", "name": "reader"}
    subject = {"apiGroup": RBAC, "kind": "User", "name": "nobody"}
    await client.create({**head, "kind": "RoleBinding", "roleRef": role, "subjects": [subject]})
