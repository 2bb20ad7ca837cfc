"""A latch: an event that happens once, for threads and coroutines alike."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Generator

from kinform._checks import expect
from kinform._runtime._running_loop import running_loop
from kinform._runtime._waking import wake
from kinform.errors import AlreadyStoppedError, CacheSyncError, StateError

logger = logging.getLogger("kinform.informer")

# After this many seconds, a wait is logged, although it is not an error yet.
_LATE = 10.0


class Latch:
    """False until set, then true forever.

        if informer.has_synced: ...              # on any thread, at any time
        await informer.has_synced                # in a coroutine, on any loop
        informer.has_synced.wait(timeout=10)     # in a thread

    If the latch can never be set, waiting raises AlreadyStoppedError.

    Args:
        name: The condition it stands for, such as ``pods has synced``.
    """

    __slots__ = ("__weakref__", "_abandoned_because", "_callbacks", "_is_set", "_lock", "name")

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._is_set = False
        self._abandoned_because = ""
        # Reentrant: the garbage collector may run code that uses this latch on the same thread.
        self._lock = threading.RLock()
        self._callbacks: list[Callable[[], object]] = []

    def set(self) -> None:
        """Set the latch and wake all waiters. Idempotent and thread-safe."""
        with self._lock:
            if self._is_set:
                return
            self._is_set = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def give_up(self, why: str) -> None:
        """Declare that the latch will never be set: all waits raise AlreadyStoppedError.

        Does nothing if the latch is set. Thread-safe.
        """
        with self._lock:
            if self._is_set:
                return
            self._abandoned_because = why
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def __bool__(self) -> bool:
        return self._is_set

    def __await__(self) -> Generator[object, None, None]:
        if self._is_set:
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def wake_up() -> None:
            wake(done)

        if self._add_callback(wake_up):
            try:
                yield from done
            finally:
                self._remove_callback(wake_up)
        self._raise_if_abandoned()

    def wait(self, timeout: float | None = None) -> bool:
        """Block the thread until the latch is set. Returns ``False`` after ``timeout`` seconds.

        Raises:
            StateError: The thread runs an event loop, which would block; use ``await`` there.
            AlreadyStoppedError: The latch will never be set; the message says why.
        """
        if self._is_set:
            return True
        if running_loop() is not None:
            raise StateError(
                f"waiting for {self.name or 'a latch'} would block this thread's event loop; "
                "await it instead"
            )
        done = threading.Event()
        if self._add_callback(done.set):
            try:
                done.wait(timeout)
            finally:
                self._remove_callback(done.set)
        self._raise_if_abandoned()
        return self._is_set

    def __repr__(self) -> str:
        return f"<Latch {self.name!r} {'set' if self._is_set else 'not set'}>"

    def _add_callback(self, callback: Callable[[], object]) -> bool:
        """Register a callback; return false if there is nothing to wait for."""
        with self._lock:
            is_open = not (self._is_set or self._abandoned_because)
            if is_open:
                self._callbacks.append(callback)
            return is_open

    def _raise_if_abandoned(self) -> None:
        if self._abandoned_because and not self._is_set:
            raise AlreadyStoppedError(self._abandoned_because)

    def _remove_callback(self, callback: Callable[[], object]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)


async def wait_for(*latches: Latch, what: str = "", timeout: float | None = None) -> None:
    """Wait until all latches are set. After ten seconds, the missing ones are logged once.

    Raises:
        AlreadyStoppedError: A latch will never be set; the message says why.
        CacheSyncError: Some latches were not set within ``timeout`` seconds; the message names
            them.
        ConfigError: An argument is not a latch.
    """
    for latch in latches:
        expect(latch, Latch, receiver="wait_for", expected="latches such as informer.has_synced")
    purpose = f" of waiting for {what}" if what else ""
    reminder = asyncio.get_running_loop().call_later(_LATE, _log_late, latches, what)
    try:
        async with asyncio.timeout(timeout):
            for latch in latches:
                await latch
    except TimeoutError:
        # Check again: a latch may have been set at the last moment.
        late = _late(latches)
        if late:
            raise CacheSyncError(
                f"timed out after {timeout:g} s{purpose}; not set yet: {late}"
            ) from None
    finally:
        reminder.cancel()


def _late(latches: tuple[Latch, ...]) -> str:
    return ", ".join(sorted(latch.name or "a latch" for latch in latches if not latch))


def _log_late(latches: tuple[Latch, ...], what: str) -> None:
    if late := _late(latches):
        logger.info(
            "waiting%s for more than %g s; not set yet: %s",
            f" for {what}" if what else "",
            _LATE,
            late,
        )
