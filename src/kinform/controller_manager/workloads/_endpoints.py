"""The endpoints of a Service: which pods, with which addresses and ports, and in which slices."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from kinform.controller_manager.workloads._pods import has_ended, is_ready
from kinform.controllers import controller_of, set_controller_reference
from kinform.models.core.v1 import Container, Node, ObjectReference, Pod, Service, ServicePort
from kinform.models.discovery.v1 import (
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
)
from kinform.models.meta.v1 import ObjectMeta

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
MANAGER = "endpointslice-controller.k8s.io"
_HEADLESS = "service.kubernetes.io/headless"
_ZONE = "topology.kubernetes.io/zone"
_RESERVED = {SERVICE_NAME, MANAGED_BY, _HEADLESS}

Ports = tuple[tuple[str, str, int, str], ...]
"""What tells ports apart; endpoints with different ports are in different slices."""


class Plan(msgspec.Struct):
    """The changes of the slices of a Service."""

    create: list[EndpointSlice] = []
    update: list[EndpointSlice] = []
    delete: list[EndpointSlice] = []


def address_types(service: Service) -> list[str]:
    """Return the types of addresses that the slices of a Service have, each in own slices."""
    if service.spec.ip_families:
        return list(service.spec.ip_families)
    if is_headless(service):
        return ["IPv4", "IPv6"]
    return [_type_of(service.spec.cluster_ip)]


def is_headless(service: Service) -> bool:
    """Whether a Service has no address of its own."""
    return service.spec.cluster_ip in ("", "None")


def has_endpoint(pod: Pod) -> bool:
    """Whether a pod has an address, and has not ended."""
    return not has_ended(pod) and bool(pod.status.pod_ip or pod.status.pod_ips)


def endpoint_of(pod: Pod, node: Node | None, service: Service, address_type: str) -> Endpoint:
    """Return the endpoint of a pod. It has no addresses if the pod has none of the type."""
    is_serving = is_ready(pod)
    is_terminating = pod.metadata.deletion_timestamp is not None
    is_named = pod.spec.hostname and pod.spec.subdomain == service.name
    found = (str(ipaddress.ip_address(each.ip)) for each in pod.status.pod_ips)
    return Endpoint(
        addresses=[each for each in found if _type_of(each) == address_type],
        conditions=EndpointConditions(
            ready=service.spec.publish_not_ready_addresses or (is_serving and not is_terminating),
            serving=is_serving,
            terminating=is_terminating,
        ),
        target_ref=ObjectReference(kind="Pod", namespace=pod.namespace, name=pod.name, uid=pod.uid),
        node_name=pod.spec.node_name or None,
        zone=None if node is None else node.labels.get(_ZONE) or None,
        hostname=pod.spec.hostname if is_named else None,
    )


def ports_of(service: Service, pod: Pod) -> list[EndpointPort]:
    """Return the ports of a Service on a pod, without those whose name the pod does not have."""
    found = ((each, port_number(pod, each)) for each in service.spec.ports)
    return [
        EndpointPort(
            name=port.name, port=number, protocol=port.protocol, app_protocol=port.app_protocol
        )
        for port, number in found
        if number is not None
    ]


def port_number(pod: Pod, port: ServicePort) -> int | None:
    """Return the number of a port of a Service on a pod; ``None`` if the pod has no such name."""
    if isinstance(port.target_port, int):
        return port.target_port
    for container in _containers(pod):
        for each in container.ports:
            if each.name == port.target_port and each.protocol == port.protocol:
                return each.container_port
    return None


def _containers(pod: Pod) -> Iterable[Container]:
    yield from pod.spec.containers
    for each in pod.spec.init_containers:
        if each.restart_policy == "Always":  # it runs beside the others
            yield each


def labels_of(service: Service) -> dict[str, str]:
    """Return the labels of the slices of a Service: its own, and those by which they are found."""
    labels = {key: value for key, value in service.labels.items() if key not in _RESERVED}
    if is_headless(service):
        labels[_HEADLESS] = ""
    return {**labels, SERVICE_NAME: service.name, MANAGED_BY: MANAGER}


def new_slice(service: Service, address_type: str, ports: list[EndpointPort]) -> EndpointSlice:
    """Return an empty slice of a Service."""
    metadata = ObjectMeta(
        generate_name=f"{service.name}-", namespace=service.namespace, labels=labels_of(service)
    )
    made = EndpointSlice(metadata=metadata, address_type=address_type, ports=ports)
    set_controller_reference(service, made)
    return made


def port_key(ports: Iterable[EndpointPort]) -> Ports:
    """Return what tells ports apart, whatever their order."""
    return tuple(
        sorted(
            (each.name or "", each.protocol or "", each.port or 0, each.app_protocol or "")
            for each in ports
        )
    )


def plan(
    service: Service,
    address_type: str,
    existing: Sequence[EndpointSlice],
    wanted: Mapping[Ports, tuple[list[EndpointPort], list[Endpoint]]],
    *,
    capacity: int,
) -> Plan:
    """Return the changes that bring the slices of one address type to the wanted endpoints.

    As few slices as possible are written: endpoints stay where they are, and new ones go first
    into slices that change anyway.

    Args:
        service: The Service.
        address_type: The type of the addresses.
        existing: The slices.
        wanted: The endpoints by ports.
        capacity: The number of endpoints in a slice.
    """
    found = Plan()
    by_ports: dict[Ports, list[EndpointSlice]] = {}
    for each in existing:
        if is_owned(each, service):
            by_ports.setdefault(port_key(each.ports), []).append(each)
        else:
            found.delete.append(each)
    for key, (ports, endpoints) in wanted.items():
        empty = new_slice(service, address_type, ports)
        _distribute(found, empty, by_ports.pop(key, []), endpoints, capacity)
    for superfluous in by_ports.values():
        found.delete += superfluous
    if len(existing) == len(found.delete) and not found.create:
        # A Service always has a slice, so that its readers know that there are no endpoints.
        placeholder = new_slice(service, address_type, [])
        if len(found.delete) == 1 and _is_same(found.delete[0], placeholder):
            found.delete = []
        else:
            found.create.append(placeholder)
    return _with_reuse(found, service)


def _distribute(
    found: Plan,
    empty: EndpointSlice,
    existing: Sequence[EndpointSlice],
    endpoints: Sequence[Endpoint],
    capacity: int,
) -> None:
    """Distribute the endpoints with the same ports, with changes of slices as the result."""
    left = {_identity(each): each for each in endpoints}
    changed: list[EndpointSlice] = []
    unchanged: list[EndpointSlice] = []
    for each in existing:
        kept = [
            wanted
            for endpoint in each.endpoints
            if (wanted := left.pop(_identity(endpoint), None)) is not None
        ]
        if kept == list(each.endpoints) and dict(each.labels) == empty.labels:
            unchanged.append(each)
        elif not kept and each.endpoints:
            found.delete.append(each)
        else:
            changed.append(_edited(each, kept, empty))
    rest = list(left.values())
    for each in sorted(changed, key=lambda each: -len(each.endpoints)):
        room = capacity - len(each.endpoints)
        each.endpoints = [*each.endpoints, *rest[:room]]
        rest = rest[room:]
    while rest:
        fitting = [each for each in unchanged if len(each.endpoints) + len(rest) <= capacity]
        if fitting:
            fullest = max(fitting, key=lambda each: len(each.endpoints))
            changed.append(_edited(fullest, [*fullest.endpoints, *rest], empty))
            break
        made = empty.copy()
        made.endpoints, rest = rest[:capacity], rest[capacity:]
        found.create.append(made)
    found.update += changed


def _with_reuse(found: Plan, service: Service) -> Plan:
    """Change slices that would be deleted into those that would be created."""
    free = [each for each in found.delete if is_owned(each, service)]
    for made in list(found.create):
        if free:
            old = free.pop(0)
            found.delete.remove(old)
            found.create.remove(made)
            edited = _edited(old, made.endpoints, made)
            edited.ports = made.ports
            found.update.append(edited)
    return found


def _edited(
    each: EndpointSlice, endpoints: Sequence[Endpoint], model: EndpointSlice
) -> EndpointSlice:
    copy = each.copy()
    copy.endpoints = list(endpoints)
    copy.metadata.labels = dict(model.labels)
    return copy


def is_owned(each: EndpointSlice, service: Service) -> bool:
    """Whether a slice belongs to this Service, and not to an earlier one of the same name."""
    owner = controller_of(each)
    return owner is not None and owner.uid == service.uid


def _is_same(each: EndpointSlice, other: EndpointSlice) -> bool:
    return (
        dict(each.labels) == dict(other.labels)
        and not each.endpoints
        and not each.ports
        and controller_of(each) == controller_of(other)
    )


def _identity(endpoint: Endpoint) -> tuple[str, ...]:
    target = endpoint.target_ref
    place = ("", "") if target is None else (target.namespace, target.name)
    return (*place, endpoint.hostname or "", *sorted(endpoint.addresses))


def _type_of(address: str) -> str:
    return "IPv6" if ":" in address else "IPv4"
