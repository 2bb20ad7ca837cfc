"""What runs on a loop in; ``start``, ``stop``, ``run`` and ``with``, for plain code, out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self

from kinform._runtime import Lifecycle
from kinform.blocking._facade import BlockingFacade, ForwardedAttribute, direct_method, loop_method
from kinform.blocking._owned import Owned
from kinform.blocking._source import ListWatch
from kinform.errors import AlreadyStartedError
from kinform.informers import Latch

logger = logging.getLogger("kinform.blocking")


class Runs(BlockingFacade):
    """Base of what can be started, in the background, and stopped. ``with`` does both.

    Hold on to it: when nobody does, it stops.
    """

    _inner: Lifecycle

    name = ForwardedAttribute[str]()
    was_started = ForwardedAttribute[bool]()
    is_running = ForwardedAttribute[bool]()
    is_stopped = ForwardedAttribute[bool]()
    stopped = ForwardedAttribute[Latch]()
    running_for = ForwardedAttribute[float]()

    start = loop_method(Lifecycle.start)
    stop = direct_method(Lifecycle.stop)

    def run(self) -> None:
        """Start, and return when it has stopped: another thread stops it, a handler, or Ctrl-C.

        Raises:
            AlreadyStartedError: It runs.
        """
        self._owned.run(self._inner.run())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._owned.run_if_open(self._inner.__aexit__(kind, error, trace))


class Background(Lifecycle):
    """Work that is one coroutine, and ends by itself only if it fails; runs once.

    Args:
        name: What it is called.
        work: Runs until it is cancelled.
    """

    def __init__(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        super().__init__(name)
        self._work = work
        self._failure: BaseException | None = None

    def _before_start(self) -> None:
        if self.was_started:
            raise AlreadyStartedError(f"{self.name} ran before; make another one")

    async def _live(self) -> None:
        try:
            await self._work()
        except asyncio.CancelledError:
            logger.debug("%s stops", self.name)
        except BaseException as failure:  # somebody waits for it, on another thread
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


def owned_by(running: Lifecycle, sources: Sequence[ListWatch[Any]], *, instead: str) -> Owned:
    """Its life, on the loop thread of its sources, which it keeps alive."""
    return Owned(
        partial(_end, running),
        name=f"the blocking {instead} {running.name}".rstrip(),
        instead=f"kinform.informers.{instead}",
        loop=sources[0]._owned.loop,
        needs=[source._owned for source in sources],
    )


async def _end(running: Lifecycle) -> None:
    running.stop()
    if running.is_running:
        await running.stopped
