"""controller-runtime's cache and ours beside each other on one real kube-apiserver.

Both are asked the same random questions about the same objects. The program that reads from
controller-runtime's cache is ``benchmarks/peers/controller_runtime``.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.conversation import Questions, questions
from kinform import Cache, Client, KindOptions
from kinform.errors import (
    KinformError,
    NoMatchError,
    NotFoundError,
    OutOfScopeError,
    ResourceNotCachedError,
    UnknownIndexError,
)
from kinform.models.core.v1 import Pod
from tests.cluster.cache_questions import SEED, Question, World, versioned
from tests.cluster.informer_flows import PATIENCE, config_of
from tests.support.built import built_or_skip
from tests.support.cluster import RealCluster
from tools.go_programs import CONTROLLER_RUNTIME

pytestmark = pytest.mark.cluster

QUESTIONS = 200

Answer = Mapping[str, Any]
"""Of a get: ``key`` and ``digest``. Of a list: ``keys``. Or the class of the ``error``."""


class Theirs:
    """controller-runtime's cache."""

    def __init__(self, process: Questions) -> None:
        self._process = process

    async def start(self, world: World, kubeconfig: Path, scope: list[str]) -> None:
        kinds = [
            {
                **kind.description,
                "labels": kind.labels,
                "fields": kind.fields,
                "indexes": sorted(kind.indexes),
            }
            for kind in world.kinds.values()
        ]
        await asyncio.to_thread(
            self._process.ask,
            "start",
            kubeconfig=str(kubeconfig),
            kinds=kinds,
            namespaces=scope,
            declared_only=True,
        )

    async def answer(self, asked: Question) -> Answer:
        return await asyncio.to_thread(self._process.ask, **asdict(asked))


class Ours:
    """kinform's cache: everything here that depends on its API."""

    def __init__(self, cache: Cache, world: World) -> None:
        self._cache = cache
        self._world = world

    @classmethod
    @asynccontextmanager
    async def started(cls, client: Client, world: World, scope: list[str]) -> AsyncIterator[Ours]:
        declared = {name: kind for name, kind in world.kinds.items() if kind.is_declared}
        cache = Cache(
            client,
            namespace=scope or None,
            kinds=[kind.of for kind in declared.values()],
            by_kind={
                kind.of: KindOptions(labels=kind.labels, fields=kind.fields)
                for kind in declared.values()
            },
            undeclared_reads="error",
        )
        for kind in declared.values():
            for name in kind.indexes:
                cache.index_field(kind.of, name, _images if name == "images" else None)
        async with cache:
            await cache.wait_for_cache_sync(timeout=PATIENCE, strict=True)
            yield cls(cache, world)

    async def answer(self, asked: Question) -> Answer:
        try:
            return await self._read(asked)
        except NotFoundError as error:
            return _failure("not found", error)
        except OutOfScopeError as error:
            return _failure("outside", error)
        except ResourceNotCachedError as error:
            return _failure("not cached", error)
        except UnknownIndexError as error:
            return _failure("not indexed", error)
        except NoMatchError as error:
            return _failure("cluster-scoped", error)

    async def _read(self, asked: Question) -> Answer:
        of = self._world.kinds[asked.kind].of
        if asked.do == "get":
            found = await self._cache.get(of, asked.name, namespace=asked.namespace or None)
            return {"key": versioned(found), "digest": digest(found)}
        listed = await self._cache.list(
            of,
            namespace=asked.namespace or None,
            labels=asked.labels,
            fields=asked.fields,
            limit=asked.limit or None,
        )
        keys = [versioned(each) for each in listed]
        return {"keys": keys, "version": listed.resource_version}


def _images(pod: Pod) -> list[str]:
    return [container.image or "" for container in pod.spec.containers]


def _failure(name: str, error: KinformError) -> Answer:
    return {"error": name, "text": str(error)}


def digest(found: Any) -> str:
    """Of the object's JSON with sorted keys and without spaces, as the Go program writes it."""
    text = json.dumps(
        found.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).replace("\u2028", "\\u2028")
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture(scope="module")
def program() -> Path:
    return built_or_skip(CONTROLLER_RUNTIME.built)


@pytest.fixture
def process(program: Path) -> Iterator[Questions]:
    with questions(CONTROLLER_RUNTIME.name, [str(program)]) as process:
        yield process


@pytest.fixture
async def client(real_cluster: RealCluster) -> AsyncIterator[Client]:
    async with Client(config_of(real_cluster)) as client:
        yield client


@pytest.fixture
async def world(client: Client) -> AsyncIterator[World]:
    world = World(client)
    try:
        await world.create()
        yield world
    finally:
        await world.remove()


@dataclass(frozen=True, slots=True)
class Beside:
    """Both caches, synced, with the same options."""

    world: World
    scope: list[str]
    theirs: Theirs
    ours: Ours

    async def come_to_now(self) -> None:
        """Wait until both have all that the server has."""
        for kind in (name for name, each in self.world.kinds.items() if each.is_declared):
            expected = await self.world.live(kind, self.scope)
            for cache in (self.theirs, self.ours):
                await _come_to(cache, kind, expected)

    async def compare(self, chosen: random.Random, count: int) -> Counter[str]:
        """Ask both the same; return how often each class of answer was given."""
        classes: Counter[str] = Counter()
        for _ in range(count):
            asked = self.world.question(chosen)
            theirs, ours = await self.theirs.answer(asked), await self.ours.answer(asked)
            await self._compare_one(asked, theirs, ours)
            classes[_class_of(theirs)] += 1
        return classes

    async def _compare_one(self, asked: Question, theirs: Answer, ours: Answer) -> None:
        if "error" in theirs or "error" in ours:
            assert theirs.get("error") == ours.get("error"), (asked, theirs, ours)
        elif asked.do == "get":
            assert theirs == ours, asked
        elif asked.limit:
            # Theirs is any part of the matching objects.
            everything = await self.theirs.answer(replace(asked, limit=0))
            assert len(ours["keys"]) == len(theirs["keys"]), asked
            assert set(ours["keys"]) <= set(everything["keys"]), asked
        else:
            assert sorted(ours["keys"]) == theirs["keys"], asked


async def _come_to(cache: Theirs | Ours, kind: str, expected: list[str]) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = await cache.answer(Question("list", kind))
            if sorted(answer["keys"]) == expected:
                return
            await asyncio.sleep(0.05)


def _class_of(answer: Answer) -> str:
    if "error" in answer:
        return str(answer["error"])
    if "key" in answer:
        return "found"
    return "listed" if answer["keys"] else "listed nothing"


@asynccontextmanager
async def beside(
    real_cluster: RealCluster, client: Client, world: World, process: Questions, scope: list[str]
) -> AsyncIterator[Beside]:
    theirs = Theirs(process)
    await theirs.start(world, real_cluster.kubeconfig, scope)
    async with Ours.started(client, world, scope) as ours:
        yield Beside(world, scope, theirs, ours)


@pytest.mark.parametrize("is_scoped", [False, True], ids=["all namespaces", "three namespaces"])
async def test_random_reads_have_the_answers_of_controller_runtime(
    real_cluster: RealCluster, client: Client, world: World, process: Questions, is_scoped: bool
) -> None:
    """Proof of 19: same objects, same answers; before and after changes."""
    scope = world.scope if is_scoped else []
    chosen = random.Random(SEED)
    async with beside(real_cluster, client, world, process, scope) as both:
        await both.come_to_now()
        classes = await both.compare(chosen, QUESTIONS)
        await world.change()
        await both.come_to_now()
        classes += await both.compare(chosen, QUESTIONS)

    expected = {"found", "not found", "listed", "listed nothing", "not indexed", "not cached"}
    assert set(classes) == expected | ({"outside"} if is_scoped else set())
    assert min(classes["found"], classes["listed"]) > QUESTIONS / 10


async def test_differences_from_controller_runtime_are_the_documented_ones(
    real_cluster: RealCluster, client: Client, world: World, process: Questions
) -> None:
    """Proof of 19: where the answers differ on purpose."""
    async with beside(real_cluster, client, world, process, world.scope) as both:
        await both.come_to_now()
        # A list has a version, and is ordered by key.
        everything = Question("list", "Pod")
        assert (await both.theirs.answer(everything))["version"] == ""
        listed = await both.ours.answer(everything)
        assert int(listed["version"])
        keys = [key.partition("@")[0] for key in listed["keys"]]
        assert keys == sorted(keys)

        # A field selector may exclude values, and every kind has an index by name.
        excluding = Question("list", "Pod", fields=f"spec.nodeName!={world.nodes[-1]}")
        assert (await both.theirs.answer(excluding))["error"] == "not exact"
        assert (await both.ours.answer(excluding))["keys"] == listed["keys"]
        name = keys[0].partition("/")[2]
        by_name = Question("list", "Pod", fields=f"metadata.name={name}")
        assert (await both.theirs.answer(by_name))["error"] == "not indexed"
        assert (await both.ours.answer(by_name))["keys"] == listed["keys"][:1]

        # An unindexed field is an error, also if another field excludes all objects already.
        unindexed = Question("list", "Pod", fields="spec.nodeName=nowhere,spec.unindexed=value")
        assert (await both.theirs.answer(unindexed))["keys"] == []
        assert (await both.ours.answer(unindexed))["error"] == "not indexed"

        # A kind that is not cached is reported before a namespace that is not.
        neither = Question("get", "Secret", namespace=world.outside, name="any")
        assert (await both.theirs.answer(neither))["error"] == "outside"
        assert (await both.ours.answer(neither))["error"] == "not cached"

        # A namespace of a cluster-scoped kind is an error. It is dropped there, but not by lists.
        node = Question("get", "Node", namespace=world.scope[0], name=world.nodes[0])
        assert (await both.theirs.answer(node))["key"].startswith(f"{world.nodes[0]}@")
        assert (await both.ours.answer(node))["error"] == "cluster-scoped"
        nodes = Question("list", "Node", namespace=world.scope[0])
        assert (await both.theirs.answer(nodes))["keys"] == []
        assert (await both.ours.answer(nodes))["error"] == "cluster-scoped"
