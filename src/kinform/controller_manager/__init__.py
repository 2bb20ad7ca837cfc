"""The controller manager: named controllers that share their informers, in one process."""

from __future__ import annotations

from kinform.controller_manager import workloads
from kinform.controller_manager._context import ControllerContext
from kinform.controller_manager._controller_manager import ControllerManager
from kinform.controller_manager._identity import ClientBuilder, ControllerClients
from kinform.controller_manager._registry import (
    Build,
    Built,
    ControllerDescriptor,
    ControllerRegistry,
    default_registry,
)
from kinform.controller_manager._selection import ControllerSelection

__all__ = [
    "Build",
    "Built",
    "ClientBuilder",
    "ControllerClients",
    "ControllerContext",
    "ControllerDescriptor",
    "ControllerManager",
    "ControllerRegistry",
    "ControllerSelection",
    "default_registry",
    "workloads",
]
