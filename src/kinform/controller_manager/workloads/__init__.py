"""The controllers that are shipped with kinform, each in a module of its own."""

from __future__ import annotations

from kinform.controller_manager.workloads._descriptors import DESCRIPTORS
from kinform.controller_manager.workloads.daemon_set import daemon_set_controller
from kinform.controller_manager.workloads.deployment import deployment_controller
from kinform.controller_manager.workloads.endpoint_slice import endpoint_slice_controller
from kinform.controller_manager.workloads.garbage_collector import garbage_collector_controller
from kinform.controller_manager.workloads.job import job_controller
from kinform.controller_manager.workloads.namespace import namespace_controller
from kinform.controller_manager.workloads.replica_set import replica_set_controller
from kinform.controller_manager.workloads.stateful_set import stateful_set_controller
from kinform.controller_manager.workloads.ttl_after_finished import ttl_after_finished_controller

__all__ = [
    "DESCRIPTORS",
    "daemon_set_controller",
    "deployment_controller",
    "endpoint_slice_controller",
    "garbage_collector_controller",
    "job_controller",
    "namespace_controller",
    "replica_set_controller",
    "stateful_set_controller",
    "ttl_after_finished_controller",
]
