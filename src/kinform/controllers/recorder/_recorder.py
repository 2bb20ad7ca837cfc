"""The event recorder: writes events about objects in the background."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, get_args

from kinform._checks import check_callable, expect, expect_client
from kinform._runtime import Lifecycle, Runnable, wake
from kinform.client import Writer
from kinform.controllers.recorder._bodies import CORE_FORM, SERIES_FORM, EventApi
from kinform.controllers.recorder._delivery import Delivery
from kinform.controllers.recorder._log_steps import LogSteps
from kinform.controllers.recorder._occurrence import EventKind, occurrence
from kinform.controllers.recorder._outbox import DropReason, Outbox, RecorderStatus
from kinform.errors import ConfigError
from kinform.metrics import NO_METRICS, Metrics, guarded
from kinform.objects import Handle, Model

logger = logging.getLogger("kinform.recorder")

_FORMS = {form.api: form for form in (SERIES_FORM, CORE_FORM)}
# The number of requests at a time.
_WRITERS = 4
# Seconds between checks of the events that are not written at once, as in client-go.
_CHECK_PERIOD = 360.0
_LONGEST_INSTANCE = 128
_PREFIX = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*/"
_QUALIFIED_NAME = re.compile(rf"({_PREFIX})?[A-Za-z0-9]([A-Za-z0-9._-]{{0,61}}[A-Za-z0-9])?")


class EventRecorder(Runnable):
    """Records Kubernetes events: what a program did to objects, for ``kubectl describe``.

        async with EventRecorder(client, "web-controller") as recorder:
            recorder.event(web, "Normal", "ScaledUp", "scaled to 3 replicas")

    ``event`` returns at once; a background task writes the events. Repeated events are counted
    instead of written again, similar ones are combined, and those about one object are limited.
    All numbers are client-go's. Stopping writes what is left, for a bounded time.

    Args:
        client: Writes the events.
        name: The name of the program in events, such as ``web-controller``.
        instance: The name of this process in events; by default, ``name`` and the host name.
        api: The API to use. If the server does not have ``events.k8s.io/v1``, ``v1`` is used.
        capacity: The number of events that may wait to be created; more are dropped.
        flush_timeout: Seconds that stopping may take.
        clock: Returns seconds, on any thread.
        metrics: Receives the numbers of written and dropped events.

    Raises:
        ConfigError: An argument is invalid.
    """

    def __init__(
        self,
        client: Writer,
        name: str,
        *,
        instance: str | None = None,
        api: EventApi = "events.k8s.io/v1",
        capacity: int = 1000,
        flush_timeout: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
        metrics: Metrics = NO_METRICS,
    ) -> None:
        expect_client(client, Writer, receiver="EventRecorder")
        self._client = client
        self._controller = _checked_name(name)
        self._instance = _checked_instance(name, instance)
        if api not in _FORMS:
            raise ConfigError(f"api must be one of {get_args(EventApi)}, not {api!r}")
        expect(capacity, int, receiver="capacity=", expected="a number of events")
        check_callable("clock", clock)
        if capacity < 1:
            raise ConfigError(f"capacity must be at least 1, not {capacity!r}")
        if not _is_duration(flush_timeout):
            raise ConfigError(f"flush_timeout must be 0 or more seconds, not {flush_timeout!r}")
        self._flush_timeout = flush_timeout
        self._clock = clock
        self._metrics = guarded(metrics, name)
        self._outbox = Outbox(_FORMS[api], capacity=capacity)
        self._steps = LogSteps()
        self._lock = threading.Lock()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._delivery: Delivery | None = None
        self._is_finishing = False
        super().__init__(
            Lifecycle(
                f"event recorder {name}",
                self._run,
                prepare=self._outbox.reopen,
                conclude=self._conclude,
            )
        )

    def event(
        self,
        obj: Handle | Mapping[str, Any] | Model,
        type: EventKind,
        reason: str,
        message: str,
        *,
        action: str | None = None,
        related: Handle | Mapping[str, Any] | Model | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> bool:
        """Record an event. Callable on any thread; never blocks.

        Events that are recorded before the start are written after it.

        Args:
            obj: The object that the event is about, in any form, or an ``ObjectReference``.
            type: ``Normal`` or ``Warning``.
            reason: One word that says why, such as ``ScaledUp``.
            message: The same for people. At most 1024 bytes are written.
            action: One word that says what was done; ``reason`` by default.
            related: Another object that has to do with it.
            annotations: Annotations of the event.

        Returns:
            Whether the event was accepted. If not, too many events are waiting, the spam filter
            dropped it, or the recorder has stopped; ``status`` has the numbers.

        Raises:
            ConfigError: An argument is invalid.
            InvalidNameError: An object has no valid apiVersion and kind.
        """
        said = occurrence(
            obj, type, reason, message, action=action, related=related, annotations=annotations
        )
        dropped = self._outbox.add(said, self._clock(), datetime.now(UTC))
        if dropped is not None:
            self._log_drop(dropped, said.reason, said.regarding.name)
            return False
        with self._lock:
            waiter = self._idle.popleft() if self._idle else None
        if waiter is not None:
            wake(waiter)
        return True

    def status(self) -> RecorderStatus:
        """Return the numbers of recorded, written and dropped events. Any thread."""
        last_error = "" if self._delivery is None else self._delivery.last_error
        return self._outbox.status(self._controller, last_error)

    def __repr__(self) -> str:
        return f"<EventRecorder {self._controller}>"

    # -- the background task -----------------------------------------------------------------

    async def _run(self) -> None:
        self._is_finishing = False
        delivery = self._delivery = Delivery(
            self._client,
            self._outbox,
            controller=self._controller,
            instance=self._instance,
            clock=self._clock,
            metrics=self._metrics,
        )
        writers = [asyncio.create_task(self._write(delivery)) for _ in range(_WRITERS)]
        try:
            while True:
                await asyncio.sleep(_CHECK_PERIOD)
                self._outbox.check(self._clock())
                self._wake_all()
        except asyncio.CancelledError:
            logger.debug("%s stops", self.name)
        await self._finish(delivery, writers)

    async def _write(self, delivery: Delivery) -> None:
        """Write events, until the outbox is empty while the recorder stops."""
        while True:
            entry = self._outbox.take()
            if entry is not None:
                await delivery.deliver(entry)
            elif self._is_finishing:
                return
            else:
                await self._wait()

    async def _wait(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._idle.append(waiter)
        try:
            # Checked after the waiter is visible: events that are recorded from now on wake it.
            if not self._outbox.has_queued and not self._is_finishing:
                await waiter
        finally:
            with self._lock, contextlib.suppress(ValueError):
                self._idle.remove(waiter)

    async def _finish(self, delivery: Delivery, writers: list[asyncio.Task[None]]) -> None:
        """Write what is left, for a bounded time."""
        self._is_finishing = True
        delivery.hurry()
        self._outbox.flush()
        self._wake_all()
        try:
            await asyncio.wait(writers, timeout=self._flush_timeout)
        finally:
            for writer in writers:
                writer.cancel()
            await asyncio.gather(*writers, return_exceptions=True)

    def _conclude(self) -> None:
        lost = self._outbox.close()
        if lost:
            self._metrics.events_dropped(self._controller, "unsent", lost)
            logger.warning(
                "%s stopped; %d events could not be written within %g s",
                self.name,
                lost,
                self._flush_timeout,
            )

    def _wake_all(self) -> None:
        with self._lock:
            waiting = list(self._idle)
            self._idle.clear()
        for waiter in waiting:
            wake(waiter)

    def _log_drop(self, reason: DropReason, what: str, obj: str) -> None:
        self._metrics.events_dropped(self._controller, reason, 1)
        with self._lock:
            total = self._steps.count(reason)
        if total:
            logger.warning(
                "%s dropped event %r about %s (%s, %d so far)", self.name, what, obj, reason, total
            )


def _is_duration(given: object) -> bool:
    return isinstance(given, int | float) and given >= 0


def _checked_name(name: object) -> str:
    expect(name, str, receiver="EventRecorder", expected="a name such as 'web-controller'")
    assert isinstance(name, str)
    if not _QUALIFIED_NAME.fullmatch(name):
        raise ConfigError(
            f"{name!r} cannot be the name of a recorder; use letters, digits, '-', '_' and '.', "
            "such as 'web-controller' or 'example.com/web-controller'"
        )
    return name


def _checked_instance(name: str, instance: str | None) -> str:
    if instance is None:
        return f"{name}-{socket.gethostname()}"[:_LONGEST_INSTANCE]
    expect(instance, str, receiver="instance=", expected="a string")
    if not 0 < len(instance) <= _LONGEST_INSTANCE:
        raise ConfigError(
            f"instance must have 1 to {_LONGEST_INSTANCE} characters, not {len(instance)}"
        )
    return instance
