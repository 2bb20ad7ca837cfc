"""Handlers that use asyncio: which are found, and which are not mistaken for them."""

from __future__ import annotations

import asyncio
import functools
import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kinform.informers.dispatch._asyncio_use import find_asyncio_object, is_asyncio_error

GLOBAL_EVENT = asyncio.Event()


class Worker:
    def __init__(self) -> None:
        self.queue: asyncio.Queue[object] = asyncio.Queue()
        self.names: queue.Queue[object] = queue.Queue()

    def on_add(self, obj: object) -> None:
        self.queue.put_nowait(obj)

    def on_update(self, obj: object) -> None:
        self.names.put(obj)

    def __call__(self, obj: object) -> None:
        self.queue.put_nowait(obj)


class Slotted:
    __slots__ = ("queue",)

    def on_add(self, obj: object) -> None:
        self.queue.put_nowait(obj)  # type: ignore[attr-defined]


def sets_global(_obj: object) -> None:
    GLOBAL_EVENT.set()


def _users() -> dict[str, Callable[[Any], object]]:
    items: asyncio.Queue[object] = asyncio.Queue()
    worker = Worker()
    done: asyncio.Future[object] = asyncio.Future(loop=asyncio.new_event_loop())
    done.get_loop().close()

    def put_all(objects: list[object]) -> None:
        def put(obj: object) -> None:
            items.put_nowait(obj)

        for obj in objects:
            put(obj)

    return {
        "Queue 'items'": lambda obj: items.put_nowait(obj),
        "an asyncio.Queue": items.put_nowait,
        "asyncio.Queue 'items'": put_all,
        "asyncio.Event 'GLOBAL_EVENT'": sets_global,
        "asyncio.Queue 'queue'": worker.on_add,
        "Queue 'queue'": worker,
        "'queue'": lambda obj: worker.queue.put_nowait(obj),
        "asyncio.Queue": functools.partial(asyncio.Queue.put_nowait, items),
        "an asyncio.Future": done.set_result,
    }


@pytest.mark.parametrize(("expected", "callback"), _users().items(), ids=list(_users()))
def test_an_asyncio_object_is_found(expected: str, callback: Callable[[Any], object]) -> None:
    """18.24: what the classic handlers use, whether it is captured, bound or global."""
    assert expected in (find_asyncio_object(callback) or "nothing")


def test_what_is_safe_on_a_thread_is_not_reported() -> None:
    """18.24: thread-safe functions, queues of threads, and callables that cannot be inspected."""
    loop, items, names = asyncio.new_event_loop(), asyncio.Queue[object](), queue.Queue[object]()
    loop.close()

    callbacks: list[Callable[[Any], object]] = [
        lambda obj: loop.call_soon_threadsafe(items.put_nowait, obj),
        lambda obj: asyncio.run_coroutine_threadsafe(items.put(obj), loop),
        lambda obj: names.put(obj),
        names.put,
        Worker().on_update,
        Slotted().on_add,
        print,
        [].append,
        threading.Thread,
    ]
    assert [find_asyncio_object(each) for each in callbacks] == [None] * len(callbacks)


def test_errors_of_asyncio_on_a_thread_are_recognised() -> None:
    """18.24: no running loop, and the check of asyncio's debug mode."""

    def error_of(function: Callable[[], object]) -> BaseException:
        with pytest.raises(RuntimeError) as caught:
            function()
        return caught.value

    def fail() -> None:
        raise RuntimeError("of my own")

    assert is_asyncio_error(error_of(asyncio.get_running_loop))
    assert not is_asyncio_error(error_of(fail))
    assert not is_asyncio_error(ValueError("no running event loop"))


async def test_the_error_of_debug_mode_is_recognised() -> None:
    """18.24: in debug mode asyncio checks the thread itself."""
    loop = asyncio.get_running_loop()
    loop.set_debug(True)
    with pytest.raises(RuntimeError) as caught:
        await asyncio.to_thread(loop.call_soon, print)
    assert is_asyncio_error(caught.value)
