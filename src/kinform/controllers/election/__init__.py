"""Leader election on Leases: of several processes, at most one works at a time."""

from __future__ import annotations

from kinform.controllers.election._elector import LeaderElector
from kinform.controllers.election._guard import LeadershipGuard
from kinform.controllers.election._leadership import Leadership
from kinform.controllers.election._lease_lock import LeaseClient
from kinform.controllers.election._lease_record import LeaseRecord
from kinform.controllers.election._status import ElectionState, ElectionStatus
from kinform.controllers.election._term import LeaderWork

__all__ = [
    "ElectionState",
    "ElectionStatus",
    "LeaderElector",
    "LeaderWork",
    "Leadership",
    "LeadershipGuard",
    "LeaseClient",
    "LeaseRecord",
]
