"""Runners: start and end the consumer of a mailbox: a thread, a task, or callbacks of the loop.

A consumer exists only while there are changes to deliver (a thread waits a little longer), so an
idle handler needs no thread. A registration has at most one consumer at any time: calls never
overlap, even if a handler blocks while its informer stops and starts again.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any

from kinform._runtime import wake
from kinform.informers._changes import Change
from kinform.informers.dispatch._mailbox import Item, Mailbox
from kinform.informers.dispatch._stall_monitor import StallMonitor
from kinform.informers.dispatch._started_coroutine import StartedCoroutine
from kinform.informers.dispatch._task_switch import TaskSwitch, task_switch_for

_log = logging.getLogger("kinform.dispatch")

_LINGER = 10.0

# A handler that never awaits must yield to the loop now and then.
_TURN_ITEMS = 50
_TURN_SECONDS = 0.002


def runs_here(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether the calling thread is running this loop."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


class Runner(ABC):
    """Starts a consumer when there are items to deliver. Thread-safe.

    Attributes:
        run_inline: Like ``notify``, but delivers directly if possible; call it on the loop's
            thread without holding a lock. ``None`` if the runner cannot deliver inline.
    """

    run_inline: Callable[[], None] | None = None

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._lock = threading.Lock()
        self._is_allowed = False
        self._is_active = False
        self._ended: list[Callable[[], None]] = []

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Allow consumption from now on."""
        self._set_loop(loop)
        with self._lock:
            self._is_allowed = True
        self.notify()

    def notify(self) -> None:
        """Note that items were put into the mailbox. Call it after the put, so none is missed."""
        with self._lock:
            if not self._is_allowed:
                return
            if self._is_active:
                self._wake()
                return
            if not self._mailbox:
                return
            self._is_active = True
        self._launch()

    def halt(self, ended: Callable[[], None]) -> None:
        """Stop delivery; ``ended`` is called when no callback is running any more."""
        with self._lock:
            self._is_allowed = False
            if self._is_active:
                self._ended.append(ended)
                self._wake()
                return
        ended()

    def cancel(self) -> None:  # noqa: B027 - optional: threads cannot be cancelled
        """Interrupt the running callback if possible. Call it on the loop's thread."""

    def join(self) -> None:  # noqa: B027 - optional: tasks leave nothing to join
        """Wait for the remains of an ended consumer. Call it after ``ended``."""

    def _end(self) -> None:
        """Note that the consumer has ended."""
        with self._lock:
            ended = self._release()
        for callback in ended:
            callback()

    def _release(self) -> list[Callable[[], None]]:
        """Permit another consumer and return the callbacks to call. Requires the lock."""
        self._is_active = False
        ended, self._ended = self._ended, []
        return ended

    @abstractmethod
    def _launch(self) -> None:
        """Start a consumer, which must call ``_end`` in any case."""

    def _set_loop(self, loop: asyncio.AbstractEventLoop) -> None:  # noqa: B027 - optional: for tasks
        """Remember the informer's loop, for runners that need one."""

    def _wake(self) -> None:  # noqa: B027 - optional
        """Wake a waiting consumer. Requires the lock."""


class CallbackRunner(Runner):
    """Calls ``def`` handlers on the informer's loop, in callbacks like those of ``call_soon``.

    ``run_inline`` calls them where the change arrives. Either way they run in the context of their
    registration, with no current task, and only for a short turn: then the loop does other work.
    """

    def __init__(self, mailbox: Mailbox, invoke: Callable[[Item], None], *, name: str) -> None:
        super().__init__(mailbox)
        self._invoke = invoke
        self._stalls = StallMonitor(name)
        self._context = copy_context()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run_inline(self) -> None:
        # Scheduled, or the caller's caller; it ends on this thread only, after another look.
        if self._is_active or not self._mailbox:
            return
        if asyncio.current_task() is not None:
            self.notify()
            return
        with self._lock:
            if not self._is_allowed:
                return
            self._is_active = True
        self._context.run(self._run)

    def _set_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def _launch(self) -> None:
        assert self._loop is not None
        soon = self._loop.call_soon if runs_here(self._loop) else self._loop.call_soon_threadsafe
        try:
            soon(self._run, context=self._context)
        except RuntimeError:  # the loop is closed
            self._end()

    def _run(self) -> None:
        """Deliver items for one turn."""
        take, invoke, stalls = self._mailbox.take, self._invoke, self._stalls
        items, since = 0, time.monotonic()
        before = since
        while self._is_allowed and (item := take()) is not None:
            invoke(item)
            now = time.monotonic()
            if now - before >= stalls.limit and isinstance(item, Change):
                stalls.report(item, now - before)
            before = now
            items += 1
            if items >= _TURN_ITEMS or now - since > _TURN_SECONDS:
                break
        with self._lock:
            if has_more := self._is_allowed and bool(self._mailbox):
                ended = []
            else:
                ended = self._release()
        if has_more:
            self._launch()
        for callback in ended:
            callback()


class ThreadRunner(Runner):
    """Runs ``def`` handlers on a daemon thread, which ends after ``linger`` idle seconds."""

    def __init__(
        self,
        mailbox: Mailbox,
        invoke: Callable[[Item], None],
        *,
        name: str,
        linger: float = _LINGER,
    ) -> None:
        super().__init__(mailbox)
        self._invoke = invoke
        self._name = name
        self._linger = linger
        self._is_waiting = False
        self._more = threading.Condition(self._lock)
        self._last: threading.Thread | None = None

    def join(self) -> None:
        # The thread has reported its end; only a few instructions are left.
        if self._last is not None:
            self._last.join(timeout=0.2)

    def _launch(self) -> None:
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._last = thread
        try:
            thread.start()
        except RuntimeError:
            # Too many threads, or the interpreter is exiting. Items stay pending until notify().
            _log.exception("cannot start a thread for handler %s", self._name)
            self._last = None
            self._end()

    def _run(self) -> None:
        take, invoke = self._mailbox.take, self._invoke
        while True:
            while self._is_allowed and (item := take()) is not None:
                invoke(item)
            if not self._wait():
                return

    def _wait(self) -> bool:
        """Wait for items; return false if this thread must end, as decided under the lock."""
        with self._more:
            if self._is_allowed and not self._mailbox:
                self._is_waiting = True
                self._more.wait(self._linger)
                self._is_waiting = False
            if self._is_allowed and self._mailbox:
                return True
            ended = self._release()
        for callback in ended:
            callback()
        return False

    def _wake(self) -> None:
        if self._is_waiting:
            self._more.notify()


class TaskRunner(Runner):
    """Runs ``async def`` handlers in one task on the informer's loop, from the first change on.

    The task waits between changes: a new task for each would take three iterations of the loop
    instead of one. If a handler cancels its own task, the next change starts another one.

    While the task waits, ``run_inline`` runs the handler in the context of that task, up to the
    first await that blocks. Most handlers never block, which saves one iteration of the loop (4 %
    of the CPU of an event, benchmarks/bench_beside.py). Otherwise the handler continues in the
    task. On loops that do not support this, the task is woken.
    """

    def __init__(
        self, mailbox: Mailbox, invoke: Callable[[Item], Coroutine[Any, Any, None]], *, name: str
    ) -> None:
        super().__init__(mailbox)
        self._invoke = invoke
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._context: Context | None = None
        self._switch: TaskSwitch | None = None
        self._more: asyncio.Future[None] | None = None
        self._is_inline = False
        self._suspended: StartedCoroutine | None = None
        self._was_interrupted = False

    def cancel(self) -> None:
        if self._task is not None:
            self._was_interrupted = True
            self._task.cancel()

    def _set_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def _launch(self) -> None:
        assert self._loop is not None
        # Never directly: the loop may start tasks eagerly, and the caller may hold a lock.
        soon = self._loop.call_soon if runs_here(self._loop) else self._loop.call_soon_threadsafe
        try:
            soon(self._begin)
        except RuntimeError:
            # The loop is closed, and all its tasks have ended.
            self._end()

    def _begin(self) -> None:
        assert self._loop is not None
        if self._loop.get_task_factory() is None:
            self._context = copy_context()
            task = self._loop.create_task(self._run(), name=self._name, context=self._context)
            self._switch = task_switch_for(self._loop, task)
        else:
            # A custom task factory may not accept a context; then there is no inline delivery.
            task = self._loop.create_task(self._run(), name=self._name)
            self._context = self._switch = None
        self._task = task
        task.add_done_callback(self._done)

    async def _run(self) -> None:
        assert self._loop is not None
        take, invoke = self._mailbox.take, self._invoke
        while True:
            items, since = 0, time.monotonic()
            while self._is_allowed and (item := take()) is not None:
                await invoke(item)
                items += 1
                if items >= _TURN_ITEMS or time.monotonic() - since > _TURN_SECONDS:
                    await asyncio.sleep(0)
                    items, since = 0, time.monotonic()
            with self._lock:
                if not self._is_allowed:
                    return
                if self._mailbox:
                    continue
                # A notify() after the check of the mailbox finds this future.
                more = self._more = self._loop.create_future()
            try:
                await more
            except asyncio.CancelledError:
                if self._suspended is None:
                    raise
                self._suspended.cancel()
            finally:
                self._more = None
            if self._suspended is not None:
                suspended, self._suspended = self._suspended, None
                await suspended

    def run_inline(self) -> None:
        if self._is_inline:
            return  # called by a handler that runs inline; the loop below looks for more items
        more = self._more
        loop, task, context, switch = self._loop, self._task, self._context, self._switch
        if (
            more is None
            or more.done()
            or loop is None
            or task is None
            or context is None
            or switch is None
            or asyncio.current_task() is not None
        ):
            if self._mailbox:
                self.notify()
            return
        switch.enter(loop, task)
        self._is_inline = True
        try:
            context.run(self._deliver_inline)
        finally:
            self._is_inline = False
            switch.leave(loop, task)
        if (self._suspended is not None or self._mailbox) and not more.done():
            more.set_result(None)

    def _deliver_inline(self) -> None:
        """Deliver items for one turn, or until a handler blocks."""
        take, invoke = self._mailbox.take, self._invoke
        items, since = 0, time.monotonic()
        while self._is_allowed and (item := take()) is not None:
            call = invoke(item)
            try:
                self._suspended = StartedCoroutine(call, call.send(None))
                return
            except StopIteration:
                pass
            except BaseException as error:  # cancellation or an exit exception
                self._suspended = StartedCoroutine.failed(error)
                return
            items += 1
            if items >= _TURN_ITEMS or time.monotonic() - since > _TURN_SECONDS:
                return

    def _wake(self) -> None:
        more = self._more  # read once: the task may stop waiting at any time
        if more is not None:
            wake(more)

    def _done(self, task: asyncio.Task[None]) -> None:
        # A callback, because a task cancelled before its first step runs none of its own code.
        interrupted, self._was_interrupted = self._was_interrupted, False
        self._task = None
        self._end()
        if not task.cancelled():
            task.exception()  # an exit exception, which the loop raises itself
        if interrupted or not task.cancelled():
            # For items put after the last check. A task cancelled from outside means the loop ends.
            self.notify()
