"""Workers: take keys from the queue, reconcile them, and queue them again as the result says."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from kinform.controllers._context import Context, Environment
from kinform.controllers._reconciler import ReconcileCaller
from kinform.controllers._results import After, Done, Retry, Terminal
from kinform.controllers._stats import Outcome, ReconcileStats
from kinform.errors import (
    ControllerError,
    LeadershipLostError,
    QueueClosedError,
    ReconcileTimeoutError,
    TerminalError,
)
from kinform.metrics import Metrics
from kinform.workqueue import WorkQueue

K = TypeVar("K", bound=Hashable)

_log = logging.getLogger("kinform.controllers")

# A reconciler that never awaits must leave the loop to others now and then.
_TURN = 0.005


class Worker(Generic[K]):
    """Reconciles one key at a time.

    Args:
        queue: The keys.
        caller: Calls the reconciler.
        environment: What reconciles may use.
        stats: Counts the outcomes.
        metrics: Receives each outcome.
        timeout: Seconds that a reconcile may take; ``None`` without limit.

    Attributes:
        is_idle: Whether it waits for a key, so that it can be cancelled without a loss.
    """

    def __init__(
        self,
        queue: WorkQueue[K],
        caller: ReconcileCaller,
        environment: Environment,
        *,
        stats: ReconcileStats,
        metrics: Metrics,
        timeout: float | None,
    ) -> None:
        self._queue = queue
        self._caller = caller
        self._environment = environment
        self._stats = stats
        self._metrics = metrics
        self._timeout = timeout
        self.is_idle = False

    async def run(self, is_stopping: Callable[[], bool]) -> None:
        """Work until ``is_stopping()``, until the queue is closed, or until cancelled.

        Raises:
            LeadershipLostError: The leadership is not valid any more.
        """
        queue, leadership = self._queue, self._environment.leadership
        turn_began = time.monotonic()
        while not is_stopping():
            self.is_idle = True
            try:
                key = await queue.get()
            except QueueClosedError:
                return
            finally:
                self.is_idle = False
            try:
                if leadership is not None and not leadership.is_valid:
                    queue.add(key, priority=queue.priority_of(key))
                    raise LeadershipLostError(
                        f"{self._environment.name} has lost its leadership, so it stops working"
                    )
                await self._reconcile(key)
            finally:
                queue.done(key)
            now = time.monotonic()
            if now - turn_began > _TURN:
                await asyncio.sleep(0)
                turn_began = time.monotonic()

    async def _reconcile(self, key: K) -> None:
        queue, stats = self._queue, self._stats
        context = Context(
            self._environment, key, queue.num_requeues(key) + 1, queue.priority_of(key)
        )
        began = stats.active[key] = time.monotonic()
        try:
            outcome = self._apply(context, await self._call(context))
        except TerminalError as error:
            outcome = self._end(context, str(error))
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                # For the next leader, or the next start.
                queue.add(key, priority=context.priority)
                raise
            # This task was not cancelled: the reconciler awaited something that was.
            outcome = self._fail(context, error)
        except Exception as error:
            outcome = self._fail(context, error)
        except BaseException as error:
            # An exit: counted and logged, but it ends the program, as it should.
            self._fail(context, error)
            raise
        finally:
            del stats.active[key]
        stats.outcomes[outcome] += 1
        self._metrics.reconciled(self._environment.name, outcome, time.monotonic() - began)

    async def _call(self, context: Context[K]) -> object:
        if self._timeout is None:
            return await self._caller.call(context)
        deadline = asyncio.timeout(self._timeout)
        try:
            async with deadline:
                return await self._caller.call(context)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            self._stats.timeouts += 1
            self._metrics.reconcile_timed_out(self._environment.name)
            raise ReconcileTimeoutError(
                f"it took longer than {self._timeout:g} s and was cancelled"
            ) from error

    def _apply(self, context: Context[K], result: object) -> Outcome:
        queue, key = self._queue, context.request
        if result is None or isinstance(result, Done):
            queue.forget(key)
            return Outcome.SUCCESS
        if isinstance(result, After):
            queue.forget(key)
            queue.add(key, after=result.seconds, priority=_priority(result, context))
            return Outcome.AFTER
        if isinstance(result, Retry):
            queue.add(key, rate_limited=True, priority=_priority(result, context))
            return Outcome.RETRY
        if isinstance(result, Terminal):
            return self._end(context, result.reason)
        return self._fail(
            context,
            ControllerError(
                f"the reconciler returned {result!r}; it may return None, Done(), After(seconds), "
                "Retry(reason) or Terminal(reason)"
            ),
        )

    def _end(self, context: Context[K], reason: str) -> Outcome:
        """Note a failure that is not tried again."""
        self._queue.forget(context.request)
        self._stats.failed(context.request, context.attempt, reason, is_terminal=True)
        _log.error(
            "%s: reconcile of %s failed and is not tried again until it changes: %s",
            context.controller,
            context.request,
            reason,
        )
        return Outcome.TERMINAL

    def _fail(self, context: Context[K], error: BaseException) -> Outcome:
        """Note a failure, and queue the key again with backoff."""
        queue, key = self._queue, context.request
        queue.add(key, rate_limited=True, priority=context.priority)
        text = f"{type(error).__name__}: {error}"
        self._stats.failed(key, context.attempt, text)
        # The traceback once for each series of failures: the others are most often the same.
        _log.error(
            "%s: reconcile of %s failed in attempt %d: %s",
            context.controller,
            key,
            context.attempt,
            text,
            exc_info=error if context.attempt == 1 else None,
        )
        return Outcome.ERROR


def _priority(result: Any, context: Context[Any]) -> int:
    priority: int = context.priority if result.priority is None else result.priority
    return priority
