"""Leases of shared informers: each caller's own claim to an informer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

from kinform._runtime import Latch
from kinform.api import GVR
from kinform.errors import AlreadyStoppedError
from kinform.informers._lister import Lister
from kinform.informers._read_guard import UnsyncedReads
from kinform.informers._shared_informer import SharedIndexInformer
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)


class ResourceInformer(Generic[T]):
    """A caller's lease of a shared informer, with a lister over its store.

        async with factory.for_resource("v1/pods") as pods:     # start ... release
            await pods.informer.has_synced
            print(pods.lister.list())

    The informer runs until its last lease is released. A lease that is dropped without a release
    ends when the factory is shut down.

    Attributes:
        resource: The resource.
        informer: The informer, shared with all equal requests.
        lister: Reads the informer's store.
    """

    def __init__(
        self,
        resource: GVR,
        informer: SharedIndexInformer[T],
        *,
        start: Callable[[], None],
        release: Callable[[], Latch | None],
        is_ended: Callable[[], bool],
        unsynced_reads: UnsyncedReads = "warn",
    ) -> None:
        self.resource = resource
        self.informer = informer
        self.lister: Lister[T] = Lister(
            informer.indexer,
            informer.form,
            resource.resource,
            informer=informer,
            unsynced_reads=unsynced_reads,
        )
        self._start = start
        self._release = release
        self._is_ended = is_ended
        self._is_released = False
        self._lock = threading.Lock()

    def release(self) -> None:
        """End this lease; others are not affected. Idempotent and thread-safe.

        The informer stops with its last lease.
        """
        self._end()

    async def close(self) -> None:
        """End this lease, and wait for the informer if it stops."""
        stopped = self._end()
        if stopped is not None:
            await stopped

    @property
    def is_released(self) -> bool:
        """Whether the lease has ended: released, or ended by a shutdown or a removal."""
        return self._is_released or self._is_ended()

    def _end(self) -> Latch | None:
        with self._lock:
            if self._is_released:
                return None
            self._is_released = True
        return self._release()

    async def __aenter__(self) -> Self:
        """Start the informer, unless it is running. Raises AlreadyStoppedError after a release."""
        if self.is_released:
            raise AlreadyStoppedError(
                f"the lease of {self.informer.name} has been released; request another one"
            )
        self._start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<ResourceInformer {self.informer!r}{' released' if self.is_released else ''}>"
