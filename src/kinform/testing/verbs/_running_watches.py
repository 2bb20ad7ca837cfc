"""The watches that are running, so that tests can end them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kinform.testing.interception import Call, CallFilter, Sink
from kinform.testing.verbs._watch import WatchHandler


class RunningWatches:
    """The running watches of a server."""

    def __init__(self) -> None:
        self._running: dict[WatchHandler, tuple[Call, Sink]] = {}

    @contextmanager
    def added(self, watch: WatchHandler, call: Call, sink: Sink) -> Iterator[None]:
        """Contain a watch for the duration of the block."""
        self._running[watch] = (call, sink)
        try:
            yield
        finally:
            del self._running[watch]

    def end(self, calls: CallFilter, *, reset: bool) -> int:
        """End the matching watches, and return their number.

        Args:
            calls: The criteria for the requests that opened them.
            reset: Reset the connections, instead of ending the responses as after a timeout.
        """
        ending = [
            (watch, sink)
            for watch, (call, sink) in self._running.items()
            if not watch.is_closed and calls.matches(call)
        ]
        for watch, sink in ending:
            watch.close()
            if reset:
                sink.reset()
        return len(ending)
