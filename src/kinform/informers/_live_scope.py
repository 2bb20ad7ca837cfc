"""Changes the scope of an informer while it runs: adds, removes and replaces sources."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from kinform._runtime import Latch
from kinform.api import compare_resource_versions
from kinform.informers._scope import ALL_NAMESPACES, Scope, Selectors
from kinform.informers._source_state import SourceState
from kinform.informers.sources import Source
from kinform.informers.store import Indexer


class LiveScope:
    """The sources of an informer, made to follow the scope that was last requested.

    A new namespace is a new source. New selectors start a second source beside the first one;
    when its list is complete, it replaces the first one in one step, so handlers receive the
    differences once. Requests may come from any thread; ``follow``, ``swap`` and ``settle`` run
    where the informer runs.

    Args:
        informer: The name of the informer, for the names of latches.
        sources: The initial sources of the informer.
        indexer: The store that they fill.
        launch: Starts a source, if the informer is running.
        remove_objects: Removes the objects of a source from the store, and delivers the deletions.
        changed: Called after each request; calls ``follow`` where the informer runs.
    """

    def __init__(
        self,
        informer: str,
        sources: Sequence[Source[Any]],
        indexer: Indexer[Any],
        *,
        launch: Callable[[SourceState], None],
        remove_objects: Callable[[SourceState], None],
        changed: Callable[[], None],
    ) -> None:
        self._informer = informer
        self._template = sources[0]
        self._indexer = indexer
        self._launch = launch
        self._remove_objects = remove_objects
        self._changed = changed
        self._lock = threading.Lock()
        # Replaced, never modified, so that readers need no lock.
        self.sources: tuple[SourceState, ...] = tuple(
            SourceState(each, indexer) for each in sources
        )
        self._successors: tuple[SourceState, ...] = ()
        self._requested = Scope.of({each.name: each.selectors for each in self.sources})
        self._waiting: tuple[tuple[tuple[str, ...], Latch], ...] = ()
        self.before_change: Callable[[Scope], None] | None = None

    @property
    def requested(self) -> Scope:
        """The scope that was last requested; the store may not have reached it yet."""
        return self._requested

    @property
    def all_sources(self) -> tuple[SourceState, ...]:
        """All sources to run, including those that will replace another one."""
        return tuple(each for each in self.sources if not each.is_retired) + self._successors

    # -- requests, from any thread -----------------------------------------------------------

    def add_namespace(self, namespace: str, selectors: Selectors) -> Latch:
        return self._request(
            lambda scope: scope.with_namespace(namespace, selectors),
            namespace,
            f"covers namespace {namespace!r}",
        )

    def remove_namespace(self, namespace: str) -> Latch:
        return self._request(
            lambda scope: scope.without_namespace(namespace),
            namespace,
            f"does not cover namespace {namespace!r}",
        )

    def set_selectors(self, selectors: Selectors, namespace: str | None) -> Latch:
        return self._request(
            lambda scope: scope.with_selectors(selectors, namespace),
            namespace,
            f"selects {selectors}" if str(selectors) else "selects all objects",
        )

    def _request(self, change: Callable[[Scope], Scope], namespace: str | None, what: str) -> Latch:
        latch = Latch(f"{self._informer} {what}")
        with self._lock:
            scope = change(self._requested)
            if scope != self._requested:
                for name, selectors in scope.selectors.items():
                    self._source_for(name, selectors)  # raises if the template cannot change
                if self.before_change is not None:
                    self.before_change(scope)
                self._requested = scope
            names = tuple(scope.selectors) if namespace is None else (namespace,)
            self._waiting += ((names, latch),)
        self._changed()
        return latch

    # -- following, where the informer runs --------------------------------------------------

    def follow(self) -> None:
        """Add, remove and replace sources until they fit the requested scope."""
        wanted = self._requested.selectors
        for source in self.sources:
            if source.name not in wanted:
                self._drop(source)
        for name, selectors in wanted.items():
            current = self._find(name)
            if current is None:
                self._add(SourceState(self._source_for(name, selectors), self._indexer))
            else:
                self._reselect(current, selectors)
        self.settle()

    def swap(self, source: SourceState, list_version: str) -> bool:
        """Replace the predecessor of ``source``, whose list is complete; false if it must wait.

        A list older than what the store has is not applied: the predecessor stops, and the source
        lists again, now with a version that no longer moves.
        """
        old = source.predecessor
        assert old is not None
        order = compare_resource_versions(list_version, old.resource_version)
        if order is not None and order < 0 and not old.is_retired:
            old.retire()
            source.retire()
            again = SourceState(source.source, self._indexer, predecessor=old)
            self._successors = tuple(again if each is source else each for each in self._successors)
            self._launch(again)
            return False
        old.retire()
        self._successors = tuple(each for each in self._successors if each is not source)
        self._replace(old, source)
        return True

    def settle(self) -> None:
        """Set the latches of the requests that have been carried out."""
        if not self._waiting:
            return
        with self._lock:
            done = [latch for names, latch in self._waiting if all(map(self._is_reached, names))]
            self._waiting = tuple(each for each in self._waiting if each[1] not in done)
        for latch in done:
            latch.set()

    def _is_reached(self, name: str) -> bool:
        """Whether the store has what was last requested for a namespace.

        Compares with the request: on another thread, one may arrive before ``follow`` sees it.
        """
        wanted, found = self._requested.selectors.get(name), self._find(name)
        if wanted is None or found is None:
            return wanted is None and found is None
        is_swapped = not any(each.predecessor is found for each in self._successors)
        return is_swapped and found.synced and found.selectors == wanted

    def _find(self, name: str) -> SourceState | None:
        return next((each for each in self.sources if each.name == name), None)

    def _source_for(self, name: str, selectors: Selectors) -> Source[Any]:
        current = self._find(name)
        if current is not None and current.selectors == selectors:
            return current.source
        return self._template.with_scope(
            namespace=None if name == ALL_NAMESPACES else name,
            labels=selectors.labels,
            fields=selectors.fields,
        )

    def _add(self, source: SourceState) -> None:
        self.sources += (source,)
        self._launch(source)

    def _drop(self, source: SourceState) -> None:
        self._drop_successor(source)
        source.retire()
        self.sources = tuple(each for each in self.sources if each is not source)
        self._remove_objects(source)

    def _reselect(self, current: SourceState, selectors: Selectors) -> None:
        successor = next((each for each in self._successors if each.predecessor is current), None)
        if (successor or current).selectors == selectors:
            return
        if current.selectors == selectors and not current.is_retired:
            self._drop_successor(current)
            return
        self._drop_successor(current)
        source = SourceState(
            self._source_for(current.name, selectors), self._indexer, predecessor=current
        )
        if current.is_running or current.is_retired:
            self._successors += (source,)
            self._launch(source)
        else:
            self._replace(current, source)

    def _replace(self, old: SourceState, new: SourceState) -> None:
        new.predecessor = None
        self.sources = tuple(new if each is old else each for each in self.sources)

    def _drop_successor(self, source: SourceState) -> None:
        for successor in self._successors:
            if successor.predecessor is source:
                successor.retire()
        self._successors = tuple(
            each for each in self._successors if each.predecessor is not source
        )
