"""A coroutine in, its result out, and all the time it slept through not waited for."""

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
    """An event loop whose clock jumps to the next timer as soon as nothing else is ready.

    Ten minutes of backoff pass in less than a millisecond, in the order in which they would have
    passed. The clock starts at 0 and stands still while anything on the loop can run.

    Threads and sockets do not hold it back: what they take real time for takes no time here, so
    a timeout on them runs out at once. Test those on a real loop.

    When there is no timer either, only another thread or a socket can bring news. They are given
    ``patience`` seconds of real time; after that the loop ends with a StateError that says where
    each task waits, where a real one would hang.

    In a folder of tests that pytest-asyncio (1.4 or later) runs, this in its ``conftest.py`` puts
    every coroutine test and fixture on such a loop::

        def pytest_asyncio_loop_factories(config, item):
            return {"virtual": VirtualTimeLoop}
    """

    def __init__(self, *, patience: float = 1.0) -> None:
        self._clock = _JumpingSelector(patience)
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        # Later Pythons set a timer for it, and that would run out at once.
        no_timer = (None,) if sys.version_info >= (3, 12) else ()
        await super().shutdown_default_executor(*no_timer)


class _JumpingSelector(selectors.DefaultSelector):
    """Instead of sleeping until the next timer, it moves the clock there."""

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
            raise StateError(_where_they_wait(self._patience))
        return events


def run_virtual(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a ``VirtualTimeLoop`` of its own.

    Raises:
        StateError: It waits for what cannot happen any more.
    """
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(work)


def virtual_time(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make a coroutine function a plain one that runs in virtual time: a decorator for tests.

        @virtual_time
        async def test_it_gives_up_after_ten_minutes() -> None: ...

    It may take fixtures, but none that are coroutines: those would be of another loop.
    """

    @functools.wraps(test)
    def run(*args: P.args, **options: P.kwargs) -> T:
        return run_virtual(test(*args, **options))

    return run


def _where_they_wait(patience: float) -> str:
    places = sorted(map(_place, asyncio.all_tasks()))
    return (
        f"nothing is ready, no timer is set, and no other thread called within {patience:g} s, so "
        f"nobody will ever wake {'; '.join(places) or 'this loop'}"
    )


def _place(task: asyncio.Task[Any]) -> str:
    """The task, and the innermost of its coroutines: the one that really waits."""
    frame = None
    waiting: object = task.get_coro()
    while (inner := getattr(waiting, "cr_frame", None)) is not None:
        frame, waiting = inner, getattr(waiting, "cr_await", None)
    if frame is None:
        return task.get_name()
    code = frame.f_code
    return f"{task.get_name()} in {code.co_qualname} ({code.co_filename}:{frame.f_lineno})"
