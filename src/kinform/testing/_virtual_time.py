"""Virtual time for tests: an event loop that skips sleeps and timeouts instead of waiting."""

from __future__ import annotations

import asyncio
import functools
import selectors
import sys
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from kinform.errors import StateError

P = ParamSpec("P")
T = TypeVar("T")

Events = list[tuple[selectors.SelectorKey, int]]


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock advances to the next timer as soon as nothing else is ready.

    Ten minutes of backoff take less than a millisecond, with all timers in their usual order.
    The clock starts at 0 and does not advance while anything on the loop can run.

    The clock does not wait for threads and sockets: a timeout on them expires immediately. Test
    those on a real loop.

    Without any timer, only another thread or a socket can wake the loop. It waits ``patience``
    seconds of real time for them, then raises a StateError that shows where each task waits;
    a real loop would hang.

    With pytest-asyncio (1.4 or later), this hook in a ``conftest.py`` runs all coroutine tests and
    fixtures of its folder on such a loop::

        def pytest_asyncio_loop_factories(config, item):
            return {"virtual": VirtualTimeLoop}
    """

    def __init__(self, *, patience: float = 1.0) -> None:
        self._clock = _JumpingSelector(patience)
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        # Later Pythons set a timer for it, which would expire immediately.
        no_timer = (None,) if sys.version_info >= (3, 12) else ()
        await super().shutdown_default_executor(*no_timer)


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that advances the clock to the next timer instead of sleeping until then."""

    def __init__(self, patience: float) -> None:
        super().__init__()
        self.now = 0.0
        self._patience = patience

    def select(self, timeout: float | None = None) -> Events:
        events = super().select(0)
        if events or (timeout is not None and timeout <= 0):
            return events
        if timeout is not None:
            self.now += timeout
            return []
        events = super().select(self._patience)
        if not events:
            raise StateError(_describe_deadlock(self._patience))
        return events


def run_virtual(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to completion on a new ``VirtualTimeLoop``.

    Raises:
        StateError: The coroutine waits, and nothing is left that could wake it.
    """
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(work)


def virtual_time(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Run a coroutine test in virtual time, as a decorator that makes it a plain function.

        @virtual_time
        async def test_it_gives_up_after_ten_minutes() -> None: ...

    The test may use fixtures, except coroutine fixtures, which belong to another loop.
    """

    @functools.wraps(test)
    def run(*args: P.args, **options: P.kwargs) -> T:
        return run_virtual(test(*args, **options))

    return run


def _describe_deadlock(patience: float) -> str:
    places = sorted(map(_place, asyncio.all_tasks()))
    return (
        f"the loop would wait forever: nothing is ready, no timer is set, and no other thread "
        f"called within {patience:g} s; waiting: {'; '.join(places) or 'no task'}"
    )


def _place(task: asyncio.Task[Any]) -> str:
    """Describe the task and its innermost coroutine, which is the one that waits."""
    frame = None
    waiting: object = task.get_coro()
    while (inner := getattr(waiting, "cr_frame", None)) is not None:
        frame, waiting = inner, getattr(waiting, "cr_await", None)
    if frame is None:
        return task.get_name()
    code = frame.f_code
    return f"{task.get_name()} in {code.co_qualname} ({code.co_filename}:{frame.f_lineno})"
