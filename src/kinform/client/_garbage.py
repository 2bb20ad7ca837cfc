"""Limits on what a server can cost by sending data that cannot be decoded."""

from __future__ import annotations

from kinform.client._frames import Frame
from kinform.errors import DecodeError, WatchError

MOST_NAMELESS = 1000
"""How many undecodable objects of a list without a readable name are kept."""
# Decoding this many takes a tenth of a second.
_MOST_EVENTS = 6000


class GarbageLimit:
    """Ends a watch that consists of garbage instead of events.

    Undecodable events of objects with a readable name are not counted: the store must know that
    these objects exist.

    Attributes:
        nameless: The number of undecodable events without a readable name.
    """

    def __init__(self) -> None:
        self.nameless = 0
        self._is_clean = True

    def next_chunk(self) -> None:
        """Start again if the last chunk contained no garbage."""
        if self._is_clean:
            self.nameless = 0
        self._is_clean = True

    def count(self, frame: Frame) -> None:
        """Count a frame without a record.

        Raises:
            WatchError: There are too many.
        """
        error = frame.error
        if not isinstance(error, DecodeError):
            return
        forget_frames(error)
        if error.key:
            return
        self._is_clean = False
        self.nameless += 1
        if self.nameless > _MOST_EVENTS:
            raise WatchError(
                f"the watch contains more than {_MOST_EVENTS} events that cannot be decoded; "
                f"the last is {error}"
            )


def forget_frames(error: BaseException) -> None:
    """Remove the tracebacks of a kept error: their local variables hold whole responses."""
    kept: BaseException | None = error
    while kept is not None:
        kept.__traceback__ = None
        kept = kept.__cause__ or kept.__context__
