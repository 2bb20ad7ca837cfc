"""The state of the server below HTTP: registry, storage, clock, preparations and reactions.

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

# Called after an object was written; the second argument is whether it was removed.
AfterWrite = Callable[[StoredObject, bool], None]
# Called with an object before it is written, and the one it replaces, if any. Completes the
# object and returns its problems.
BeforeWrite = Callable[[ObjectDocument, ObjectDocument | None], list[FieldProblem]]


class ClusterState:
    """The state of one embedded API server.

    ``later`` schedules the work that a controller would do shortly after the response; until
    it is set by an owner with an event loop, the work runs immediately. ``clock`` returns the
    seconds since the epoch, for the timestamps of objects.
    """

    def __init__(self, *, history: int) -> None:
        self.registry = ResourceRegistry()
        self.storage = Storage(history=history)
        self.later: Callable[[Callable[[], None]], None] = lambda work: work()
        self.clock: Callable[[], float] = time.time
        self._reactions: dict[str, AfterWrite] = {}
        self._preparations: dict[str, BeforeWrite] = {}
        self._removals: list[Callable[[Collection, StoredObject], None]] = []

    def collection(self, served: ServedResource) -> Collection:
        return self.storage.collection(served.stored)

    def prepare(self, resource: str, preparation: BeforeWrite) -> None:
        """Call this before each write to a resource."""
        self._preparations[resource] = preparation

    def prepared(
        self, kind: StoredKind, new: ObjectDocument, old: ObjectDocument | None
    ) -> list[FieldProblem]:
        """Run the preparations of a kind on an object, and return its problems."""
        preparation = self._preparations.get(str(kind.resource))
        return preparation(new, old) if preparation else []

    def react(self, resource: str, reaction: AfterWrite) -> None:
        """Call this after each write to a resource."""
        self._reactions[resource] = reaction

    def on_removal(self, reaction: Callable[[Collection, StoredObject], None]) -> None:
        """Call this after an object of any resource was removed."""
        self._removals.append(reaction)

    def put(self, collection: Collection, stored: StoredObject) -> None:
        """Store a new version and run the reactions."""
        collection.put(stored)
        if reaction := self._reactions.get(str(collection.kind.resource)):
            reaction(stored, False)

    def remove(self, collection: Collection, last: StoredObject) -> None:
        """Remove an object and run the reactions."""
        collection.remove(last)
        if reaction := self._reactions.get(str(collection.kind.resource)):
            reaction(last, True)
        for removal in self._removals:
            removal(collection, last)

    def timestamp(self, *, seconds_from_now: int = 0) -> str:
        moment = datetime.fromtimestamp(self.clock() + seconds_from_now, UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    @staticmethod
    def new_uid() -> str:
        return str(uuid.uuid4())
