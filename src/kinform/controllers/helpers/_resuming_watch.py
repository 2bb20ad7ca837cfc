"""A watch that reconnects from the last version until the server no longer has it."""

from __future__ import annotations

import asyncio
import logging
import random
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, overload

from kinform._checks import expect, expect_client
from kinform._runtime import Backoff, connection_backoff
from kinform.client import (
    EventType,
    Fields,
    Labels,
    Resource,
    Watch,
    Watcher,
    WatchEvent,
)
from kinform.errors import (
    ApiError,
    ConfigError,
    DecodeError,
    KinformError,
    ServerError,
    StateError,
    TooManyRequestsError,
    TransportError,
    WatchError,
    WatchSilenceError,
)
from kinform.objects import Handle, TypedObject, Unstructured

logger = logging.getLogger("kinform.controllers")

T = TypeVar("T", bound=Handle)
M = TypeVar("M", bound=TypedObject)

# Servers end a watch after this many seconds, or after up to twice as many.
_DURATION = 300
# A server that does not end it by then is not there any more.
_GRACE = 30.0
# A connection that was open this long worked, even if nothing happened.
_LONG_ENOUGH = 1.0
# The most seconds between two connections of a watch that makes progress.
_JITTER = 0.02


class ResumingWatch(Generic[T]):
    """A watch that reconnects, from the version of the last event. See ``resuming_watch``.

    Iterate inside ``async with``, from one task.

    Attributes:
        resource_version: The version from which it would continue.
        connections: The number of watches that were opened, or attempted.
    """

    def __init__(self, client: Any, resource: Any, resource_version: str, **options: Any) -> None:
        expect_client(client, Watcher, receiver="resuming_watch")
        expect(
            resource_version,
            str,
            receiver="resource_version= of resuming_watch()",
            expected="a string",
        )
        if resource_version in ("", "0"):
            raise ConfigError(
                f"resuming_watch needs the version to continue from, not {resource_version!r}; "
                "list first, and pass the resource_version of the list"
            )
        self.resource_version = resource_version
        self.connections = 0
        self._client = client
        self._resource = resource
        self._options = options
        self._watch: Watch[T] | None = None
        self._is_open = False
        self._deadline = 0.0
        self._opened_at = 0.0
        self._made_progress = True
        self._lost = connection_backoff()
        self._refused = Backoff()

    async def __aenter__(self) -> Self:
        self._is_open = True
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_open = False
        await self._close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchEvent[T]:
        """Return the next event; reconnect if necessary.

        Raises:
            ExpiredError: The server no longer has the events after the last version.
            ApiError: The server refuses the watch, and would refuse it again.
            DecodeError: An event cannot be decoded. The iteration may be continued after it.
            WatchError: An event has no resource version to continue from.
            StateError: It is not open, or was closed.
        """
        while True:
            if not self._is_open:
                raise StateError(
                    "a resuming watch is not open; write `async with resuming_watch(...) as watch:`"
                )
            try:
                event = await self._next()
            except DecodeError as error:
                # The rest of the stream is intact, and resuming must not repeat this event.
                self._advance(error.resource_version)
                raise
            except KinformError as error:
                await self._close()
                if not _may_succeed_later(error):
                    raise
                await self._pause(error)
                continue
            except asyncio.CancelledError:
                await self._close()  # a cancelled read has ended the connection
                raise
            if event is None:
                await self._close()
                await self._pause(None)
                continue
            if not event.object.resource_version:
                await self._close()
                raise WatchError(f"{event.object!r} has no resource version to continue from")
            self._advance(event.object.resource_version)
            if event.type is not EventType.BOOKMARK:
                return event

    async def _next(self) -> WatchEvent[T] | None:
        """Return the next event, or ``None`` if the server has ended the watch."""
        loop = asyncio.get_running_loop()
        if self._watch is None:
            seconds = random.randint(_DURATION, 2 * _DURATION)
            self.connections += 1
            watch: Watch[T] = self._client.watch(
                self._resource,
                resource_version=self.resource_version,
                bookmarks=True,
                timeout_seconds=seconds,
                retry=False,
                **self._options,
            )
            self._watch = await watch.open()
            self._opened_at = loop.time()
            self._deadline = self._opened_at + seconds + _GRACE
        try:
            async with asyncio.timeout_at(self._deadline) as limit:
                event = await anext(self._watch, None)
        except TimeoutError:
            if not limit.expired():
                raise
            raise WatchSilenceError("the server did not end the watch in time") from None
        return event

    def _advance(self, version: str) -> None:
        self._made_progress = True
        self._lost.reset()
        self._refused.reset()
        if version:
            self.resource_version = version

    async def _pause(self, error: KinformError | None) -> None:
        """Wait before the next connection; longer each time, unless the last one worked."""
        open_for = asyncio.get_running_loop().time() - self._opened_at
        worked = self._made_progress or (error is None and open_for >= _LONG_ENOUGH)
        self._made_progress = False
        if isinstance(error, ApiError):
            delay = self._refused.next(at_least=error.retry_after)
        elif worked:
            delay = _JITTER * random.random()
        else:
            delay = self._lost.next()
        logger.debug(
            "watch of %s: %s; continuing from %s in %.2f s",
            self._resource,
            error or "ended by the server",
            self.resource_version,
            delay,
        )
        await asyncio.sleep(delay)

    async def _close(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            await watch.close()


def _may_succeed_later(error: KinformError) -> bool:
    return isinstance(error, TransportError | WatchError | ServerError | TooManyRequestsError)


@overload
def resuming_watch(
    client: Watcher,
    resource: type[M],
    *,
    resource_version: str,
    namespace: str | None = None,
    labels: Labels = "",
    fields: Fields = "",
) -> ResumingWatch[M]: ...
@overload
def resuming_watch(
    client: Watcher,
    resource: Resource,
    *,
    resource_version: str,
    namespace: str | None = None,
    labels: Labels = "",
    fields: Fields = "",
) -> ResumingWatch[Unstructured]: ...
def resuming_watch(
    client: Watcher, resource: Any, *, resource_version: str, **options: Any
) -> ResumingWatch[Any]:
    """Watch changes after a version, and reconnect from the last event as often as necessary.

        jobs = await client.list(Job)
        async with resuming_watch(client, Job, resource_version=jobs.resource_version) as watch:
            async for event in watch: ...

    Each event is returned once, in order; bookmarks are not returned. Lost connections, 429 and 5xx
    are retried for as long as it takes. Everything else ends the iteration with the error: above
    all ``ExpiredError``, whether the server says so when the watch is opened or later. Then list
    again; an informer does that by itself.

    Args:
        client: The client.
        resource: The resource or model class.
        resource_version: Where to begin, such as the version of a list.
        namespace: The namespace; ``None`` for all.
        labels: A label selector.
        fields: A field selector.

    Raises:
        ConfigError: The version is empty or ``0``, from which a watch cannot be resumed.
    """
    return ResumingWatch(client, resource, resource_version, **options)
