"""The other side of a stream, in the test's hand: every byte comes when the test says so."""

from __future__ import annotations

import asyncio

from kinform.transport._http_stream import HttpStream


class HeldConnection(asyncio.Transport):
    """Calls the stream as a loop would, but at once."""

    def __init__(self, stream: HttpStream) -> None:
        super().__init__()
        self.stream = stream
        self._is_paused = False
        self.is_dropped = False
        stream.connection_made(self)

    def deliver(self, data: bytes) -> None:
        while data and not self.is_dropped:
            room = self.stream.get_buffer(-1)
            part, data = data[: len(room)], data[len(room) :]
            room[: len(part)] = part
            self.stream.buffer_updated(len(part))

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        self._is_paused = False

    def is_reading(self) -> bool:
        return not self._is_paused

    def has_to_wait(self) -> bool:
        return self._is_paused

    def abort(self) -> None:
        self.is_dropped = True

    def is_closing(self) -> bool:
        return self.is_dropped
