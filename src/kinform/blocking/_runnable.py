"""Blocking ``start``, ``stop``, ``run`` and ``with`` for objects that run on an event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self

from kinform._runtime import Lifecycle, Runnable
from kinform.blocking._facade import BlockingFacade, ForwardedAttribute, direct_method
from kinform.blocking._owner import Owner
from kinform.blocking._source import ListWatch
from kinform.errors import AlreadyStartedError
from kinform.informers import Latch

logger = logging.getLogger("kinform.blocking")


class RunnableFacade(BlockingFacade):
    """Base class of objects that run in the background. ``with`` starts and stops them.

    Keep a reference to the object: without one, it stops.
    """

    _inner: Runnable

    name = ForwardedAttribute[str]()
    was_started = ForwardedAttribute[bool]()
    is_running = ForwardedAttribute[bool]()
    is_stopped = ForwardedAttribute[bool]()
    has_failed = ForwardedAttribute[bool]()
    stopped = ForwardedAttribute[Latch]()
    running_for = ForwardedAttribute[float]()

    stop = direct_method(Runnable.stop)

    def start(self) -> None:
        """Start in the background, on the loop thread. May be called again after a stop.

        Raises:
            AlreadyStartedError: It is running.
        """
        self._owner.call(self._inner.start)

    def run(self) -> None:
        """Start, and return when it has been stopped by another thread, a handler or Ctrl-C.

        Raises:
            AlreadyStartedError: It is already running.
        """
        self._owner.run(self._inner.run())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._owner.run_if_open(self._inner.__aexit__(kind, error, trace))


class BackgroundTask(Runnable):
    """A coroutine that runs once and ends by itself only if it fails.

    Args:
        name: The name used in errors and logs.
        work: Runs until it is cancelled.
    """

    def __init__(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        super().__init__(Lifecycle(name, self._run, prepare=self._require_never_started))
        self._work = work
        self._failure: BaseException | None = None

    def _require_never_started(self) -> None:
        if self.was_started:
            raise AlreadyStartedError(f"{self.name} has already run; create another one")

    async def _run(self) -> None:
        try:
            await self._work()
        except asyncio.CancelledError:
            logger.debug("%s stops", self.name)
        except BaseException as failure:  # re-raised on the thread that waits for it
            self._failure = failure
            logger.debug("%s failed", self.name, exc_info=True)

    async def run(self) -> None:
        await super().run()
        if self._failure is not None:
            raise self._failure

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await super().__aexit__(kind, error, trace)
        if self._failure is not None and error is None:
            raise self._failure


def owner_of(runnable: Runnable, sources: Sequence[ListWatch[Any]], *, instead: str) -> Owner:
    """Return the owner of ``runnable``, which uses the loop thread of its sources."""
    return Owner(
        partial(stop_and_wait, runnable),
        name=f"the blocking {instead} {runnable.name}".rstrip(),
        instead=f"kinform.informers.{instead}",
        loop=sources[0]._owner.loop,
        needs=[source._owner for source in sources],
    )


async def stop_and_wait(runnable: Runnable) -> None:
    """Stop an object, and return when it has stopped."""
    runnable.stop()
    if runnable.is_running:
        await runnable.stopped
