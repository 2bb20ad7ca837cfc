"""Writes the events of an outbox to the server, with bounded retries."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable

from kinform.client import Writer
from kinform.controllers.recorder._bodies import CORE_FORM
from kinform.controllers.recorder._entry import EventEntry, EventSnapshot
from kinform.controllers.recorder._log_steps import LogSteps
from kinform.controllers.recorder._outbox import DropReason, Outbox
from kinform.errors import (
    AlreadyExistsError,
    NoMatchError,
    NotFoundError,
    TransportError,
)
from kinform.metrics import Metrics

logger = logging.getLogger("kinform.recorder")

# client-go's numbers: about two minutes.
_ATTEMPTS = 12
_RETRY_AFTER = 10.0
# How often an event may be given another name or created again.
_DETOURS = 3
# While the recorder stops, there is no time to wait.
_LAST_RETRIES_AFTER = 0.1


class Delivery:
    """Writes events, one at a time for each call of ``deliver``. Belongs to one event loop.

    Args:
        client: Writes the events.
        outbox: Has the events.
        controller: The name of the program in events.
        instance: The name of the process in events.
        clock: Returns seconds.
        metrics: Receives what was written and dropped.

    Attributes:
        last_error: The last error of a request.
    """

    def __init__(
        self,
        client: Writer,
        outbox: Outbox,
        *,
        controller: str,
        instance: str,
        clock: Callable[[], float],
        metrics: Metrics,
    ) -> None:
        self._client = client
        self._outbox = outbox
        self._controller = controller
        self._instance = instance
        self._clock = clock
        self._metrics = metrics
        self._steps = LogSteps()
        self._hurry = asyncio.Event()
        self.last_error = ""

    def hurry(self) -> None:
        """End all delays before retries, and make later ones short."""
        self._hurry.set()

    async def deliver(self, entry: EventEntry) -> None:
        """Write an event. Never raises, except if it is cancelled."""
        attempts = detours = 0
        while True:
            event, is_created = self._outbox.snapshot(entry), entry.is_created
            try:
                await self._send(event, is_created=is_created)
            except TransportError as error:
                self.last_error = str(error)
                attempts += 1
                if attempts >= _ATTEMPTS:
                    self._drop(entry, "unreachable", error)
                    return
                await self._pause(attempts)
            except NoMatchError as error:
                if not self._fall_back(error):
                    self._drop(entry, "refused", error)
                    return
            except Exception as error:  # a refusal, or an error of a hook or of a test's client
                detours += 1
                was_lost = attempts > 0
                if detours > _DETOURS or not self._detour(entry, error, is_created, was_lost):
                    self._drop(entry, "refused", error)
                    return
            else:
                new = self._outbox.confirm(entry, event.count, self._clock())
                self._metrics.events_written(self._controller, new)
                return

    async def _send(self, event: EventSnapshot, *, is_created: bool) -> None:
        form, namespace = self._outbox.form, event.occurrence.regarding.home
        if is_created:
            await self._client.patch(
                form.resource, event.name, form.patch(event), type="merge", namespace=namespace
            )
        else:
            body = form.body(event, self._controller, self._instance)
            await self._client.create(body, resource=form.resource, namespace=namespace)

    def _detour(
        self, entry: EventEntry, error: Exception, is_created: bool, was_lost: bool
    ) -> bool:
        """Prepare another attempt after a refusal, if that makes sense.

        Args:
            entry: The event.
            error: The refusal.
            is_created: Whether the count of an existing event was to be written.
            was_lost: Whether an earlier attempt had no response.
        """
        self.last_error = str(error)
        if is_created and isinstance(error, NotFoundError):
            self._outbox.recreate(entry)  # the server has removed the old event meanwhile
            return True
        if not is_created and isinstance(error, AlreadyExistsError):
            if was_lost:
                entry.is_created = True  # by the attempt without a response
            else:
                self._outbox.recreate(entry)  # another process has used this name
            return True
        return False

    def _fall_back(self, error: NoMatchError) -> bool:
        """Use the core API from now on."""
        self.last_error = str(error)
        if self._outbox.form is CORE_FORM:
            return False
        logger.info(
            "recorder %s: the server has no %s, so events are written to %s",
            self._controller,
            self._outbox.form.api,
            CORE_FORM.api,
        )
        self._outbox.form = CORE_FORM
        return True

    async def _pause(self, attempts: int) -> None:
        """Wait before the next attempt."""
        if self._hurry.is_set():
            await asyncio.sleep(_LAST_RETRIES_AFTER)
            return
        # The first delay is random, so that many programs do not return at once.
        delay = _RETRY_AFTER * (random.random() if attempts == 1 else 1 + random.random() / 4)
        try:
            async with asyncio.timeout(delay):
                await self._hurry.wait()
        except TimeoutError:
            pass

    def _drop(self, entry: EventEntry, reason: DropReason, error: Exception) -> None:
        self.last_error = str(error)
        lost = self._outbox.drop(entry, reason)
        self._metrics.events_dropped(self._controller, reason, lost)
        about = entry.occurrence.regarding
        if total := self._steps.count(f"{reason} {type(error).__name__}"):
            logger.warning(
                "recorder %s: event %r about %s %s/%s is lost (%s, %d so far): %s",
                self._controller,
                entry.occurrence.reason,
                about.kind,
                about.home,
                about.name,
                reason,
                total,
                error,
            )
