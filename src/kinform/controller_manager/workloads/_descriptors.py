"""The descriptors of all controllers that are shipped, under the names of Kubernetes."""

from __future__ import annotations

from kinform.controller_manager._registry import ControllerDescriptor
from kinform.controller_manager.workloads.daemon_set import daemon_set_controller
from kinform.controller_manager.workloads.deployment import deployment_controller
from kinform.controller_manager.workloads.endpoint_slice import endpoint_slice_controller
from kinform.controller_manager.workloads.garbage_collector import garbage_collector_controller
from kinform.controller_manager.workloads.job import job_controller
from kinform.controller_manager.workloads.namespace import namespace_controller
from kinform.controller_manager.workloads.replica_set import replica_set_controller
from kinform.controller_manager.workloads.stateful_set import stateful_set_controller
from kinform.controller_manager.workloads.ttl_after_finished import ttl_after_finished_controller

DESCRIPTORS: tuple[ControllerDescriptor, ...] = (
    ControllerDescriptor(
        name="replicaset-controller",
        build=lambda _context: replica_set_controller(),
        aliases=("replicaset",),
        summary="keeps so many pods of a template",
    ),
    ControllerDescriptor(
        name="deployment-controller",
        build=lambda _context: deployment_controller(),
        aliases=("deployment",),
        summary="replaces the pods of one template by those of the next",
    ),
    ControllerDescriptor(
        name="statefulset-controller",
        build=lambda _context: stateful_set_controller(),
        aliases=("statefulset",),
        summary="keeps pods with names and storage of their own, in order",
    ),
    ControllerDescriptor(
        name="daemonset-controller",
        build=lambda _context: daemon_set_controller(),
        aliases=("daemonset",),
        summary="keeps a pod on each node",
    ),
    ControllerDescriptor(
        name="job-controller",
        build=lambda _context: job_controller(),
        aliases=("job",),
        summary="runs pods to their end",
    ),
    ControllerDescriptor(
        name="ttl-after-finished-controller",
        build=lambda _context: ttl_after_finished_controller(),
        aliases=("ttl-after-finished",),
        summary="deletes finished Jobs after a time",
    ),
    ControllerDescriptor(
        name="namespace-controller",
        build=lambda _context: namespace_controller(),
        aliases=("namespace",),
        summary="empties namespaces that are being deleted",
    ),
    ControllerDescriptor(
        name="endpointslice-controller",
        build=lambda _context: endpoint_slice_controller(),
        aliases=("endpointslice",),
        summary="lists the addresses of the pods of Services",
    ),
    ControllerDescriptor(
        name="garbage-collector-controller",
        build=lambda _context: garbage_collector_controller(),
        aliases=("garbagecollector",),
        summary="deletes objects whose owners are gone",
    ),
)
"""The shipped controllers, in the order in which they are built."""
