"""Workers: take keys from the queue, reconcile them, and queue them again as the result says."""

from __future__ import annotations

import asyncio
import contextlib
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
# The delay of a retry if the rate limiter fails.
_WITHOUT_LIMITER = 1.0


class Worker(Generic[K]):
    """Reconciles one key at a time.

    Args:
        queue: The keys.
        caller: Calls the reconciler.
        environment: What reconciles may use.
        stats: Counts the outcomes.
        metrics: Receives each outcome.
        timeout: Seconds that a reconcile may take; ``None`` without limit.
        is_cancelled: Whether the workers are being cancelled, and not only a reconcile.

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
        is_cancelled: Callable[[], bool],
    ) -> None:
        self._queue = queue
        self._caller = caller
        self._environment = environment
        self._stats = stats
        self._metrics = metrics
        self._timeout = timeout
        self._is_cancelled = is_cancelled
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
                if (task := asyncio.current_task()) is not None and task.cancelling():
                    await self._settle(task)
            finally:
                queue.done(key)
            now = time.monotonic()
            if now - turn_began > _TURN:
                await asyncio.sleep(0)
                turn_began = time.monotonic()

    async def _settle(self, task: asyncio.Task[Any]) -> None:
        """End this worker if it was cancelled while the reconciler did not let it through.

        A reconciler that cancelled itself does not end its worker.
        """
        if self._is_cancelled():
            raise asyncio.CancelledError
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)  # a cancellation that was not delivered yet
        while task.cancelling():
            task.uncancel()

    async def _reconcile(self, key: K) -> None:
        queue, stats = self._queue, self._stats
        context = Context(
            self._environment, key, queue.num_requeues(key) + 1, queue.priority_of(key)
        )
        began = stats.active[key] = time.monotonic()
        try:
            outcome = self._apply(context, await self._call(context))
        except TerminalError as error:
            outcome = self._end(context, _text(error))
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or (task.cancelling() and self._is_cancelled()):
                # For the next leader, or the next start.
                queue.add(key, priority=context.priority)
                raise
            # The workers go on: the reconciler awaited something cancelled, or cancelled itself.
            outcome = self._fail(context, error)
        except (KeyboardInterrupt, SystemExit, GeneratorExit) as error:
            # An exit: counted and logged, but it ends the program, as it should.
            self._fail(context, error)
            raise
        except BaseException as error:
            outcome = self._fail(context, error)
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
            raise ReconcileTimeoutError(
                f"it took longer than {self._timeout:g} s and was cancelled"
            ) from error
        finally:
            # Also if the reconciler returned something, or raised another error, when cancelled.
            if deadline.expired():
                self._stats.timeouts += 1
                self._metrics.reconcile_timed_out(self._environment.name)

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
        key = context.request
        self._retry(context)
        text = f"{type(error).__name__}: {_text(error)}"
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

    def _retry(self, context: Context[K]) -> None:
        queue, key = self._queue, context.request
        try:
            queue.add(key, rate_limited=True, priority=context.priority)
        except Exception:  # of the user's rate limiter
            _log.exception(
                "%s: its rate limiter failed, so %s is tried again in %g s",
                context.controller,
                key,
                _WITHOUT_LIMITER,
            )
            queue.add(key, after=_WITHOUT_LIMITER, priority=context.priority)


def _text(error: BaseException) -> str:
    """Return the message of an error, whose class may be broken."""
    try:
        return str(error)
    except Exception as broken:
        return f"(its text cannot be read: {type(broken).__name__})"


def _priority(result: Any, context: Context[Any]) -> int:
    priority: int = context.priority if result.priority is None else result.priority
    return priority
