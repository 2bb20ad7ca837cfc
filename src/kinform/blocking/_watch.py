"""The blocking watch."""

from __future__ import annotations

from types import TracebackType
from typing import Self, TypeVar

from kinform.blocking._facade import BlockingIterator
from kinform.blocking._owner import Owner
from kinform.client import Watch as AsyncWatch
from kinform.client import WatchEvent
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)


class Watch(BlockingIterator[WatchEvent[T]]):
    """A single watch request; it does not reconnect (an informer does).

        with client.watch(pods) as watch:
            for event in watch: ...

    Leaving the block closes the connection at once and wakes a thread that waits for the next
    event. The iteration ends when the server ends the watch cleanly, and raises the same errors as
    ``kinform.Watch``. Interrupting a read closes the connection.
    """

    _inner: AsyncWatch[T]

    def __init__(self, inner: AsyncWatch[T], owner: Owner) -> None:
        super().__init__(inner, owner)

    def __enter__(self) -> Self:
        self._owner.run(self._inner.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._owner.run_if_open(self._inner.__aexit__(kind, error, trace))
