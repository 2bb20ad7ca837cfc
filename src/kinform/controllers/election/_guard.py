"""A write hook that lets only the leader write."""

from __future__ import annotations

from kinform._checks import expect
from kinform.api import GVR
from kinform.client import Write, WriteHook
from kinform.controllers.election._leadership import Leadership
from kinform.errors import LeadershipLostError

_LEASES = GVR("coordination.k8s.io", "v1", "leases")


class LeadershipGuard(WriteHook):
    """Refuses the writes of a client as soon as a leadership is not valid any more.

        client.add_write_hook(LeadershipGuard(leadership))

    This stops work that does not notice its cancellation, such as a thread, or a process that was
    suspended. A write that is already on its way is not stopped: a server checks no tokens.
    Writes to the Lease of the election itself are always allowed.

    Args:
        leadership: The leadership that writes require.

    Raises:
        ConfigError: It is not a leadership.
    """

    def __init__(self, leadership: Leadership) -> None:
        expect(
            leadership,
            Leadership,
            receiver="LeadershipGuard",
            expected="the Leadership that an elector passes to its work",
        )
        self.leadership = leadership

    def before(self, write: Write) -> None:
        """Called before the request is sent.

        Raises:
            LeadershipLostError: The leadership is over; the write is not sent.
        """
        if self._is_own_lease(write):
            return
        try:
            self.leadership.check()
        except LeadershipLostError as error:
            raise LeadershipLostError(f"{write} was not sent: {error}") from None

    def before_retry(self, write: Write) -> None:
        """Called before the request is sent again after a Retry-After.

        Raises:
            LeadershipLostError: The leadership is over; the write is not sent again.
        """
        self.before(write)

    def _is_own_lease(self, write: Write) -> bool:
        return (
            write.resource == _LEASES and f"{write.namespace}/{write.name}" == self.leadership.lease
        )
