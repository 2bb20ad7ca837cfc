"""A script in, played on an informer and its server; an assertion error out if a promise broke."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from kinform.api import LabelSelector
from kinform.informers import (
    NAMESPACE_INDEX,
    ListWatch,
    ReflectorOptions,
    Registration,
    SharedIndexInformer,
)
from kinform.objects import Unstructured
from tests.property.histories import Question
from tests.property.history_folds import (
    Fold,
    InTask,
    Known,
    Manner,
    OnThread,
    fold_events,
)


class Step(NamedTuple):
    """One line of a script: a method of ``World``, and what to call it with."""

    do: str
    args: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Listening:
    """A way to listen: how a handler takes it, and the options it is registered with."""

    manner: Manner = field(default_factory=Manner)
    options: Mapping[str, Any] = field(default_factory=dict)
    on_thread: bool = False


WEB = LabelSelector.from_labels({"app": "web"})


def _is_web(obj: Unstructured) -> bool:
    return obj.labels.get("app") == "web"


LISTENINGS: Mapping[str, Listening] = {
    "thread": Listening(on_thread=True),
    "task": Listening(),
    "slow": Listening(Manner(pace=0.7)),
    "filtered": Listening(Manner(app="web"), {"filter": WEB}),
    "filtered thread": Listening(Manner(app="web"), {"filter": _is_web}, on_thread=True),
    "coalescing": Listening(Manner(pace=4.0), {"policy": "coalesce"}),
    "coalescing filtered": Listening(
        Manner(app="web", pace=4.0), {"policy": "coalesce", "filter": _is_web}
    ),
    "blocking": Listening(Manner(pace=0.7), {"policy": "block", "capacity": 2}),
    "reminded": Listening(Manner(resyncs=True), {"resync_period": 7.0}),
}
FIRST_LISTENERS = ("thread", "task", "filtered", "coalescing", "coalescing filtered")


@dataclass
class Listener:
    """One who listens now. ``checked`` is how many of its events were compared with the log."""

    fold: Fold
    kind: str
    registration: Registration[Unstructured] | None = None
    reading: asyncio.Task[None] | None = None
    checked: int | None = None

    @property
    def on_thread(self) -> bool:
        return self.kind in LISTENINGS and LISTENINGS[self.kind].on_thread

    @property
    def hears_everything(self) -> bool:
        return self.kind in ("thread", "task", "slow", "blocking", "events")


class World(ABC):
    """An informer, its server and its listeners; the steps of scripts are its methods.

    Attributes:
        haste: How many seconds of its own a second of a handler takes.
    """

    haste = 1.0

    def __init__(
        self,
        sources: Sequence[ListWatch[Unstructured]],
        questions: Sequence[Question],
        *,
        options: ReflectorOptions,
        transforms: bool = False,
    ) -> None:
        self.questions = questions
        self.informer = SharedIndexInformer(
            sources, name="things", options=options, transform=self._mark if transforms else None
        )
        self.transformed: Counter[tuple[str, str]] = Counter()
        self.listeners: list[Listener] = []
        self.gone: list[Listener] = []
        self._joined = 0

    def _mark(self, obj: Unstructured) -> None:
        self.transformed[obj.uid, obj.resource_version] += 1

    # -- what differs between servers --------------------------------------------------------

    @abstractmethod
    def truth(self) -> tuple[dict[str, Known], set[str]]:
        """What the server has for these questions, and the keys of it that nobody can read."""

    @abstractmethod
    def put(self, namespace: str, name: str, app: str) -> None:
        """Create it, or update it if it is there."""

    @abstractmethod
    def delete(self, namespace: str, name: str) -> None:
        """Delete it, if it is there."""

    @abstractmethod
    async def settle(self) -> str:
        """Wait until nothing differs; what still does."""

    # -- the play ----------------------------------------------------------------------------

    async def play(self, before: Sequence[Step], script: Sequence[Step]) -> None:
        """Before the informer starts, and until it ends; everything must be right at the end."""
        for step in before:
            getattr(self, step.do)(*step.args)
        for kind in FIRST_LISTENERS:
            self.join(kind)
        self.start()
        try:
            for step in script:
                outcome = getattr(self, step.do)(*step.args)
                if inspect.isawaitable(outcome):
                    await outcome
            await self.catch_up()
        finally:
            await self.stop()
        self.check_promises()

    def start(self) -> None:
        if not self.informer.is_running:
            for listener in self.listeners:
                listener.fold.is_closed = False
            self.informer.start()
            self._open_events()

    async def stop(self) -> None:
        """Wherever it is. Handlers stay, and hear after a start what they have not been told yet;
        streams of events end."""
        if not self.informer.is_running:
            return
        self.informer.stop()
        await self.informer.stopped
        # What was transformed and had not reached the store is transformed anew.
        stored = {(obj.uid, obj.resource_version) for obj in self.informer.store.list()}
        self.transformed = Counter({each: self.transformed[each] for each in stored})
        for listener in self.listeners:
            if listener.reading is not None:
                await listener.reading
            # In virtual time a stop does not wait until a thread has returned from its last call.
            listener.fold.is_closed = not listener.on_thread
        self.gone += [each for each in self.listeners if each.reading is not None]
        self.listeners = [each for each in self.listeners if each.reading is None]

    def join(self, kind: str) -> None:
        if self.informer.is_stopped:
            return
        listening = LISTENINGS[kind]
        fold = self._new_fold(kind, listening.manner)
        registration = (
            self.informer.add_event_handler(OnThread(fold), run_on="thread", **listening.options)
            if listening.on_thread
            else self.informer.add_event_handler(InTask(fold), **listening.options)
        )
        self.listeners.append(Listener(fold, kind, registration))

    async def leave(self) -> None:
        """The handler that came last goes; the first ones stay."""
        handlers = [each for each in self.listeners if each.registration is not None]
        if len(handlers) <= len(FIRST_LISTENERS):
            return
        self.listeners.remove(handlers[-1])
        await self._dismiss(handlers[-1])

    async def _dismiss(self, listener: Listener) -> None:
        assert listener.registration is not None
        listener.registration.remove()
        await listener.registration.stopped
        listener.fold.is_closed = True
        self.gone.append(listener)

    def _open_events(self) -> None:
        fold = self._new_fold("events", Manner())
        reading = asyncio.ensure_future(fold_events(self.informer.events(), fold))
        self.listeners.append(Listener(fold, "events", reading=reading))

    def _new_fold(self, kind: str, manner: Manner) -> Fold:
        self._joined += 1
        hasty = replace(manner, pace=manner.pace * self.haste)
        return Fold(f"{kind} {self._joined}", hasty)

    # -- writes that all servers have --------------------------------------------------------

    def recreate(self, namespace: str, name: str, app: str) -> None:
        self.delete(namespace, name)
        self.put(namespace, name, app)

    def rush(self, namespace: str, name: str, apps: Sequence[str | None]) -> None:
        """Much happens to one object at once; ``None`` deletes it."""
        for app in apps:
            if app is None:
                self.delete(namespace, name)
            else:
                self.put(namespace, name, app)

    # -- what must be true -------------------------------------------------------------------

    async def catch_up(self) -> None:
        """Let the informer come to rest; then it has what the server has, and all know it."""
        self.start()
        difference = await self.settle()
        self.check_promises()
        assert not difference, difference
        self.check_index()

    def store(self) -> dict[str, Known]:
        return {obj.key: Known.of(obj) for obj in self.informer.store.list()}

    def difference(self) -> str:
        store = self.store()
        truth, poisoned = self.truth()
        readable = {key: known for key, known in truth.items() if key not in poisoned}
        healthy = {key: known for key, known in store.items() if key not in poisoned}
        if healthy != readable:
            return f"the store has {healthy}, and the server {readable}"
        if strangers := store.keys() - truth.keys():
            return f"the store has {strangers}, and the server not"
        if unknown := poisoned - set(self.informer.quarantine):
            return f"{unknown} cannot be read, and nobody says so"
        for listener in self.listeners:
            fold = listener.fold
            if not listener.on_thread and not fold.has_come_to(store):
                return f"{fold.name} believes {fold.believed}, and the store has {store}"
        return ""

    def difference_of_threads(self) -> str:
        """The same for handlers on threads, which the loop's clock does not wait for."""
        store = self.store()
        for listener in self.listeners:
            if listener.on_thread and not _has_heard(listener, store):
                fold = listener.fold
                return f"{fold.name} believes {fold.believed}, and the store has {store}"
        return ""

    def check_promises(self) -> None:
        for listener in (*self.listeners, *self.gone):
            broken = listener.fold.broken_promises
            assert not broken, "\n".join([*broken, *map(str, listener.fold.heard)])
        twice = {version: count for version, count in self.transformed.items() if count > 1}
        assert not twice, f"transformed more than once: {twice}"

    def check_index(self) -> None:
        store = self.store()
        for namespace in ("n1", "n2", "n3"):
            found = {obj.key for obj in self.informer.store.by_index(NAMESPACE_INDEX, namespace)}
            assert found == {key for key in store if key.startswith(f"{namespace}/")}


def _has_heard(listener: Listener, store: Mapping[str, Known]) -> bool:
    """Whether nothing is left to be told, and what was told leads to this store."""
    handler = listener.registration
    return (handler is None or not handler.stats.depth) and listener.fold.has_come_to(store)
