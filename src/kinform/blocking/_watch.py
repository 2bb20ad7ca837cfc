"""One open watch, for plain code: the iteration waits on the loop thread."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from kinform.blocking._doors import Doors
from kinform.blocking._owned import Owned
from kinform.client import Watch as AsyncWatch
from kinform.client import WatchEvent
from kinform.objects import Handle

P = ParamSpec("P")
T = TypeVar("T", bound=Handle)


class Watch(Generic[T]):
    """A single watch request; it does not reconnect (an informer does).

        with client.watch(pods) as watch:
            for event in watch: ...

    Leaving the block drops the connection at once, and wakes a thread that waits for the next
    event. The iteration ends when the server ends the watch cleanly, and raises what that of
    ``kinform.Watch`` raises. An interrupted read takes the connection with it.
    """

    def __init__(self, inner: AsyncWatch[T], owned: Owned) -> None:
        self._inner = inner
        self._owned = owned

    def __enter__(self) -> Self:
        self._owned.run(self._inner.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._owned.run_if_open(self._inner.__aexit__(kind, error, trace))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> WatchEvent[T]:
        try:
            return self._owned.run(self._inner.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None


def watch_door(
    method: Callable[Concatenate[Any, P], AsyncWatch[T]],
) -> Callable[Concatenate[Doors, P], Watch[T]]:
    """The same watch, to be read without ``await``."""

    @functools.wraps(method)
    def call(self: Doors, /, *args: P.args, **options: P.kwargs) -> Watch[T]:
        return Watch(method(self._inner, *args, **options), self._owned)

    return call
