"""Coroutine methods in, plain methods of the same name, signature and result out."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any, Concatenate, ParamSpec, TypeVar

from kinform.blocking._owned import Owned

P = ParamSpec("P")
R = TypeVar("R")


class Doors:
    """Base of what stands before an async object.

    Args:
        inner: The object itself, or a part of it.
        owned: Its life.
    """

    def __init__(self, inner: Any, owned: Owned) -> None:
        self._inner = inner
        self._owned = owned


def door(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Doors, P], R]:
    """The same method, run on the loop thread while the caller waits."""

    @functools.wraps(method)
    def call(self: Doors, /, *args: P.args, **options: P.kwargs) -> R:
        return self._owned.run(method(self._inner, *args, **options))

    return call


def iterator_door(
    method: Callable[Concatenate[Any, P], AsyncGenerator[R, None]],
) -> Callable[Concatenate[Doors, P], Generator[R, None, None]]:
    """The same iteration, each step of it run on the loop thread while the caller waits."""

    @functools.wraps(method)
    def call(self: Doors, /, *args: P.args, **options: P.kwargs) -> Generator[R, None, None]:
        return iterate(self._owned, method(self._inner, *args, **options))

    return call


def iterate(owned: Owned, items: AsyncGenerator[R, None]) -> Generator[R, None, None]:
    """What the generator yields; it is closed when the iteration is left."""

    async def step() -> R | _End:
        return await anext(items, _END)

    async def leave() -> None:
        with suppress(RuntimeError):  # it runs, and ends with the step that was interrupted
            await items.aclose()

    try:
        while not isinstance(item := owned.run(step()), _End):
            yield item
    finally:
        # Not waited for: a collector may have come for this, on any thread.
        owned.loop.spawn(leave)


class _End:
    pass


_END = _End()
