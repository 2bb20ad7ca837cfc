"""What the engine does in; numbers for whoever counts them out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Metrics(Protocol):
    """What the engine tells. ``informer`` and ``handler`` are names; durations are seconds.

    Calls come from the loop and from the threads of handlers, some of them once per batch of
    events: they must be short, must not block, and must not raise. Inherit from ``NoMetrics``
    to take only some of them.
    """

    def informer_started(self, informer: str, staleness: Callable[[], float | None]) -> None:
        """There is such an informer now.

        ``staleness()`` is the seconds since it was last known to be current, ``None`` before its
        first sync; it may be called at any time, from any thread.
        """

    def list_finished(self, informer: str, duration: float, items: int) -> None:
        """A list was read to its end, in pages or as the beginning of a stream."""

    def watch_opened(self, informer: str) -> None:
        """The server answered a watch."""

    def watch_closed(self, informer: str, duration: float, events: int, short: bool) -> None:
        """A watch is over; ``short`` if it was at once, and had nothing to say."""

    def advanced(self, informer: str, resource_version: str) -> None:
        """The reflector has come as far as this version."""

    def relisted(self, informer: str, reason: str) -> None:
        """Everything is asked for again."""

    def failed(self, informer: str, phase: str, kind: str) -> None:
        """A request or a stream failed."""

    def queue_depth(self, informer: str, depth: int) -> None:
        """So many deltas wait for the store."""

    def processed(self, informer: str, seconds: float) -> None:
        """One batch went from the queue into the store and to the mailboxes."""

    def store_changed(self, informer: str, objects: int, bytes: int, resource_version: str) -> None:
        """The store holds so much, as of this version."""

    def handler_depth(self, informer: str, handler: str, depth: int) -> None:
        """So many events wait for the handler."""

    def handler_done(self, informer: str, handler: str, ok: bool, seconds: float) -> None:
        """The handler took an event, or raised."""

    def handler_removed(self, informer: str, handler: str) -> None:
        """There is no such handler any more."""

    def informer_stopped(self, informer: str) -> None:
        """There is no such informer any more; nor have its handlers anything to do."""


class NoMetrics:
    """Counts nothing, and costs no more than the calls. Inherit to count some of it."""

    def informer_started(self, informer: str, staleness: Callable[[], float | None]) -> None: ...
    def list_finished(self, informer: str, duration: float, items: int) -> None: ...
    def watch_opened(self, informer: str) -> None: ...
    def watch_closed(self, informer: str, duration: float, events: int, short: bool) -> None: ...
    def advanced(self, informer: str, resource_version: str) -> None: ...
    def relisted(self, informer: str, reason: str) -> None: ...
    def failed(self, informer: str, phase: str, kind: str) -> None: ...
    def queue_depth(self, informer: str, depth: int) -> None: ...
    def processed(self, informer: str, seconds: float) -> None: ...
    def store_changed(
        self, informer: str, objects: int, bytes: int, resource_version: str
    ) -> None: ...
    def handler_depth(self, informer: str, handler: str, depth: int) -> None: ...
    def handler_done(self, informer: str, handler: str, ok: bool, seconds: float) -> None: ...
    def handler_removed(self, informer: str, handler: str) -> None: ...
    def informer_stopped(self, informer: str) -> None: ...


NO_METRICS: Metrics = NoMetrics()
