"""Refuses writes of leader-only components that are not, or no longer, backed by the lease."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from kinform.client import Write, WriteHook
from kinform.errors import LeadershipLostError

# The leadership under which the current task works. Tasks and threads started from it inherit it.
_leadership: ContextVar[Any] = ContextVar("leadership", default=None)


class LeaderWriteGuard(WriteHook):
    """Checks the lease before each write of a leader-only component.

    Cancellation alone is not enough: a process that was suspended, or whose loop was blocked,
    continues with the write before it notices that its lease has expired. Other components, and
    the elector, write through the same client without a check.
    """

    def before(self, write: Write) -> None:
        leadership = _leadership.get()
        if leadership is None:
            return
        try:
            leadership.check()
        except LeadershipLostError as error:
            raise LeadershipLostError(f"{write} was not sent: {error}") from None

    def before_retry(self, write: Write) -> None:
        self.before(write)


@contextmanager
def leader_context(leadership: Any) -> Iterator[None]:
    """Check the writes inside against a lease; ``None`` allows all."""
    token = _leadership.set(leadership)
    try:
        yield
    finally:
        _leadership.reset(token)
