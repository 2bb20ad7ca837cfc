"""The manager: runs controllers, with their caches, clients, election and HTTP server."""

from __future__ import annotations

from kinform.controllers.manager._health_checks import HealthCheck
from kinform.controllers.manager._manager import Manager
from kinform.controllers.manager._protocols import (
    ManagedController,
    ManagedElector,
    ManagedRecorder,
    RunnableObject,
)
from kinform.controllers.manager._signals import stop_on_signals
from kinform.controllers.manager._status import ComponentStatus, ManagerStatus

__all__ = [
    "ComponentStatus",
    "HealthCheck",
    "ManagedController",
    "ManagedElector",
    "ManagedRecorder",
    "Manager",
    "ManagerStatus",
    "RunnableObject",
    "stop_on_signals",
]
