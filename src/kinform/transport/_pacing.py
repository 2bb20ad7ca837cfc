"""Decides whether a connection is read at once or when more data has arrived.

A server streams a list object by object, and a fast reader would wake up for every few of them: for
20 000 pods, waking up took half of the CPU (benchmarks/run.py --only sync). During a list, the
system therefore waits for more data, at most a few milliseconds. Changes are read at once, unless
the user prefers to receive them slightly later at half the cost. Data that arrives while the loop
is busy is read together in any case.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from contextlib import suppress
from typing import Any

# The data rate is measured over windows of this length, in seconds.
_WINDOW = 0.05
# A list arrives at tens of megabytes per second.
_MUCH = 1 << 20
# Changes arrive one by one, hundreds per second.
_MANY_READS = 20
# The maximum size of one read.
_WORTH_WAITING_FOR = 512 * 1024
# The maximum time that list data may wait in the socket for more.
_PATIENCE = 0.008

# Linux reports data that is in the socket already when the mark is lowered; other systems may not.
_LOW_WATER = socket.SO_RCVLOWAT if sys.platform == "linux" else None


class Pacing:
    """Sets the low-water mark of a connection, on Linux.

    Args:
        connection: The socket, or asyncio's view of it; ``None`` if there is none.
        latency: Seconds that changes may wait in the socket for more, at hundreds of changes per
            second; 0 to read each at once.
    """

    def __init__(self, connection: Any, *, latency: float = 0.0) -> None:
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        self._latency = latency
        # With a latency there is at most one read per latency; less than half of that means that
        # the burst is over.
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
        """Report the size of a read."""
        now = self._loop.time()
        if now >= self._window_ends:
            # The state of the last window applies until this one is measured.
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
            self._timer = self._loop.call_at(self._due, self._end_patience)

    def _was_busy(self) -> bool:
        if self._bytes >= _MUCH:
            return True
        enough = self._still_many_reads if self._is_busy else _MANY_READS
        return bool(self._latency) and self._reads >= enough

    def stop(self) -> None:
        """Restore the connection's settings. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._is_patient:
            self._set_patient(False)

    def _end_patience(self) -> None:
        if self._due < self._until:
            self._due = self._until
            self._timer = self._loop.call_at(self._due, self._end_patience)
            return
        self._timer = None
        if self._is_patient:
            # Data that is in the socket is reported now, and the next at once.
            self._set_patient(False)

    def _set_patient(self, patient: bool) -> None:
        assert _LOW_WATER is not None
        self._is_patient = patient
        with suppress(OSError):  # it is closed, or the system rejects the option
            self._connection.setsockopt(
                socket.SOL_SOCKET, _LOW_WATER, _WORTH_WAITING_FOR if patient else 1
            )
