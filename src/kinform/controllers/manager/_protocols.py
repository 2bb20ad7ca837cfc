"""What the manager requires of controllers, electors and recorders."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, runtime_checkable

from kinform._runtime import Latch
from kinform.controllers._cluster import Cluster
from kinform.controllers._recording import Recorder


@runtime_checkable
class ManagedController(Protocol):
    """A controller as the manager sees it; ``Controller`` is one.

    The manager calls ``warm_up`` once, ``work`` as often as it wins the election, and ``close`` at
    the end. If ``warm_up`` fails and the controller is not essential, it is closed and warmed up
    again.
    """

    @property
    def name(self) -> str: ...

    @property
    def needs_leader(self) -> bool: ...

    async def warm_up(self, cluster: Cluster, *, recorder: Any = None) -> None:
        """Start sources and queue, and return when the queue has the initial objects."""

    async def work(self, leadership: Any = None) -> None:
        """Reconcile until ``stop`` is called; if cancelled, interrupt running reconciles.

        Called again after it was cancelled, when the next election is won.
        """

    def stop(self) -> None:
        """Let workers finish their current key, and ``work`` return."""

    async def close(self) -> None:
        """Remove handlers and end sources; nothing is left afterwards."""

    def status(self) -> Any: ...

    def problems(self) -> tuple[str, ...]:
        """What is wrong; empty if it works."""
        ...


class ManagedElector(Protocol):
    """An elector as the manager sees it; ``LeaderElector`` is one."""

    @property
    def is_leader(self) -> bool: ...

    @property
    def leader(self) -> str: ...

    async def run(self, work: Callable[[Any], Awaitable[None]], *, again: bool = True) -> None:
        """Campaign, and run ``work`` while the lease is held.

        If it is lost, ``work`` is cancelled and has ended before the next campaign. Ends when
        ``work`` returns, after the lease was released.
        """

    def status(self) -> Any: ...

    def problems(self) -> tuple[str, ...]:
        """Why the process should be restarted; empty if it is healthy."""
        ...


class ManagedRecorder(Recorder, Protocol):
    """A recorder of events as the manager sees it; ``EventRecorder`` is one."""

    @property
    def is_running(self) -> bool: ...

    @property
    def stopped(self) -> Latch: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


@runtime_checkable
class RunnableObject(Protocol):
    """An object with a coroutine method ``run``, which ends when it is cancelled."""

    async def run(self) -> None: ...
