"""Scripts of reads, writes, faults and changes of the scope, played on a cache.

The world keeps every version of the server's objects, and compares each read with them.
"""

from __future__ import annotations

import asyncio
import inspect
from bisect import bisect_right
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from kinform import Cache, Selectors
from kinform.cache import CachedClient, OwnWritesMode
from kinform.errors import (
    CacheSyncError,
    ConflictError,
    NotFoundError,
    OutOfScopeError,
    ResourceNotCachedError,
)
from kinform.models.core.v1 import ConfigMap
from kinform.testing import ApiServer
from tests.property.history_embedded import CONFIG_MAPS, EMBEDDED_TROUBLES
from tests.property.history_runs import Step
from tests.support.config_maps import config_map

_PATIENCE = 30.0


class Known(NamedTuple):
    """What the checks compare of an object."""

    version: int
    uid: str
    color: str


State = Mapping[str, Known]


class ServerHistory:
    """The config maps of a server at each version."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self._versions = [0]
        self._states: list[State] = [{}]
        self.note()

    @property
    def newest(self) -> int:
        return self._versions[-1]

    def note(self) -> None:
        """Note what the server has now. Call it after each write."""
        now = int(self._api.resource_version)
        if now == self.newest:
            return
        state = {}
        for obj in self._api.list(CONFIG_MAPS):
            head = obj["metadata"]
            key = f"{head['namespace']}/{head['name']}"
            color = (head.get("labels") or {}).get("color", "")
            state[key] = Known(int(head["resourceVersion"]), head["uid"], color)
        self._note_deletions(state, now)
        self._versions.append(now)
        self._states.append(state)

    def _note_deletions(self, state: State, now: int) -> None:
        """A collection is deleted one object after the other, each with a version of its own."""
        before = self._states[-1]
        gone = sorted(before.keys() - state.keys())
        for number, _ in enumerate(gone[:-1], start=1):
            self._versions.append(now - len(gone) + number)
            self._states.append({k: v for k, v in before.items() if k not in gone[:number]})

    def at(self, version: int) -> State:
        return self._states[bisect_right(self._versions, version) - 1]

    def since(self, version: int) -> Iterable[State]:
        """All states from this version on."""
        return self._states[bisect_right(self._versions, version) - 1 :]


class CacheWorld:
    """A cache, two clients that read through it, and a foreign one; steps are its methods."""

    def __init__(
        self, api: ApiServer, cache: Cache, namespaces: set[str], colors: frozenset[str] | None
    ) -> None:
        self._api = api
        self._cache = cache
        self._history = ServerHistory(api)
        self._clients: dict[OwnWritesMode, CachedClient] = {
            mode: cache.client(own_writes=mode, timeout=_PATIENCE) for mode in ("wait", "overlay")
        }
        self._namespaces = namespaces
        # By namespace: the version that the server had when it was added.
        self._added: dict[str, int] = {}
        self._colors = colors
        # By key: the version that the server had after the last own write.
        self._own: dict[str, int] = {}

    async def play(self, script: list[Step]) -> None:
        for step in script:
            async with asyncio.timeout(_PATIENCE + 10):
                done = getattr(self, step.do)(*step.args)
                if inspect.isawaitable(done):
                    await done

    # -- own writes --------------------------------------------------------------------------

    async def own_put(self, mode: OwnWritesMode, namespace: str, name: str, color: str) -> None:
        client = self._clients[mode]
        with suppress(ConflictError):
            if self._has(namespace, name):
                found = await client.live.get(ConfigMap, name, namespace=namespace)
                edited = found.copy()
                edited.metadata.labels = {"color": color}
                await client.update(edited)
            else:
                await client.create(config_map(name, namespace, color=color))
            self._wrote(f"{namespace}/{name}")

    async def own_patch(self, mode: OwnWritesMode, namespace: str, name: str, color: str) -> None:
        with suppress(NotFoundError):
            await self._clients[mode].patch(
                CONFIG_MAPS, name, {"metadata": {"labels": {"color": color}}}, namespace=namespace
            )
            self._wrote(f"{namespace}/{name}")

    async def own_delete(self, mode: OwnWritesMode, namespace: str, name: str) -> None:
        with suppress(NotFoundError):
            await self._clients[mode].delete(CONFIG_MAPS, name, namespace=namespace)
            self._wrote(f"{namespace}/{name}")

    async def own_recreate(
        self, mode: OwnWritesMode, namespace: str, name: str, color: str
    ) -> None:
        await self.own_delete(mode, namespace, name)
        await self.own_put(mode, namespace, name, color)

    async def own_delete_collection(self, mode: OwnWritesMode, namespace: str, color: str) -> None:
        before = dict(self._history.at(self._history.newest))
        await self._clients[mode].delete_collection(
            CONFIG_MAPS, namespace=namespace, labels={"color": color}
        )
        for key, known in before.items():
            if key.startswith(f"{namespace}/") and known.color == color:
                self._wrote(key)

    def _wrote(self, key: str) -> None:
        self._history.note()
        self._own[key] = self._history.newest

    def _has(self, namespace: str, name: str) -> bool:
        return f"{namespace}/{name}" in self._history.at(self._history.newest)

    # -- foreign writes ----------------------------------------------------------------------

    def put(self, namespace: str, name: str, color: str) -> None:
        if self._has(namespace, name):
            change = {"metadata": {"labels": {"color": color}}}
            self._api.patch(CONFIG_MAPS, name, change, namespace)
        else:
            self._api.create(config_map(name, namespace, color=color))
        self._history.note()

    def delete(self, namespace: str, name: str) -> None:
        if self._has(namespace, name):
            self._api.delete(CONFIG_MAPS, name, namespace)
            self._history.note()

    # -- reads -------------------------------------------------------------------------------

    async def get(self, mode: OwnWritesMode | None, namespace: str, name: str) -> None:
        """Without a mode, from the cache, which may be behind."""
        key = f"{namespace}/{name}"
        oldest = self._own.get(key, 0) if mode else 0
        source = self._clients[mode] if mode else self._cache
        try:
            found = await source.get(ConfigMap, key)
        except OutOfScopeError:
            assert namespace not in self._namespaces
            return
        except NotFoundError:
            seen = None
        else:
            seen = _known(found)
        assert namespace in self._namespaces, f"{key} is outside of {self._namespaces}"
        self._history.note()
        possible = [self._visible(state).get(key) for state in self._history.since(oldest)]
        assert seen in possible, f"{key} is {seen}, but was {possible} since {oldest}"

    async def list(
        self, mode: OwnWritesMode | None, namespace: str | None, color: str | None, by: str
    ) -> None:
        """Without a mode, from the cache, which may be behind."""
        own = dict(self._own) if mode else {}
        source = self._clients[mode] if mode else self._cache
        query: dict[str, Any] = {}
        if color and by == "labels":
            query["labels"] = {"color": color}
        elif color:
            query["fields"] = {"metadata.labels.color": color}
        try:
            found = await source.list(ConfigMap, namespace=namespace, **query)
        except OutOfScopeError:
            assert namespace not in self._namespaces
            return

        def admits(key: str, known: Known) -> bool:
            in_namespace = not namespace or key.startswith(f"{namespace}/")
            return in_namespace and (not color or known.color == color)

        seen = {each.key: _known(each) for each in found}
        assert [each.key for each in found] == sorted(seen)
        self._check_list(seen, admits, own, overlaid=mode == "overlay")
        if mode != "overlay" and self._has_one_source:
            state = self._filtered(self._history.at(int(found.resource_version)), admits)
            assert seen == state, f"version {found.resource_version} is {state}, not {seen}"

    def peek(self) -> None:
        """The store without waiting: one version for each source."""
        try:
            reader = self._cache.peek(ConfigMap)
        except (ResourceNotCachedError, CacheSyncError):
            return
        seen = {each.key: _known(each) for each in reader.list()}
        self._check_list(seen, lambda key, known: True, {}, overlaid=False)

    async def read_and_write(
        self, mode: OwnWritesMode, namespace: str, name: str, color: str
    ) -> None:
        """One write, and reads at the same time."""
        calls: list[Coroutine[Any, Any, None]] = [
            self.own_put(mode, namespace, name, color),
            self.get(mode, namespace, name),
            self.list(mode, None, None, "labels"),
            self.get(None, namespace, name),
            self.list(mode, None, color, "fields"),
        ]
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(call)

    async def write_then_read(
        self, mode: OwnWritesMode, namespace: str, name: str, color: str
    ) -> None:
        """Reads that the watch has not overtaken yet."""
        await self.own_put(mode, namespace, name, color)
        await self.get(mode, namespace, name)
        await self.list(mode, None, None, "labels")

    @property
    def _has_one_source(self) -> bool:
        return len(self._namespaces) * len(self._colors or "x") == 1

    def _visible(self, state: State) -> State:
        return self._filtered(state, lambda key, known: True)

    def _filtered(self, state: State, admits: Callable[[str, Known], bool]) -> dict[str, Known]:
        return {
            key: known
            for key, known in state.items()
            if key.partition("/")[0] in self._namespaces
            and (self._colors is None or known.color in self._colors)
            and admits(key, known)
        }

    def _check_list(
        self,
        seen: State,
        admits: Callable[[str, Known], bool],
        own: Mapping[str, int],
        *,
        overlaid: bool,
    ) -> None:
        """Each namespace has one version, and each object is as new as own writes to it.

        The overlay replaces single objects, and each of several selectors has a version of its own.
        """
        self._history.note()
        namespaces = {key.partition("/")[0] for key in seen}
        assert namespaces <= self._namespaces, f"{seen} is outside of {self._namespaces}"
        keys = {key for state in self._history.since(0) for key in state}
        parts = [(key, own.get(key, 0)) for key in keys]
        if not overlaid and len(self._colors or "x") == 1:
            parts += [(f"{name}/", self._added.get(name, 0)) for name in self._namespaces]
        for prefix, oldest in parts:
            part = {k: v for k, v in seen.items() if k.startswith(prefix)}
            possible = [
                {k: v for k, v in self._filtered(state, admits).items() if k.startswith(prefix)}
                for state in self._history.since(oldest)
            ]
            assert part in possible, f"{prefix} is {part}, but was {possible} since {oldest}"

    # -- the cache ---------------------------------------------------------------------------

    async def remove_informer(self) -> None:
        await self._cache.remove_informer(ConfigMap)

    async def release_idle(self) -> None:
        await self._cache.release_idle_informers()

    async def add_namespace(self, namespace: str) -> None:
        before = self._history.newest
        await self._cache.add_namespace(namespace)
        if namespace not in self._namespaces:
            self._namespaces.add(namespace)
            self._added[namespace] = before

    async def remove_namespace(self, namespace: str) -> None:
        if namespace in self._namespaces and len(self._namespaces) > 1:
            await self._cache.remove_namespace(namespace)
            self._namespaces.discard(namespace)

    async def set_selectors(self, colors: frozenset[str] | None) -> None:
        await self._cache.set_selectors(ConfigMap, any_of=selectors_of(colors))
        self._colors = colors

    # -- the server --------------------------------------------------------------------------

    def trouble_next(self, verb: str, trouble: str, times: int) -> None:
        fault = EMBEDDED_TROUBLES[verb][trouble]()
        self._api.faults.inject(fault, verb=verb, resource="configmaps", times=times)

    def end_watches(self, reset: bool) -> None:
        self._api.end_watches(CONFIG_MAPS, reset=reset)

    def compact(self) -> None:
        self._api.compact()

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _known(obj: ConfigMap) -> Known:
    color = obj.labels.get("color", "")
    return Known(int(obj.resource_version), obj.uid, color)


def selectors_of(colors: frozenset[str] | None) -> list[Selectors]:
    """Return what selects these colors; ``None`` are all objects."""
    if colors is None:
        return [Selectors()]
    return [Selectors(labels=f"color={color}") for color in sorted(colors)]
