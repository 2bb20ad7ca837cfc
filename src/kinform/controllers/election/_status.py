"""The state of an election, for status pages and debugging."""

from __future__ import annotations

from typing import Literal

import msgspec

ElectionState = Literal["stopped", "candidate", "leader", "stopping"]
"""``stopping``: the work was cancelled and has not ended yet."""


class ElectionStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What an elector knows.

    Attributes:
        name: The name of the Lease.
        namespace: The namespace of the Lease.
        identity: The identity of this candidate.
        state: What this candidate does.
        leader: The identity of the leader, as last observed; empty if there is none.
        token: The fencing token of the own term; ``None`` without one.
        remaining: Seconds until the own lease runs out without another renewal.
        elections: How often this elector became the leader.
        losses: How often it lost the leadership.
        last_error: The error of the last attempt; empty if it succeeded.
    """

    name: str
    namespace: str
    identity: str
    state: ElectionState
    leader: str = ""
    token: int | None = None
    remaining: float = 0.0
    elections: int = 0
    losses: int = 0
    last_error: str = ""
