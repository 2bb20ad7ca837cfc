"""Changes the scope of an informer while it runs: adds, removes and replaces sources."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from kinform._runtime import Latch
from kinform.api import compare_resource_versions, is_older
from kinform.informers._scope import ALL_NAMESPACES, Scope, Selectors, overlap
from kinform.informers._source_state import SourceState
from kinform.informers.sources import Source
from kinform.informers.store import Indexer


class LiveScope:
    """The sources of an informer, made to follow the scope that was last requested.

    A new namespace is a new source. New selectors start a second source beside the first one;
    when its list is complete, it replaces the first one in one step, so handlers receive the
    differences once. Where sources may have the same objects (several selectors, or ``""`` beside
    listed namespaces), the new sources are added, and those that are not wanted any more are
    removed when all lists of the new ones are complete. Requests may come from any thread;
    ``follow``, ``swap`` and ``settle`` run where the informer runs.

    Args:
        informer: The name of the informer, for the names of latches.
        sources: The initial sources of the informer; with a scope, the one to make them from.
        scope: The initial scope, if it is not that of the sources.
        indexer: The store that they fill.
        launch: Starts a source, if the informer is running.
        remove_objects: Removes the objects of a source from the store, and delivers the deletions.
        changed: Called after each request; calls ``follow`` where the informer runs.
    """

    def __init__(
        self,
        informer: str,
        sources: Sequence[Source[Any]],
        scope: Scope | None,
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
        if scope is not None:
            sources = [self._made_source(*request) for request in scope.requests]
        # Replaced, never modified, so that readers need no lock.
        self.sources: tuple[SourceState, ...] = tuple(
            SourceState(each, indexer) for each in sources
        )
        self._track_keys()
        self._successors: tuple[SourceState, ...] = ()
        self._requested = scope or Scope.of({each.name: each.selectors for each in self.sources})
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

    def is_complete_in(self, namespace: str) -> bool:
        """Whether the store has the objects of a covered namespace, by its old or new selectors."""
        sources, requested = self.sources, self._requested
        if len(sources) == len(requested.parts) == 1 and sources[0].name == requested.parts[0][0]:
            return sources[0].synced
        name = namespace if namespace in requested.selectors else ALL_NAMESPACES
        wanted = [each for each in requested.requests if each[0] == name]
        found = [self._find(*each) for each in wanted]
        if all(each is not None and each.synced for each in found):
            return True
        # Until the new sources are complete, the old ones stay.
        return any(each.synced and each.covers(namespace) for each in sources if each not in found)

    def reset(self) -> None:
        """Start again with sources that have delivered nothing. Only while none is running."""
        self._successors = ()
        self.sources = tuple(
            SourceState(self._source_for(*request), self._indexer)
            for request in self._requested.requests
        )
        self._track_keys()

    # -- requests, from any thread -----------------------------------------------------------

    def add_namespace(self, namespace: str, selectors: Sequence[Selectors]) -> Latch:
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

    def set_selectors(self, selectors: Sequence[Selectors], namespace: str | None) -> Latch:
        selected = " or ".join(str(each) or "everything" for each in selectors)
        return self._request(
            lambda scope: scope.with_selectors(selectors, namespace),
            namespace,
            f"selects {selected}",
        )

    def set_scope(self, scope: Scope) -> Latch:
        return self._request(lambda _: scope, None, f"covers objects {scope}".rstrip())

    def _request(self, change: Callable[[Scope], Scope], namespace: str | None, what: str) -> Latch:
        latch = Latch(f"{self._informer} {what}")
        with self._lock:
            before = self._requested
            scope = change(before)
            if scope != before:
                for request in scope.requests:
                    self._source_for(*request)  # raises if the template cannot change
                if self.before_change is not None:
                    self.before_change(scope)
                self._requested = scope
            # A change of one namespace also concerns ``""``, which stands for all others.
            names = [*before.selectors, *scope.selectors]
            concerned = {name for name in names if namespace is None or overlap(name, namespace)}
            self._waiting += ((tuple(concerned), latch),)
        self._changed()
        return latch

    # -- following, where the informer runs --------------------------------------------------

    def follow(self) -> None:
        """Add, remove and replace sources until they fit the requested scope."""
        wanted = self._requested.requests
        names = {name for name, _ in wanted}
        for source in self.sources:
            if not any(overlap(source.name, name) for name in names):
                self._drop(source)
        for name, selectors in wanted:
            current = [each for each in self.sources if overlap(each.name, name)]
            is_alone = sum(overlap(name, other) for other, _ in wanted) == 1
            if is_alone and not current:
                self._add(SourceState(self._source_for(name, selectors), self._indexer))
            elif is_alone and len(current) == 1 and current[0].name == name:
                self._reselect(current[0], selectors)
            else:
                self._add_beside(current, name, selectors)
        self._track_keys()
        self.settle()

    def swap(self, source: SourceState, list_version: str) -> bool:
        """Replace the predecessor of ``source``, whose list is complete; false if it must wait.

        A list older than what the store has is not applied: the predecessor stops, and the source
        lists again, now with a version that no longer moves.
        """
        old = source.predecessor
        assert old is not None
        if is_older(list_version, old.resource_version) and not old.is_retired:
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
        """Remove sources that are not needed any more, and set the latches of completed requests.

        Call this after each list.
        """
        for source in self.sources:
            if self._is_surplus(source):
                self._drop(source)
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
        wanted = [selectors for other, selectors in self._requested.requests if other == name]
        found = [each for each in self.sources if each.name == name]
        return len(found) == len(wanted) and all(
            each.synced and each.selectors in wanted and not self._has_successor(each)
            for each in found
        )

    def _is_surplus(self, source: SourceState) -> bool:
        """Whether a source is not wanted any more, and the wanted ones have replaced it."""
        if self._has_successor(source):
            return False
        wanted = self._requested.requests
        if not source.is_retired and (source.name, source.selectors) in wanted:
            return False
        found = [self._find(*each) for each in wanted if overlap(each[0], source.name)]
        return not source.synced or all(each is not None and each.synced for each in found)

    def _has_successor(self, source: SourceState) -> bool:
        return any(each.predecessor is source for each in self._successors)

    def _find(self, name: str, selectors: Selectors) -> SourceState | None:
        """Return the source of one list and watch, unless it has ended."""
        return next(
            (
                each
                for each in self.sources
                if each.name == name and each.selectors == selectors and not each.is_retired
            ),
            None,
        )

    def _source_for(self, name: str, selectors: Selectors) -> Source[Any]:
        for each in self.sources:
            if each.name == name and each.selectors == selectors:
                return each.source
        return self._made_source(name, selectors)

    def _made_source(self, name: str, selectors: Selectors) -> Source[Any]:
        return self._template.with_scope(
            namespace=None if name == ALL_NAMESPACES else name,
            labels=selectors.labels,
            fields=selectors.fields,
        )

    def _track_keys(self) -> None:
        """Let sources that are not alone in their namespace keep the keys of their objects."""
        for source in self.sources:
            others = [each for each in self.sources if each is not source]
            if source.keys is None and any(overlap(each.name, source.name) for each in others):
                # Until now, it was alone: all objects of its namespace are its own.
                source.keys = set(source.known.list_keys())

    def _add(self, source: SourceState) -> None:
        self.sources += (source,)
        self._launch(source)

    def _add_beside(self, current: Sequence[SourceState], name: str, selectors: Selectors) -> None:
        """Add a source to others that may have the same objects, unless it exists."""
        for each in current:
            self._drop_successor(each)
        if self._find(name, selectors) is not None:
            return
        at_least = ""
        for each in current:
            # Not older than what the store has, from which deleted objects are missing already.
            if (compare_resource_versions(each.list_version, at_least) or 1) > 0:
                at_least = each.list_version or at_least
        source = self._source_for(name, selectors)
        self._add(SourceState(source, self._indexer, keys=set(), at_least=at_least))

    def _drop(self, source: SourceState) -> None:
        self._drop_successor(source)
        source.retire()
        self.sources = tuple(each for each in self.sources if each is not source)
        self._remove_objects(source)

    def _reselect(self, current: SourceState, selectors: Selectors) -> None:
        successor = next((each for each in self._successors if each.predecessor is current), None)
        if successor is not None and successor.selectors == selectors:
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
        new.keys = old.keys
        self.sources = tuple(new if each is old else each for each in self.sources)

    def _drop_successor(self, source: SourceState) -> None:
        for successor in self._successors:
            if successor.predecessor is source:
                successor.retire()
        self._successors = tuple(
            each for each in self._successors if each.predecessor is not source
        )
