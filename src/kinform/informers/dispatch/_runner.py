"""A mailbox in, calls of ``tell`` out: who runs a consumer, and when it begins and ends.

A consumer lives only while there is something to tell (a thread lingers a little), so an idle
handler costs no thread and no task. Per registration there is at most one at any time: calls never
overlap, not even when a handler is stuck while its informer stops and starts again.
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
from kinform.informers.dispatch._begun import Begun
from kinform.informers.dispatch._mailbox import Item, Mailbox

_log = logging.getLogger("kinform.dispatch")

_LINGER = 10.0

# A handler that never awaits must leave the loop to others now and then.
_TURN_ITEMS = 50
_TURN_SECONDS = 0.002


def runs_here(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether this thread is running that loop right now."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


class Runner(ABC):
    """Begins a consumer when there is need of one. Any thread.

    Attributes:
        run_inline: ``nudge``, on the loop's thread and with no lock held; for those who may then
            be told right here, ``None`` for others.
    """

    run_inline: Callable[[], None] | None = None

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._lock = threading.Lock()
        self._is_allowed = False
        self._is_active = False
        self._ended: list[Callable[[], None]] = []

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Consume from now on."""
        self._adopt(loop)
        with self._lock:
            self._is_allowed = True
        self.nudge()

    def nudge(self) -> None:
        """Something was put into the mailbox. Always after the putting, so none is overlooked."""
        with self._lock:
            if not self._is_allowed:
                return
            if self._is_active:
                self._rouse()
                return
            if not self._mailbox:
                return
            self._is_active = True
        self._launch()

    def halt(self, ended: Callable[[], None]) -> None:
        """Tell nothing more; ``ended`` is called when no callback runs any more."""
        with self._lock:
            self._is_allowed = False
            if self._is_active:
                self._ended.append(ended)
                self._rouse()
                return
        ended()

    def cancel(self) -> None:  # noqa: B027 - a thread cannot be cancelled, and that is all right
        """Interrupt the running callback, if that is possible. On the loop's thread."""

    def join(self) -> None:  # noqa: B027 - a task that has ended leaves nothing behind
        """After ``ended``: wait for what little is left."""

    def _end(self) -> None:
        """The consumer is over."""
        with self._lock:
            ended = self._resign()
        for tell in ended:
            tell()

    def _resign(self) -> list[Callable[[], None]]:
        """From here on another consumer may begin; these are to be called. Under the lock."""
        self._is_active = False
        ended, self._ended = self._ended, []
        return ended

    @abstractmethod
    def _launch(self) -> None:
        """Begin a consumer; it calls ``_end`` whatever happens."""

    def _adopt(self, loop: asyncio.AbstractEventLoop) -> None:  # noqa: B027 - a thread has no need of it
        """The loop that the informer runs on, for those who need one."""

    def _rouse(self) -> None:  # noqa: B027 - a task never sleeps: it ends
        """Wake the consumer if it sleeps. Under the lock."""


class ThreadRunner(Runner):
    """For ``def`` handlers: one daemon thread, which retires after ``linger`` idle seconds."""

    def __init__(
        self,
        mailbox: Mailbox,
        tell: Callable[[Item], None],
        *,
        name: str,
        linger: float = _LINGER,
    ) -> None:
        super().__init__(mailbox)
        self._tell = tell
        self._name = name
        self._linger = linger
        self._sleeps = False
        self._more = threading.Condition(self._lock)
        self._last: threading.Thread | None = None

    def join(self) -> None:
        # Its last act was to say so; this is about the few instructions after that.
        if self._last is not None:
            self._last.join(timeout=0.2)

    def _launch(self) -> None:
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._last = thread
        try:
            thread.start()
        except RuntimeError:
            # Too many threads, or Python is ending. What waits is told when a thread can be had.
            _log.exception("no thread for handler %s", self._name)
            self._last = None
            self._end()

    def _run(self) -> None:
        take, tell = self._mailbox.take, self._tell
        while True:
            while self._is_allowed and (item := take()) is not None:
                tell(item)
            if not self._wait():
                return

    def _wait(self) -> bool:
        """Whether there is more to do; if not, this thread is out, decided under the lock."""
        with self._more:
            if self._is_allowed and not self._mailbox:
                self._sleeps = True
                self._more.wait(self._linger)
                self._sleeps = False
            if self._is_allowed and self._mailbox:
                return True
            ended = self._resign()
        for tell in ended:
            tell()
        return False

    def _rouse(self) -> None:
        if self._sleeps:
            self._more.notify()


class TaskRunner(Runner):
    """For ``async def`` handlers: one task on the informer's loop, from the first change on.

    Between changes it waits: to begin another task each time takes the loop three turns instead
    of one. A handler that cancels its own task loses that task: another one begins with the next
    change.

    While it waits, ``run_inline`` runs the handler in its name up to where it first awaits
    something that is not there yet, and most handlers never do: then the loop need not turn once
    more for them (4 % of the CPU of an event, benchmarks/bench_beside.py). What is left of
    the handler goes on in the task.
    """

    def __init__(
        self, mailbox: Mailbox, tell: Callable[[Item], Coroutine[Any, Any, None]], *, name: str
    ) -> None:
        super().__init__(mailbox)
        self._tell = tell
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._context: Context | None = None
        self._more: asyncio.Future[None] | None = None
        self._is_telling_here = False
        self._begun: Begun | None = None
        self._was_interrupted = False

    def cancel(self) -> None:
        if self._task is not None:
            self._was_interrupted = True
            self._task.cancel()

    def _adopt(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def _launch(self) -> None:
        assert self._loop is not None
        # Never right here: a loop may begin tasks eagerly, and whoever nudges may hold a lock.
        soon = self._loop.call_soon if runs_here(self._loop) else self._loop.call_soon_threadsafe
        try:
            soon(self._begin)
        except RuntimeError:
            # The loop has ended, and with it everybody on it.
            self._end()

    def _begin(self) -> None:
        assert self._loop is not None
        if self._loop.get_task_factory() is None:
            self._context = copy_context()
            self._task = self._loop.create_task(self._run(), name=self._name, context=self._context)
        else:
            # Somebody's own, who need not know of contexts. Then it is woken for every change.
            self._context = None
            self._task = self._loop.create_task(self._run(), name=self._name)
        self._task.add_done_callback(self._done)

    async def _run(self) -> None:
        assert self._loop is not None
        take, tell = self._mailbox.take, self._tell
        while True:
            items, since = 0, time.monotonic()
            while self._is_allowed and (item := take()) is not None:
                await tell(item)
                items += 1
                if items >= _TURN_ITEMS or time.monotonic() - since > _TURN_SECONDS:
                    await asyncio.sleep(0)
                    items, since = 0, time.monotonic()
            with self._lock:
                if not self._is_allowed:
                    return
                if self._mailbox:
                    continue
                # Who nudges after our look at the mailbox finds us waiting.
                more = self._more = self._loop.create_future()
            try:
                await more
            except asyncio.CancelledError:
                if self._begun is None:
                    raise
                self._begun.cancel()
            finally:
                self._more = None
            if self._begun is not None:
                begun, self._begun = self._begun, None
                await begun

    def run_inline(self) -> None:
        if self._is_telling_here:
            return  # by a handler that is told right here: it is looked for more after it
        more = self._more
        loop, task, context = self._loop, self._task, self._context
        if (
            more is None
            or more.done()
            or loop is None
            or task is None
            or context is None
            or asyncio.current_task() is not None
        ):
            if self._mailbox:
                self.nudge()
            return
        asyncio.tasks._enter_task(loop, task)
        self._is_telling_here = True
        try:
            context.run(self._tell_here)
        finally:
            self._is_telling_here = False
            asyncio.tasks._leave_task(loop, task)
        if (self._begun is not None or self._mailbox) and not more.done():
            more.set_result(None)

    def _tell_here(self) -> None:
        """For one turn, or until a handler has to wait."""
        take, tell = self._mailbox.take, self._tell
        items, since = 0, time.monotonic()
        while self._is_allowed and (item := take()) is not None:
            telling = tell(item)
            try:
                self._begun = Begun(telling, telling.send(None))
                return
            except StopIteration:
                pass
            except BaseException as error:  # what ends the task, or the process
                self._begun = Begun.failed(error)
                return
            items += 1
            if items >= _TURN_ITEMS or time.monotonic() - since > _TURN_SECONDS:
                return

    def _rouse(self) -> None:
        more = self._more  # the task may be done waiting between two looks
        if more is not None:
            wake(more)

    def _done(self, task: asyncio.Task[None]) -> None:
        # A callback, for a task that is cancelled before its first step runs nothing of its own.
        interrupted, self._was_interrupted = self._was_interrupted, False
        self._task = None
        self._end()
        if not task.cancelled():
            task.exception()  # what ends the process; the loop raises that itself
        if interrupted or not task.cancelled():
            # For what came after the last look. If it was cancelled by others, the loop is ending.
            self.nudge()
