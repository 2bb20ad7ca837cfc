"""The leadership of this process: one term, from an election to its loss or release."""

from __future__ import annotations

import math
from collections.abc import Callable

from kinform._runtime import Latch
from kinform.controllers.election._clock import boot_time
from kinform.errors import LeadershipLostError


class Leadership:
    """One term as the leader. The work receives it, and checks it before anything irrevocable.

        async def work(leadership: Leadership) -> None:
            leadership.check()
            await post_invoice(fence=leadership.token)

    All attributes may be read on any thread. ``Leadership("test", 1)`` never ends: for tests of
    the work, and for programs without an election.

    Args:
        identity: The identity of the leader.
        token: The fencing token.
        lease: ``namespace/name`` of the Lease.
        valid_until: When the lease runs out, by ``clock``.
        clock: Returns the local time.

    Attributes:
        identity: The identity of the leader.
        token: The number of this term. Each new leader has a higher one, so a store that remembers
            the highest token can refuse writes of earlier leaders. It is the ``leaseTransitions``
            of the Lease, and starts again if the Lease is deleted and no candidate remembers it.
        lease: ``namespace/name`` of the Lease; empty without one.
        lost: Set when the work must stop: the lease was not renewed in time, another process has
            it, or the election is being stopped.
    """

    def __init__(
        self,
        identity: str,
        token: int,
        *,
        lease: str = "",
        valid_until: float = math.inf,
        clock: Callable[[], float] = boot_time,
    ) -> None:
        self.identity = identity
        self.token = token
        self.lease = lease
        self.lost = Latch(f"{identity} must stop leading")
        self._clock = clock
        self._valid_until = valid_until

    @property
    def is_valid(self) -> bool:
        """Whether no other process can be the leader, judged by the local clock.

        It is true while work that was cancelled cleans up, but never after the lease has run out,
        even if the event loop is blocked or the process was stopped.
        """
        return self._clock() < self._valid_until

    @property
    def remaining(self) -> float:
        """Seconds until the lease runs out without another renewal; 0 if it has."""
        return max(0.0, self._valid_until - self._clock())

    def check(self) -> None:
        """Check that this process is still the leader.

        Raises:
            LeadershipLostError: It is not.
        """
        late = self.overdue
        if late is not None:
            lease = f" of {self.lease}" if self.lease else ""
            raise LeadershipLostError(
                f"{self.identity} is not the leader{lease} any more: term {self.token} ended "
                f"{late:.1f} s ago; stop this work"
            )

    @property
    def overdue(self) -> float | None:
        """Seconds since the lease ran out or was lost; ``None`` while it is valid."""
        late = self._clock() - self._valid_until
        return late if late >= 0 else None

    def __repr__(self) -> str:
        state = "valid" if self.is_valid else "over"
        return f"<Leadership of {self.identity}, token {self.token}, {state}>"

    def _extend(self, until: float) -> None:
        """The lease was renewed."""
        self._valid_until = max(self._valid_until, until)

    def _end(self) -> None:
        """The lease belongs to another process, or was given up."""
        self._valid_until = min(self._valid_until, self._clock())
