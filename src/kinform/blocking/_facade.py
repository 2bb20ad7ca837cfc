"""Async objects in; facade before them, with the same names, signatures and results, out."""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from kinform.blocking._owned import Owned

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


class BlockingFacade:
    """Base of what stands before an async object.

    Args:
        inner: The object itself, or a part of it.
        owned: Its life.
    """

    def __init__(self, inner: Any, owned: Owned) -> None:
        self._inner = inner
        self._owned = owned


class BlockingIterator(BlockingFacade, Generic[R]):
    """BlockingFacade before an async iterator: each step waits on the loop thread.

    Several threads may share it; each item goes to one of them.
    """

    def __init__(self, inner: Any, owned: Owned) -> None:
        super().__init__(inner, owned)
        # An item that came while the wait for it was interrupted is there at the next call.
        self._ahead: deque[R] = deque()
        # And a step that was interrupted may not have ended when the next one begins.
        self._stepping = asyncio.Lock()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> R:
        while True:
            with suppress(IndexError):
                return self._ahead.popleft()
            try:
                self._owned.run(self._step())
            except StopAsyncIteration:
                raise StopIteration from None

    async def _step(self) -> None:
        async with self._stepping:
            if not self._ahead:
                self._ahead.append(await self._inner.__anext__())


class ForwardedAttribute(Generic[R]):
    """An attribute of the object behind the facade: read and written there, by whatever thread."""

    def __set_name__(self, owner: type[BlockingFacade], name: str) -> None:
        self._name = name

    def __get__(self, facade: BlockingFacade | None, owner: type[BlockingFacade]) -> R:
        if facade is None:
            return self  # type: ignore[return-value]  # only who looks at the class sees it
        value: R = getattr(facade._inner, self._name)
        return value

    def __set__(self, facade: BlockingFacade, value: R) -> None:
        setattr(facade._inner, self._name, value)


def _own(method: Callable[Concatenate[Any, P], R], facade: BlockingFacade) -> Callable[P, R]:
    """The method as the object behind the facade has it, which may have one of its own."""
    found: Callable[P, R] = getattr(facade._inner, method.__name__)
    return found


def direct_method(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[BlockingFacade, P], R]:
    """The same method where the caller is: it waits for nothing."""

    @functools.wraps(method)
    def call(self: BlockingFacade, /, *args: P.args, **options: P.kwargs) -> R:
        return _own(method, self)(*args, **options)

    return call


def blocking_method(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[BlockingFacade, P], R]:
    """The same method, run on the loop thread while the caller waits."""

    @functools.wraps(method)
    def call(self: BlockingFacade, /, *args: P.args, **options: P.kwargs) -> R:
        return self._owned.run(_own(method, self)(*args, **options))

    return call


def loop_method(
    method: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[BlockingFacade, P], R]:
    """The same for a method that awaits nothing but wants to be called on the loop."""

    @functools.wraps(method)
    def call(self: BlockingFacade, /, *args: P.args, **options: P.kwargs) -> R:
        async def there() -> R:
            return _own(method, self)(*args, **options)

        return self._owned.run(there())

    return call


def wrapping_method(
    method: Callable[Concatenate[Any, P], R], front: Callable[[R, Owned], S]
) -> Callable[Concatenate[BlockingFacade, P], S]:
    """The same method; what it hands out is behind facade, too."""

    @functools.wraps(method)
    def call(self: BlockingFacade, /, *args: P.args, **options: P.kwargs) -> S:
        return front(_own(method, self)(*args, **options), self._owned)

    return call


def iterate(items: AsyncGenerator[R, None], owned: Owned) -> Generator[R, None, None]:
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
