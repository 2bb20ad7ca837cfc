"""What the server is made of below HTTP: the registry, the storage, the clock, and who reacts.

Verbs are functions over a ``Cluster``; it knows no verb itself.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

from kinform.testing._documents import Document
from kinform.testing._resources import Registry, ServedResource, StoredKind
from kinform.testing._status import Problem
from kinform.testing._storage import Collection, Storage, Stored

# Called after an object was written; the second is whether it is gone.
Reaction = Callable[[Stored, bool], None]
# Called with an object about to be written and what it replaces, if anything: completes it,
# and says what is wrong with it.
Preparation = Callable[[Document, Document | None], list[Problem]]


class Cluster:
    """The state of one embedded API server.

    ``later`` runs what a controller would do a moment after the request was answered;
    until somebody with an event loop sets it, that moment is at once. ``clock`` gives the
    seconds since the epoch that objects are stamped with.
    """

    def __init__(self, *, history: int) -> None:
        self.registry = Registry()
        self.storage = Storage(history=history)
        self.later: Callable[[Callable[[], None]], None] = lambda work: work()
        self.clock: Callable[[], float] = time.time
        self._reactions: dict[str, Reaction] = {}
        self._preparations: dict[str, Preparation] = {}
        self._removals: list[Callable[[Collection, Stored], None]] = []

    def collection(self, served: ServedResource) -> Collection:
        return self.storage.collection(served.stored)

    def prepare(self, resource: str, preparation: Preparation) -> None:
        """Before each write to a resource, call this."""
        self._preparations[resource] = preparation

    def prepared(self, kind: StoredKind, new: Document, old: Document | None) -> list[Problem]:
        """Let those complete and judge an object who must."""
        preparation = self._preparations.get(str(kind.resource))
        return preparation(new, old) if preparation else []

    def react(self, resource: str, reaction: Reaction) -> None:
        """After each write to a resource, call this."""
        self._reactions[resource] = reaction

    def on_removal(self, reaction: Callable[[Collection, Stored], None]) -> None:
        """After an object of any resource is gone, call this."""
        self._removals.append(reaction)

    def put(self, collection: Collection, stored: Stored) -> None:
        """Store a new version, and let those react who must."""
        collection.put(stored)
        if reaction := self._reactions.get(str(collection.kind.resource)):
            reaction(stored, False)

    def remove(self, collection: Collection, last: Stored) -> None:
        """Remove an object, and let those react who must."""
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
