"""Invokes a handler for the items of its mailbox, and logs, counts and reports its failures."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from kinform._runtime import Latch, running_loop
from kinform.errors import ConfigError
from kinform.informers._changes import Change, ChangeSource, ChangeType, DeletedObject
from kinform.informers.dispatch._asyncio_use import is_asyncio_error
from kinform.informers.dispatch._handler_options import Callbacks
from kinform.informers.dispatch._informer_event import INITIAL_SOURCES, informer_event
from kinform.informers.dispatch._mailbox import SYNCED, Item
from kinform.informers.dispatch._projection import EventProjection, HandlerEvent

T = TypeVar("T")

_log = logging.getLogger("kinform.dispatch")


def deleted_object(change: Change, event: HandlerEvent[T]) -> DeletedObject[T]:
    """Return the argument of ``on_delete``."""
    return DeletedObject(
        change.key, event.object, event.final_state_unknown, change.source is ChangeSource.SCOPE
    )


class HandlerFailure(msgspec.Struct, frozen=True):
    """A failure of a handler or its filter. The event is not delivered again.

    Attributes:
        handler: The name of the handler.
        key: The key of the object.
        type: The type of the change.
        error: The exception.
    """

    handler: str
    key: str
    type: ChangeType
    error: BaseException


class Outcomes:
    """The delivery statistics of one subscriber; written by its consumer only."""

    __slots__ = ("_on_error", "failed", "last_error", "name", "processed")

    def __init__(self, name: str, on_error: Callable[[HandlerFailure], None] | None) -> None:
        self.name = name
        self.processed = 0
        self.failed = 0
        self.last_error: BaseException | None = None
        self._on_error = on_error

    def fail(self, change: Change, error: BaseException) -> None:
        """Count, log and report a failure."""
        self.failed += 1
        self.last_error = error
        _log.error(
            "handler %s failed on %s of %s", self.name, change.type, change.key, exc_info=error
        )
        if self._on_error is None:
            return
        try:
            self._on_error(HandlerFailure(self.name, change.key, change.type, error))
        except Exception:
            _log.exception("on_handler_error failed for handler %s", self.name)


class HandlerInvoker(Generic[T]):
    """Calls the handler for each change: ``invoke`` if it is def, ``invoke_async`` in a task.

    Args:
        measure: Called with the duration of each call in seconds and whether it succeeded.
    """

    def __init__(
        self,
        callbacks: Callbacks[T],
        *,
        projection: EventProjection[T],
        outcomes: Outcomes,
        has_synced: Latch,
        measure: Callable[[float, bool], None] | None = None,
    ) -> None:
        self._callbacks = callbacks
        self._projection = projection
        self._outcomes = outcomes
        self._has_synced = has_synced
        self._measure = measure

    def invoke(self, item: Item) -> None:
        """Deliver one item. Never raises: a handler's SystemExit must not end its consumer."""
        if item is SYNCED:
            self._has_synced.set()
            return
        failed = self._outcomes.failed
        started = time.monotonic() if self._measure is not None else 0.0
        try:
            result = self._call(item)
            if result is not None and inspect.iscoroutine(result):
                result.close()
                raise ConfigError(
                    f"{self._outcomes.name} is def but returned a coroutine, which is not awaited; "
                    "make it async def"
                )
        except BaseException as error:
            self._fail(item, error)
        self._outcomes.processed += 1
        if self._measure is not None:
            self._measure(time.monotonic() - started, self._outcomes.failed == failed)

    def _fail(self, change: Change, error: BaseException) -> None:
        try:
            self._outcomes.fail(change, error)
        except BaseException:
            # Only exit exceptions get here; those of the error handler must not end the program.
            _log.exception(
                "on_handler_error raised an exit exception for handler %s", self._outcomes.name
            )
        loop = running_loop()
        if loop is None:
            if is_asyncio_error(error):
                _log.warning(
                    "handler %s runs on a thread, where asyncio cannot be used; register it with "
                    "run_on='loop', or make it async def",
                    self._outcomes.name,
                )
        elif isinstance(error, SystemExit | KeyboardInterrupt):
            # It ends the loop, but not from here, where a change is being delivered.
            loop.call_soon(_raise, error)

    async def invoke_async(self, item: Item) -> None:
        """Deliver one item. Raises only the cancellation of the task, or exit exceptions."""
        if item is SYNCED:
            self._has_synced.set()
            return
        failed = self._outcomes.failed
        started = time.monotonic() if self._measure is not None else 0.0
        try:
            result: Any = self._call(item)
            if result is not None:
                await result
        except Exception as error:
            self._outcomes.fail(item, error)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # This task was not cancelled: the handler awaited something that was.
            self._outcomes.fail(item, error)
        except (SystemExit, KeyboardInterrupt) as error:
            # It ends the loop, or nothing: the loop thread of the blocking API keeps running.
            self._outcomes.processed += 1
            self._outcomes.fail(item, error)
            if self._measure is not None:
                self._measure(time.monotonic() - started, False)
            raise
        self._outcomes.processed += 1
        if self._measure is not None:
            self._measure(time.monotonic() - started, self._outcomes.failed == failed)

    def _call(self, change: Change) -> object:
        """Return the result of the callback; ``None`` if there is none to call."""
        event = self._projection.project(change)
        if event is None:
            return None
        callbacks = self._callbacks
        if callbacks.on_event is not None:
            return callbacks.on_event(informer_event(change, event))
        if event.type is ChangeType.ADDED:
            if callbacks.on_add is not None and event.object is not None:
                return callbacks.on_add(event.object, change.source in INITIAL_SOURCES)
        elif event.type is ChangeType.UPDATED:
            if (
                callbacks.on_update is not None
                and event.old is not None
                and event.object is not None
            ):
                return callbacks.on_update(event.old, event.object)
        elif callbacks.on_delete is not None:
            return callbacks.on_delete(deleted_object(change, event))
        return None


def _raise(error: BaseException) -> None:
    raise error
