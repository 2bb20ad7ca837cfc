"""EndpointSlices: the addresses and ports of the pods behind a Service.

A reconcile finds the pods that the selector of the Service matches, makes an endpoint of each, and
distributes them over slices of at most 100 endpoints (``_endpoints``). Pods with different numbers
for a named port are in different slices. Only slices that change are written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from kinform.cache import Cache, CachedClient
from kinform.controller_manager.workloads._endpoints import (
    MANAGED_BY,
    MANAGER,
    SERVICE_NAME,
    Plan,
    Ports,
    address_types,
    endpoint_of,
    has_endpoint,
    plan,
    port_key,
    ports_of,
)
from kinform.controller_manager.workloads._ownership import CacheWatch, is_being_deleted
from kinform.controller_manager.workloads._pods import has_ended, is_ready
from kinform.controller_manager.workloads._slow_start import first_error
from kinform.controller_manager.workloads._trigger_times import TriggerTimes
from kinform.controllers import Context, Controller, Request, Result, Retry, Watch
from kinform.errors import ConflictError, NotFoundError
from kinform.informers import InformerEvent
from kinform.models.core.v1 import Node, Pod, Service
from kinform.models.discovery.v1 import Endpoint, EndpointPort, EndpointSlice

_TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"


def endpoint_slice_controller(*, workers: int = 5, capacity: int = 100) -> Controller[Request]:
    """Return the controller of EndpointSlices.

    Args:
        workers: The number of Services that are reconciled at a time.
        capacity: The number of endpoints in a slice.
    """
    return Controller(
        "endpointslice-controller",
        _Reconciler(capacity).reconcile,
        for_=Service,
        watches=[
            CacheWatch(Pod, _services_of_pod, when=_may_change_endpoints),
            Watch(EndpointSlice, map=_service_of_slice),
            CacheWatch(Node, _services_with_selector, when=_has_zone_changed),
        ],
        workers=workers,
    )


class _Reconciler:
    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._trigger_times = TriggerTimes()

    async def reconcile(self, request: Request, context: Context[Request]) -> Result:
        """Bring the slices of one Service up to date."""
        client = context.client
        try:
            service = await client.get(Service, request.name, namespace=request.namespace)
        except NotFoundError:
            self._trigger_times.forget(request.namespace, request.name)
            return None  # deleted; the garbage collector deletes its slices
        if service.spec.type == "ExternalName" or not service.spec.selector:
            return None
        pods = await client.list(
            Pod, namespace=service.namespace, labels=dict(service.spec.selector)
        )
        labels = {SERVICE_NAME: service.name, MANAGED_BY: MANAGER}
        known = await client.list(EndpointSlice, namespace=service.namespace, labels=labels)
        slices = [each for each in known if not is_being_deleted(each)]
        trigger_time = self._trigger_times.of(service, pods)
        nodes, missing = await _nodes_of(client, service, pods)
        types = address_types(service)
        changes = Plan(delete=[each for each in slices if each.address_type not in types])
        for each in types:
            existing = [one for one in slices if one.address_type == each]
            wanted = _wanted(service, pods, nodes, each)
            found = plan(service, each, existing, wanted, capacity=self._capacity)
            changes.create += found.create
            changes.update += found.update
            changes.delete += found.delete
        try:
            await _write(client, changes, trigger_time)
        except ConflictError as error:
            return Retry(str(error))
        return Retry(f"node {missing} is not known") if missing else None


async def _nodes_of(
    client: CachedClient, service: Service, pods: Iterable[Pod]
) -> tuple[dict[str, Node | None], str]:
    """Return the nodes of pods that may be endpoints, and the name of a node that is missing.

    The node of a pod that is published in any case may be missing.
    """
    nodes: dict[str, Node | None] = {}
    missing = ""
    for name in {pod.spec.node_name for pod in pods if has_endpoint(pod)}:
        try:
            if not name:
                raise NotFoundError("the pod has no node", code=404)
            nodes[name] = await client.get(Node, name)
        except NotFoundError:
            if service.spec.publish_not_ready_addresses:
                nodes[name] = None
            else:
                missing = name or '""'
    return nodes, missing


def _wanted(
    service: Service, pods: Sequence[Pod], nodes: dict[str, Node | None], address_type: str
) -> dict[Ports, tuple[list[EndpointPort], list[Endpoint]]]:
    """Return the endpoints by ports."""
    found: dict[Ports, tuple[list[EndpointPort], list[Endpoint]]] = {}
    for pod in filter(has_endpoint, pods):
        ports = ports_of(service, pod)
        _, endpoints = found.setdefault(port_key(ports), (ports, []))
        if pod.spec.node_name in nodes:
            node = nodes[pod.spec.node_name]
            endpoint = endpoint_of(pod, node, service, address_type)
            if endpoint.addresses:
                endpoints.append(endpoint)
    return found


async def _write(client: CachedClient, changes: Plan, trigger_time: datetime | None) -> None:
    for each in (*changes.create, *changes.update):
        annotations = dict(each.metadata.annotations)
        annotations.pop(_TRIGGER_TIME, None)
        if trigger_time is not None:
            at = trigger_time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            annotations[_TRIGGER_TIME] = at
        each.metadata.annotations = annotations
    writes = (
        *map(client.create, changes.create),
        *map(client.update, changes.update),
        *(_delete(client, each) for each in changes.delete),
    )
    failure = first_error(await asyncio.gather(*writes, return_exceptions=True))
    if failure is not None:
        raise failure


async def _delete(client: CachedClient, each: EndpointSlice) -> None:
    try:
        await client.delete(EndpointSlice, each.name, namespace=each.namespace, uid=each.uid)
    except NotFoundError:
        return


def _services_of_pod(pod: Any, cache: Cache) -> Iterable[Request]:
    for each in cache.peek(Service).list(namespace=pod.namespace):
        selector = each.spec.selector
        if selector and selector.items() <= pod.labels.items():
            yield Request(each.namespace, each.name)


def _services_with_selector(_: Any, cache: Cache) -> Iterable[Request]:
    for each in cache.peek(Service).list():
        if each.spec.selector:
            yield Request(each.namespace, each.name)


def _service_of_slice(each: EndpointSlice) -> Iterable[Request]:
    name = each.labels.get(SERVICE_NAME)
    if name and each.labels.get(MANAGED_BY) == MANAGER:
        yield Request(each.namespace, name)


def _may_change_endpoints(event: InformerEvent[Any]) -> bool:
    """Whether a pod has changed in a way that its endpoint shows."""
    old, new = event.old, event.object
    return old is None or new is None or _visible(old) != _visible(new)


def _visible(pod: Pod) -> tuple[Any, ...]:
    return (
        pod.uid,
        dict(pod.labels),
        pod.metadata.deletion_timestamp is not None,
        pod.spec.node_name,
        pod.spec.hostname,
        [each.ip for each in pod.status.pod_ips],
        has_ended(pod),
        is_ready(pod),
    )


def _has_zone_changed(event: InformerEvent[Any]) -> bool:
    zone = "topology.kubernetes.io/zone"
    old, new = event.old, event.object
    return old is not None and new is not None and old.labels.get(zone) != new.labels.get(zone)
