"""Blocking facades of async objects, with the same names, signatures and results."""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from kinform.blocking._owner import Owner

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


class BlockingFacade:
    """Base class of the blocking facades.

    Args:
        inner: The async object, or a part of it.
        owner: Controls the lifetime of the async object.
    """

    def __init__(self, inner: Any, owner: Owner) -> None:
        self._inner = inner
        self._owner = owner


class BlockingIterator(BlockingFacade, Generic[R]):
    """The blocking facade of an async iterator: each step waits for the loop thread.

    Threads may share it; each item goes to one of them.
    """

    def __init__(self, inner: Any, owner: Owner) -> None:
        super().__init__(inner, owner)
        # Holds an item that arrived while its caller was interrupted, for the next call.
        self._ahead: deque[R] = deque()
        # An interrupted step may still be running when the next one starts.
        self._stepping = asyncio.Lock()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> R:
        while True:
            with suppress(IndexError):
                return self._ahead.popleft()
            try:
                self._owner.run(self._step())
            except StopAsyncIteration:
                raise StopIteration from None

    async def _step(self) -> None:
        async with self._stepping:
            if not self._ahead:
                self._ahead.append(await self._inner.__anext__())


class ForwardedAttribute(Generic[R]):
    """An attribute that is read from and written to the async object, on any thread."""

    def __set_name__(self, owner: type[BlockingFacade], name: str) -> None:
        self._name = name

    def __get__(self, facade: BlockingFacade | None, owner: type[BlockingFacade]) -> R:
        if facade is None:
            return self  # type: ignore[return-value]  # only visible on the class itself
        value: R = getattr(facade._inner, self._name)
        return value

    def __set__(self, facade: BlockingFacade, value: R) -> None:
        setattr(facade._inner, self._name, value)


def _inner_method(
    method: Callable[Concatenate[Any, P], R], facade: BlockingFacade
) -> Callable[P, R]:
    """Return the method of the async object, which may override ``method``."""
    found: Callable[P, R] = getattr(facade._inner, method.__name__)
    return found


def direct_method(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[BlockingFacade, P], R]:
    """Forward a method that never waits; it runs on the calling thread."""

    @functools.wraps(method)
    def call(self: BlockingFacade, /, *args: P.args, **options: P.kwargs) -> R:
        return _inner_method(method, self)(*args, **options)

    return call


def blocking_method(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[BlockingFacade, P], R]:
    """Forward a coroutine method: it runs on the loop thread while the caller waits."""

    @functools.wraps(method)
    def call(self: BlockingFacade, /, *args: P.args, **options: P.kwargs) -> R:
        return self._owner.run(_inner_method(method, self)(*args, **options))

    return call


def loop_method(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[BlockingFacade, P], R]:
    """Forward a method that awaits nothing but must be called on the loop thread."""

    @functools.wraps(method)
    def call(self: BlockingFacade, /, *args: P.args, **options: P.kwargs) -> R:
        async def call_method() -> R:
            return _inner_method(method, self)(*args, **options)

        return self._owner.run(call_method())

    return call


def wrapping_method(
    method: Callable[Concatenate[Any, P], R], wrap: Callable[[R, Owner], S]
) -> Callable[Concatenate[BlockingFacade, P], S]:
    """Forward a method and wrap its result in a facade."""

    @functools.wraps(method)
    def call(self: BlockingFacade, /, *args: P.args, **options: P.kwargs) -> S:
        return wrap(_inner_method(method, self)(*args, **options), self._owner)

    return call


def iterate(items: AsyncGenerator[R, None], owner: Owner) -> Generator[R, None, None]:
    """Iterate over an async generator, and close it when the iteration ends."""

    async def step() -> R | _End:
        return await anext(items, _END)

    async def leave() -> None:
        with suppress(RuntimeError):  # it is running, and ends with the interrupted step
            await items.aclose()

    try:
        while not isinstance(item := owner.run(step()), _End):
            yield item
    finally:
        # Does not wait: the garbage collector may run this, on any thread.
        owner.loop.spawn(leave)


class _End:
    pass


_END = _End()
