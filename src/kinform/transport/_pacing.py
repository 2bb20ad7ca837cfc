"""Decides whether a connection is read at once or left until more has come.

A server that streams a list sends each object as it is written, and a reader that is faster would
wake for every few of them: for 20 000 pods, half of the CPU went into waking up
(benchmarks/run.py --only sync). So while a list pours in, the system is asked to wait for more, but
never for longer than a few milliseconds. Changes are read at once, unless the user prefers to
have them a little later and at half the cost; what comes while the loop is busy is read together
anyway.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

# The flow is judged by what came in the last of these stretches of time.
_WINDOW = 0.05
# A list pours in at tens of megabytes a second.
_MUCH = 1 << 20
# Changes come one by one, hundreds a second.
_MANY_READS = 20
# What a connection reads at most in one go.
_WORTH_WAITING_FOR = 512 * 1024
# The longest that data of a list may lie in the socket for the sake of more.
_PATIENCE = 0.004

_LOW_WATER: int | None = getattr(socket, "SO_RCVLOWAT", None)


class Pacing:
    """Sets the low-water mark of one connection. Without effect where systems have none.

    Args:
        connection: The socket, or what asyncio shows of it; ``None`` if there is none.
        read: Reads what lies in the socket, if anything does, and reports it to ``read``. Without
            it the system is asked to report that, which takes the loop one turn more.
        latency: How long changes may lie in the socket for the sake of more, when hundreds a
            second come; 0 to read each at once.
    """

    def __init__(
        self,
        connection: Any,
        read: Callable[[], object] | None = None,
        *,
        latency: float = 0.0,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        self._read_now = read
        self._latency = latency
        # Waited for, changes come in at most one read for each latency: less than half of that
        # shows that they have ebbed away.
        self._still_many_reads = min(_MANY_READS, _WINDOW / latency / 2) if latency else 0.0
        self._window_ends = 0.0
        self._bytes = 0
        self._reads = 0
        self._is_busy = False
        self._is_patient = False
        self._until = 0.0
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def read(self, size: int) -> None:
        """So much was read in one go."""
        now = self._loop.time()
        if now >= self._window_ends:
            # What the last window was like counts until this one has shown itself.
            self._is_busy = self._was_busy() and now - self._window_ends < _WINDOW
            self._window_ends = now + _WINDOW
            self._bytes = self._reads = 0
        self._bytes += size
        self._reads += 1
        if not self._is_busy:
            if self._bytes < _MUCH and not (self._latency and self._reads >= _MANY_READS):
                return
            self._is_busy = True
        if self._connection is None or _LOW_WATER is None:
            return
        self._until = now + (self._latency or _PATIENCE)
        if not self._is_patient:
            self._set_patient(True)
        if self._timer is None:
            self._due = self._until
            self._timer = self._loop.call_at(self._due, self._look)

    def _was_busy(self) -> bool:
        if self._bytes >= _MUCH:
            return True
        enough = self._still_many_reads if self._is_busy else _MANY_READS
        return bool(self._latency) and self._reads >= enough

    def stop(self) -> None:
        """Let the connection be as it was. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._is_patient:
            self._set_patient(False)

    def _look(self) -> None:
        if self._due < self._until:
            self._due = self._until
            self._timer = self._loop.call_at(self._due, self._look)
            return
        self._timer = None
        if self._read_now is not None:
            self._read_now()
        if self._is_patient and self._timer is None:
            # Nothing lay there, or it is not much any more. The next is reported at once.
            self._set_patient(False)

    def _set_patient(self, patient: bool) -> None:
        assert _LOW_WATER is not None
        self._is_patient = patient
        with suppress(OSError):  # it is closed, or the system will not have it
            self._connection.setsockopt(
                socket.SOL_SOCKET, _LOW_WATER, _WORTH_WAITING_FOR if patient else 1
            )
