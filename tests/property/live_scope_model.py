"""The scope that was requested, and what handlers and store may contain because of it."""

from __future__ import annotations

import itertools
import operator
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from kinform.informers import DeletedObject, Latch, Selectors
from kinform.objects import Unstructured
from tests.property.history_folds import Fold, Known, Manner


class Selection(NamedTuple):
    """A selector by label and one by field; ``None`` selects everything.

    Attributes:
        others: Further selections; an object that matches one of all is selected.
    """

    app: str | None = None
    name: str | None = None
    others: tuple[Selection, ...] = ()

    @property
    def selectors(self) -> set[Selectors]:
        own = Selectors(
            f"app={self.app}" if self.app else "app",
            f"metadata.name={self.name}" if self.name else "",
        )
        return {own}.union(*(each.selectors for each in self.others))

    def matches(self, name: str, app: str) -> bool:
        is_own = self.app in (None, app) and self.name in (None, name)
        return is_own or any(each.matches(name, app) for each in self.others)


@dataclass
class Request:
    """What was requested for one namespace; ``selection`` is ``None`` if it is not covered."""

    selection: Selection | None
    latch: Latch | None = None

    def admits(self, name: str, app: str) -> bool:
        return self.selection is not None and self.selection.matches(name, app)

    @property
    def is_done(self) -> bool:
        return self.latch is not None and bool(self.latch)


class RequestedScope:
    """Every request ever made, by namespace. Written on one thread, read on any."""

    def __init__(self, initial: dict[str, Selection], namespaces: tuple[str, ...]) -> None:
        self._requests = {name: [Request(initial.get(name))] for name in namespaces}

    def __getitem__(self, namespace: str) -> Selection | None:
        return self._requests[namespace][-1].selection

    @property
    def namespaces(self) -> list[str]:
        return [name for name in self._requests if self[name] is not None]

    @property
    def latches(self) -> list[Latch]:
        requests = (each for one in self._requests.values() for each in one)
        return [each.latch for each in requests if each.latch is not None]

    def request(self, namespace: str, selection: Selection | None) -> Request:
        """Note a request before it is made: it may have effects before the call returns."""
        request = Request(selection)
        self._requests[namespace].append(request)
        return request

    def covers(self, namespace: str, name: str, app: str) -> bool:
        return self._requests[namespace][-1].admits(name, app)

    def oldest_valid(self) -> dict[str, int]:
        """For each namespace the last request that is complete: earlier ones have no effect."""
        return {
            name: max((at for at, each in enumerate(requests) if each.is_done), default=0)
            for name, requests in self._requests.items()
        }

    def admits_since(self, oldest: int, namespace: str, name: str, app: str) -> bool:
        return any(each.admits(name, app) for each in self._requests[namespace][oldest:])

    def exclusions(self, namespace: str, name: str, apps: set[str]) -> int:
        """How many requests may take an object along that never left a selection by itself.

        These are those that do not admit it. Since several selectors were requested, every one may:
        it may end the only watch that has seen the object yet.
        """
        requests = self._requests[namespace]
        had_several = itertools.accumulate(
            (each.selection is not None and bool(each.selection.others) for each in requests),
            operator.or_,
        )
        found = list(zip(requests, had_several, strict=True))[1:]
        return sum(
            several or not all(each.admits(name, app) for app in apps) for each, several in found
        )

    def changes(self, namespace: str) -> int:
        return len(self._requests[namespace]) - 1

    def describe(self, namespace: str) -> str:
        return ", ".join(
            f"{each.selection}{'' if each.is_done else ' (pending)'}"
            for each in self._requests[namespace]
        )


@dataclass
class WriteLog:
    """What was written: the labels of each key, and how often it could have left a selection."""

    apps: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    departures: Counter[str] = field(default_factory=Counter)
    _current: dict[str, str] = field(default_factory=dict)

    def put(self, key: str, app: str) -> None:
        if self._current.get(key, app) != app:
            self.departures[key] += 1
        self._current[key] = app
        self.apps[key].add(app)

    def delete(self, key: str) -> None:
        if self._current.pop(key, None) is not None:
            self.departures[key] += 1


class ScopeFold(Fold):
    """A fold that counts deletions by their cause.

    An object may come back with the version it left with. It never comes back with an older one.
    """

    def __init__(self, name: str, manner: Manner) -> None:
        super().__init__(name, manner)
        self.out_of_scope: Counter[str] = Counter()
        self.departed: Counter[str] = Counter()

    def add(self, obj: Unstructured) -> None:
        with self._lock:
            new = Known.of(obj)
            if obj.key in self.believed:
                self._complain(f"ADDED {obj.key} {new}, which is known: {self.believed[obj.key]}")
            if new.version < self._newest.get(new.uid, -1):
                self._complain(f"ADDED {obj.key} {new}, after {self._newest[new.uid]}")
            self._believe("ADDED", obj.key, new)

    def delete(self, gone: DeletedObject[Unstructured]) -> None:
        super().delete(gone)
        with self._lock:
            counter = self.out_of_scope if gone.out_of_scope else self.departed
            counter[gone.key] += 1

    def unjustified(self, scope: RequestedScope, writes: WriteLog) -> list[str]:
        """Deletions without a cause, as far as their number shows it."""
        found = []
        for key, count in self.out_of_scope.items():
            namespace, _, name = key.partition("/")
            # A deletion on the server that a swap finds may be marked as well.
            causes = (
                scope.changes(namespace)
                if writes.departures[key]
                else scope.exclusions(namespace, name, writes.apps[key])
            )
            if count > causes:
                found.append(
                    f"{self.name}: {key} left the scope {count} times, at most {causes} changes of "
                    f"the scope excluded it: {scope.describe(namespace)}"
                )
        found += [
            f"{self.name}: {key} was deleted {count} times, and on the server at most "
            f"{writes.departures[key]} times"
            for key, count in self.departed.items()
            if count > writes.departures[key]
        ]
        return found
