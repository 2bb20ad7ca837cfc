"""The state of one source of an informer: one list and watch, of a namespace or of all."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Any, TypeVar

from kinform._checks import expect
from kinform.client import as_label_selector
from kinform.errors import ConfigError
from kinform.informers._delta_controller import DeltaController
from kinform.informers._scope import ALL_NAMESPACES, Selectors
from kinform.informers.reflector import ReflectorState, ReflectorStatus
from kinform.informers.sources import Source
from kinform.informers.store import Indexer
from kinform.objects import Handle, Record

T = TypeVar("T", bound=Handle)


class SourceState:
    """The state of one source of an informer; survives restarts.

    Attributes:
        source: The source.
        predecessor: The source it replaces once its list is complete.
        synced: Whether its first list is in the store.
        resource_version: The version of this source that the store has reached.
        keys: The keys of its objects, if other sources have or had objects of the same namespace;
            otherwise ``None``, because the store has them.
        known: Its objects in the store, to which its lists are compared.
        controller: The controller that runs it; replaced at each start.
        task: The task of the controller while it runs.
        is_retired: Whether it has left the informer: what it still delivers is ignored.
    """

    def __init__(
        self,
        source: Source[Any],
        indexer: Indexer[Any],
        *,
        predecessor: SourceState | None = None,
        keys: set[str] | None = None,
        at_least: str = "",
    ) -> None:
        self.source = source
        self.predecessor = predecessor
        self.keys = keys
        self.synced = False
        # A list of the successor must not be older than what the store has.
        self.resource_version: str = predecessor.resource_version if predecessor else ""
        self._at_least = at_least
        self.controller: DeltaController[Any] | None = None
        self.task: asyncio.Task[None] | None = None
        self.is_retired = False
        self._labels = as_label_selector(source.labels)
        self._has_same_fields = not source.fields or (
            predecessor is not None and predecessor.source.fields == source.fields
        )
        self.known = SourceObjects(self, indexer)

    @property
    def name(self) -> str:
        return self.source.namespace or ALL_NAMESPACES

    @property
    def selectors(self) -> Selectors:
        return Selectors(self.source.labels, self.source.fields)

    @property
    def list_version(self) -> str:
        """The version that the next list must not be older than."""
        return self.resource_version or self._at_least

    def covers(self, namespace: str) -> bool:
        """Whether it lists and watches the objects of a namespace."""
        excluded = f"metadata.namespace!={namespace}"
        return self.name == namespace or (
            self.name == ALL_NAMESPACES and excluded not in self.source.fields.split(",")
        )

    def selects(self, record: Record) -> bool:
        """Whether an object that the predecessor selected is known to be selected here, too."""
        return self._has_same_fields and self._labels.matches(record.head.labels)

    def selects_by_labels(self, record: Record) -> bool:
        """Whether an object is selected, if labels alone decide; otherwise false."""
        return not self.source.fields and self._labels.matches(record.head.labels)

    @property
    def is_running(self) -> bool:
        return self.task is not None and not self.task.done()

    def retire(self) -> None:
        """Stop the source for good. Call this on the event loop."""
        self.is_retired = True
        if self.task is not None:
            self.task.cancel()

    def staleness(self) -> float | None:
        return self.controller.reflector.staleness if self.controller else None

    def status(self) -> ReflectorStatus:
        return self.controller.reflector.status() if self.controller else ReflectorState().status()


def sources_of(source: Source[T] | Sequence[Source[T]]) -> list[Source[T]]:
    """Return the sources as a list, after checking that they do not overlap.

    Raises:
        ConfigError: There is no source, or two sources contain the same objects.
    """
    sources = list(source) if isinstance(source, Sequence) else [source]
    if not sources:
        raise ConfigError("an informer requires a source; pass a ListWatch")
    for each in sources:
        expect_source(each)
    if len(sources) == 1:
        return sources
    namespaces = [each.namespace for each in sources]
    if not all(namespaces) or len(set(namespaces)) < len(namespaces):
        raise ConfigError(
            f"several sources must each have a different namespace, not {namespaces!r}; for "
            "several selectors, pass one source and a scope"
        )
    if len({each.form for each in sources}) > 1:
        raise ConfigError("several sources must return objects of the same class")
    return sources


def expect_source(source: object) -> None:
    """Check that ``source`` is a ListWatch.

    Raises:
        ConfigError: It is not.
    """
    expect(
        source,
        Source,
        receiver="an informer",
        expected="a kinform.ListWatch",
        hint="create one with ListWatch.for_resource(client, Pod)",
    )


class SourceObjects:
    """The objects of a source in the store, to which its lists are compared."""

    def __init__(self, source: SourceState, indexer: Indexer[Any]) -> None:
        self._source = source
        self._indexer = indexer

    def list_keys(self) -> Collection[str]:
        # The first list of a successor is compared with what its predecessor had.
        keys = (self._source.predecessor or self._source).keys
        return self.list_namespace() if keys is None else tuple(keys)

    def list_namespace(self) -> Collection[str]:
        """Return the keys of all stored objects of its namespace, including those of others."""
        namespace = self._source.source.namespace
        if namespace is None:
            return self._indexer.list_keys()
        prefix = f"{namespace}/"
        return [key for key in self._indexer.list_keys() if key.startswith(prefix)]

    def get_by_key(self, key: str, /) -> Any:
        return self._indexer.get_by_key(key)
