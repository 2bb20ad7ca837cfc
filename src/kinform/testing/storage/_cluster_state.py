"""The state of the server below HTTP: registry, storage, clock, and hooks around writes.

Verbs are functions that take a ``ClusterState``; the class itself has none.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

from kinform.testing.api_errors import FieldProblem
from kinform.testing.resources import ResourceRegistry, ServedResource, StoredKind
from kinform.testing.storage._collection import Collection
from kinform.testing.storage._object_document import ObjectDocument
from kinform.testing.storage._storage import Storage
from kinform.testing.storage._stored_object import StoredObject

# The end of the year 9999, the last one that datetime can represent.
_LAST_MOMENT = 253_402_300_799
# Called after an object was written; the second argument is whether it was removed.
AfterWrite = Callable[[StoredObject, bool], None]
# Called with an object before it is written, and the one it replaces, if any. Completes the
# object and returns its problems.
BeforeWrite = Callable[[ObjectDocument, ObjectDocument | None], list[FieldProblem]]


class ClusterState:
    """The state of one embedded API server.

    ``run_later`` schedules the work that a controller would do shortly after the response; until
    it is set by an owner with an event loop, the work runs immediately. ``clock`` returns the
    seconds since the epoch, for the timestamps of objects.
    """

    def __init__(self, *, history: int) -> None:
        self.registry = ResourceRegistry()
        self.storage = Storage(history=history)
        self.run_later: Callable[[Callable[[], None]], None] = lambda work: work()
        self.clock: Callable[[], float] = time.time
        self._after_write: dict[str, AfterWrite] = {}
        self._before_write: dict[str, BeforeWrite] = {}
        self._after_removal_hooks: list[Callable[[Collection, StoredObject], None]] = []

    def collection(self, served: ServedResource) -> Collection:
        return self.storage.collection(served.stored)

    def before_write(self, resource: str, hook: BeforeWrite) -> None:
        """Call this before each write to a resource."""
        self._before_write[resource] = hook

    def run_before_write(
        self, kind: StoredKind, new: ObjectDocument, old: ObjectDocument | None
    ) -> list[FieldProblem]:
        """Run the hook of a kind before a write, and return the problems of the object."""
        hook = self._before_write.get(str(kind.resource))
        return hook(new, old) if hook else []

    def after_write(self, resource: str, hook: AfterWrite) -> None:
        """Call this after each write to a resource."""
        self._after_write[resource] = hook

    def after_removal(self, hook: Callable[[Collection, StoredObject], None]) -> None:
        """Call this after an object of any resource was removed."""
        self._after_removal_hooks.append(hook)

    def put(self, collection: Collection, stored: StoredObject) -> None:
        """Store a new version and run the hooks."""
        collection.put(stored)
        if hook := self._after_write.get(str(collection.kind.resource)):
            hook(stored, False)

    def remove(self, collection: Collection, last: StoredObject) -> None:
        """Remove an object and run the hooks."""
        collection.remove(last)
        if hook := self._after_write.get(str(collection.kind.resource)):
            hook(last, True)
        for after_removal in self._after_removal_hooks:
            after_removal(collection, last)

    def timestamp(self, *, seconds_from_now: int = 0) -> str:
        moment = datetime.fromtimestamp(min(self.clock() + seconds_from_now, _LAST_MOMENT), UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    @staticmethod
    def new_uid() -> str:
        return str(uuid.uuid4())
