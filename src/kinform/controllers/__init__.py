"""Controllers: reconcilers fed by informers, their manager, leader election and events."""

from __future__ import annotations

from kinform.controllers.election import (
    ElectionState,
    ElectionStatus,
    LeaderElector,
    Leadership,
    LeadershipGuard,
    LeaderWork,
    LeaseClient,
    LeaseRecord,
)

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
