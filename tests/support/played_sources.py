"""An informer of several selectors whose lists and watches advance one step at a time.

The server is a log of writes. Each source is at its own version of it, and the test says which one
goes on: every interleaving can be played, without sockets and without time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, Self

from kinform.api import ListOptions
from kinform.client import Fields, Labels, as_field_selector, as_label_selector
from kinform.informers import Latch, ListWatch, Scope, Selectors
from kinform.informers._core import InformerCore
from kinform.informers._source_state import SourceState
from kinform.informers.queue import DeltaFIFO
from kinform.objects import Record, Unstructured
from tests.support.config_maps import config_map
from tests.support.objects import record_of

NAMESPACE = "n"


class Write(NamedTuple):
    """A write of one object; ``labels`` is ``None`` if it was deleted."""

    name: str
    labels: dict[str, str] | None


class PlayedServer:
    """A log of writes; the version of a write is its position, from 1 on."""

    def __init__(self) -> None:
        self._log: list[Write] = []

    @property
    def version(self) -> int:
        return len(self._log)

    def put(self, name: str, **labels: str) -> int:
        self._log.append(Write(name, labels))
        return self.version

    def delete(self, name: str) -> int:
        self._log.append(Write(name, None))
        return self.version

    def objects(self, version: int) -> dict[str, tuple[int, dict[str, str]]]:
        """The version and the labels of all objects, as of a version of the log."""
        found: dict[str, tuple[int, dict[str, str]]] = {}
        for at, (name, labels) in enumerate(self._log[:version], 1):
            if labels is None:
                found.pop(name, None)
            else:
                found[name] = (at, labels)
        return found

    def selected(self, by: Sequence[Selectors], version: int) -> dict[str, int]:
        """The names and versions of the objects that match one of the selectors."""
        return {
            name: at
            for name, (at, labels) in self.objects(version).items()
            if any(matches(each, name, labels) for each in by)
        }


def matches(selectors: Selectors, name: str, labels: dict[str, str]) -> bool:
    is_named = selectors.fields in ("", f"metadata.name={name}")
    return is_named and as_label_selector(selectors.labels).matches(labels)


class PlayedSource(ListWatch[Unstructured]):
    """A scope without a server: the test delivers its lists and events."""

    def __init__(
        self, namespace: str | None = None, labels: Labels = "", fields: Fields = ""
    ) -> None:
        async def list_nothing(options: ListOptions) -> dict[str, Any]:
            raise AssertionError("the test delivers the lists")

        super().__init__(list_nothing, lambda options: (), name="played")
        self.namespace = namespace
        self.labels = str(as_label_selector(labels))
        self.fields = str(as_field_selector(fields))

    def with_scope(
        self, *, namespace: str | None = None, labels: Labels = "", fields: Fields = ""
    ) -> PlayedSource:
        return PlayedSource(namespace, labels, fields)


class PlayedInformer:
    """An informer of one namespace. Use it with ``async with``; its sources count as running."""

    def __init__(self, server: PlayedServer, *selectors: Selectors) -> None:
        self._server = server
        self.core = InformerCore(
            [PlayedSource(NAMESPACE)],
            scope=Scope.of({NAMESPACE: selectors}),
            name="played",
            metrics_name="played",
        )
        self._oldest_list: dict[SourceState, int] = {}

    async def __aenter__(self) -> Self:
        self._note_new_sources()
        return self

    async def __aexit__(self, *failure: object) -> None:
        for source in self._oldest_list:
            source.retire()

    def select(self, *selectors: Selectors) -> Latch:
        latch = self.core.scope.set_selectors(selectors, NAMESPACE)
        self._note_new_sources()
        return latch

    @property
    def sources(self) -> list[SourceState]:
        """The sources that run, in a stable order."""
        return sorted(self.core.scope.all_sources, key=lambda each: str(each.selectors))

    def source(self, selectors: Selectors) -> SourceState:
        return next(each for each in self.sources if each.selectors == selectors)

    @property
    def store(self) -> dict[str, int]:
        """The names and versions of the stored objects."""
        stored = self.core.indexer.list()
        return {obj.name: int(obj.resource_version) for obj in stored}

    def has_source_of(self, name: str) -> bool:
        """Whether a current source has an object."""
        key = f"{NAMESPACE}/{name}"
        return any(key in each.known.list_keys() for each in self.core.scope.sources)

    async def list(self, source: SourceState, version: int | None = None) -> None:
        """Let the list of a source arrive, as of this version or of the oldest possible one."""
        oldest = max(int(source.list_version or 0), self._oldest_list[source])
        at = min(max(version or 0, oldest), self._server.version)
        found = self._server.selected([source.selectors], at)
        objects = self._server.objects(at)
        queue = self._queue(source)
        queue.replace_keyed(
            {
                f"{NAMESPACE}/{name}": _record(name, v, objects[name][1])
                for name, v in found.items()
            },
            str(at),
        )
        await self._take(source, queue)

    async def watch(self, source: SourceState, until: int | None = None) -> None:
        """Let events of a source arrive: the next one that it selects, or all up to a version."""
        for at in range(int(source.resource_version) + 1, (until or self._server.version) + 1):
            if await self._event(source, at) and until is None:
                return

    async def bookmark(self, source: SourceState) -> None:
        await self.watch(source, self._server.version)
        queue = self._queue(source)
        queue.bookmark(str(self._server.version))
        await self._take(source, queue)

    async def catch_up(self) -> None:
        """Let all sources reach the end of the log."""
        while any(not each.synced for each in self.sources):
            for source in self.sources:
                if not source.synced:
                    await self.list(source)
        for source in self.sources:
            await self.bookmark(source)

    async def _event(self, source: SourceState, at: int) -> bool:
        """Let the event of one write arrive, if it is one for this source."""
        before, after = self._server.objects(at - 1), self._server.objects(at)
        was = self._server.selected([source.selectors], at - 1)
        now = self._server.selected([source.selectors], at)
        queue = self._queue(source)
        if changed := [name for name, version in now.items() if version == at]:
            queue.update(_record(changed[0], at, after[changed[0]][1]))
        elif left := was.keys() - now.keys():
            # The last state that matched, with the version of the change.
            (name,) = left
            queue.delete(_record(name, at, before[name][1]))
        else:
            return False
        await self._take(source, queue)
        return True

    def _queue(self, source: SourceState) -> DeltaFIFO[Any]:
        return DeltaFIFO(known_objects=source.known, key_func=lambda record: record.head.key)

    async def _take(self, source: SourceState, queue: DeltaFIFO[Any]) -> None:
        await queue.pop(partial(self.core._process, source))
        self._note_new_sources()

    def _note_new_sources(self) -> None:
        for source in self.core.scope.all_sources:
            if source not in self._oldest_list:
                self._oldest_list[source] = self._server.version
                source.task = asyncio.get_running_loop().create_task(_idle())


def _record(name: str, version: int, labels: dict[str, str]) -> Record:
    tree = config_map(name, NAMESPACE)
    tree["metadata"].update(labels=labels, resourceVersion=str(version), uid=f"uid of {name}")
    return record_of(tree)


async def _idle() -> None:
    await asyncio.Event().wait()
