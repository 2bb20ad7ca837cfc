"""Controllers: reconcilers fed by informers, their manager, leader election and events."""

from __future__ import annotations

from kinform.controllers._cluster import Cluster
from kinform.controllers._context import Context
from kinform.controllers._controller import Controller, controller
from kinform.controllers._reconciler import ReconcileFunction, Reconciler
from kinform.controllers._recording import Recorder
from kinform.controllers._request import Request
from kinform.controllers._results import After, Done, Result, Retry, Terminal
from kinform.controllers._stats import ControllerStatus, Outcome, ReconcileFailure
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
from kinform.controllers.manager import (
    ComponentStatus,
    HealthCheck,
    ManagedController,
    ManagedElector,
    ManagedRecorder,
    Manager,
    ManagerStatus,
    RunnableObject,
)
from kinform.controllers.sources import (
    LOW_PRIORITY,
    Channel,
    OpenSource,
    Source,
    SourceStatus,
    Stream,
    Timer,
    Watch,
    owner_requests,
)

__all__ = [
    "LOW_PRIORITY",
    "After",
    "Channel",
    "Cluster",
    "ComponentStatus",
    "Context",
    "Controller",
    "ControllerStatus",
    "Done",
    "ElectionState",
    "ElectionStatus",
    "HealthCheck",
    "LeaderElector",
    "LeaderWork",
    "Leadership",
    "LeadershipGuard",
    "LeaseClient",
    "LeaseRecord",
    "ManagedController",
    "ManagedElector",
    "ManagedRecorder",
    "Manager",
    "ManagerStatus",
    "OpenSource",
    "Outcome",
    "ReconcileFailure",
    "ReconcileFunction",
    "Reconciler",
    "Recorder",
    "Request",
    "Result",
    "Retry",
    "RunnableObject",
    "Source",
    "SourceStatus",
    "Stream",
    "Terminal",
    "Timer",
    "Watch",
    "controller",
    "owner_requests",
]
