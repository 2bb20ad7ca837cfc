"""Follows the namespaces that match a label selector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinform._runtime import Latch
from kinform.api import GVR
from kinform.client import Labels, as_label_selector
from kinform.informers import DeletedObject, InformerFactory, SharedIndexInformer
from kinform.objects import Handle, PartialObjectMetadata

NAMESPACES = GVR("", "v1", "namespaces")


class NamespaceSelector:
    """All namespaces that match a label selector, now and later.

        Cache(client, namespace=NamespaceSelector("team=web"))

    Raises:
        SelectorError: The selector is invalid.
    """

    def __init__(self, labels: Labels) -> None:
        self.labels = as_label_selector(labels)

    def __repr__(self) -> str:
        return f"NamespaceSelector({str(self.labels)!r})"


class NamespaceFollower:
    """Reports the namespaces that match a selector, from an informer of namespaces.

    Args:
        selector: The selector.
        changed: Called on the event loop with all matching names, at first and after each change.

    Attributes:
        has_synced: Set after the first call of ``changed``.
        informer: The informer of namespaces, once it runs.
    """

    def __init__(
        self, selector: NamespaceSelector, changed: Callable[[frozenset[str]], None]
    ) -> None:
        self._selector = selector
        self._changed = changed
        self._names: set[str] = set()
        self.informer: SharedIndexInformer[Any] | None = None
        self.has_synced = Latch(f"the namespaces of {selector} are known")

    async def run(self, informers: InformerFactory[Any]) -> None:
        """Follow the namespaces until this is cancelled."""
        lease = informers.for_resource(
            NAMESPACES,
            form=PartialObjectMetadata,
            namespace="",
            labels=self._selector.labels,
        )
        lease.informer.add_event_handler(
            on_add=self._on_add,
            on_delete=self._on_delete,
            name="namespaces of the cache",
        )
        self.informer = lease.informer
        async with lease:
            await lease.informer.has_synced
            # Handlers run later; the store has all names now.
            self._names = {each.name for each in lease.informer.indexer.list()}
            self._report()
            self.has_synced.set()
            await lease.informer.stopped

    # ``async def``, so that they run on the event loop.

    async def _on_add(self, namespace: Handle) -> None:
        if namespace.name not in self._names:
            self._names.add(namespace.name)
            self._report()

    async def _on_delete(self, gone: DeletedObject[Any]) -> None:
        if gone.key in self._names:
            self._names.discard(gone.key)
            self._report()

    def _report(self) -> None:
        self._changed(frozenset(self._names))
