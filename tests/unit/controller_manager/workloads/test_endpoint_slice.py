"""The controller of EndpointSlices: its plan, and the controller on the embedded server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from kinform import Client
from kinform.controller_manager.workloads import endpoint_slice_controller
from kinform.controller_manager.workloads._endpoints import (
    Plan,
    address_types,
    endpoint_of,
    has_endpoint,
    labels_of,
    new_slice,
    plan,
    port_key,
    port_number,
    ports_of,
)
from kinform.controller_manager.workloads._trigger_times import TriggerTimes
from kinform.controllers import Manager
from kinform.models.core.v1 import Node, Pod, Service
from kinform.models.discovery.v1 import Endpoint, EndpointPort, EndpointSlice
from kinform.testing import ApiServer

_TIMEOUT = 20.0
_HTTP = {"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}
PORTS = [EndpointPort(name="http", port=8080, protocol="TCP")]


def service(*, labels: dict[str, str] | None = None, **spec: Any) -> Service:
    return Service.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": "web",
                "namespace": "default",
                "uid": "uid-web",
                "labels": labels or {},
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": {
                "selector": {"app": "web"},
                "ports": [_HTTP],
                "clusterIP": "10.0.0.1",
                "ipFamilies": ["IPv4"],
                **spec,
            },
        }
    )


def pod(
    name: str = "web-0", ip: str = "10.1.0.1", *, ready: bool = True, at: int = 1, **more: Any
) -> Pod:
    metadata = {"name": name, "namespace": "default", "labels": {"app": "web"}, "uid": f"u-{name}"}
    port = {"name": "web", "containerPort": 9000, "protocol": "TCP"}
    condition = {
        "type": "Ready",
        "status": str(ready),
        "lastTransitionTime": f"2026-01-01T00:00:{at:02}Z",
    }
    return Pod.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**metadata, **more.pop("metadata", {})},
            "spec": {
                "nodeName": "node",
                "containers": [{"name": "main", "image": "web", "ports": [port]}],
                **more,
            },
            "status": {
                "phase": "Running",
                "podIP": ip,
                "podIPs": [{"ip": ip}] if ip else [],
                "conditions": [condition],
            },
        }
    )


def endpoints(*numbers: int) -> list[Endpoint]:
    return [
        endpoint_of(pod(f"web-{each}", f"10.1.0.{each}"), None, service(), "IPv4")
        for each in numbers
    ]


def existing(name: str, *numbers: int, ports: Sequence[EndpointPort] = PORTS) -> EndpointSlice:
    made = new_slice(service(), "IPv4", list(ports))
    made.metadata.name = name
    made.endpoints = endpoints(*numbers)
    return made


def planned(slices: Sequence[EndpointSlice], *numbers: int, capacity: int = 3) -> Plan:
    wanted = {port_key(PORTS): (PORTS, endpoints(*numbers))} if numbers else {}
    return plan(service(), "IPv4", slices, wanted, capacity=capacity)


def sizes(slices: Sequence[EndpointSlice]) -> list[tuple[str, int]]:
    return [(each.name, len(each.endpoints)) for each in slices]


def test_nothing_changes_if_all_endpoints_are_there() -> None:
    assert planned([existing("a", 1, 2)], 2, 1) == Plan()


def test_endpoints_are_split_by_the_capacity() -> None:
    found = planned([], *range(1, 8))
    assert sizes(found.create) == [("", 3), ("", 3), ("", 1)]


def test_new_endpoint_goes_into_the_fullest_slice_with_room() -> None:
    slices = [existing("a", 1), existing("b", 2, 3), existing("c", 4, 5, 6)]
    found = planned(slices, 1, 2, 3, 4, 5, 6, 7)
    assert (sizes(found.update), found.create) == ([("b", 3)], [])


def test_new_endpoint_goes_into_a_slice_that_changes_anyway() -> None:
    slices = [existing("a", 1, 2), existing("b", 3, 4)]
    found = planned(slices, 1, 3, 4, 5)
    assert (sizes(found.update), found.create) == ([("a", 2)], [])


def test_slice_without_endpoints_is_deleted() -> None:
    found = planned([existing("a", 1), existing("b", 2, 3)], 2, 3)
    assert (sizes(found.delete), found.update) == ([("a", 1)], [])


def test_last_slice_becomes_the_placeholder_which_stays() -> None:
    found = planned([existing("a", 1)])
    assert (found.create, found.delete) == ([], [])
    [placeholder] = found.update
    assert (placeholder.name, placeholder.endpoints, placeholder.ports) == ("a", [], [])
    assert planned([placeholder]) == Plan()


def test_placeholder_becomes_the_first_slice() -> None:
    found = planned([existing("a", ports=[])], 1)
    assert (sizes(found.update), found.create, found.delete) == ([("a", 1)], [], [])
    assert found.update[0].ports == PORTS


def test_slices_of_an_earlier_service_are_replaced() -> None:
    old = existing("a", 1)
    old.metadata.owner_references[0].uid = "uid-earlier"
    found = planned([old], 1)
    assert (sizes(found.delete), sizes(found.create)) == ([("a", 1)], [("", 1)])


def test_labels_follow_the_service() -> None:
    labels = {"team": "shop", "kubernetes.io/service-name": "mine"}
    changed = service(labels=labels, clusterIP="None")
    assert labels_of(changed) == {
        "team": "shop",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "service.kubernetes.io/headless": "",
    }
    wanted = {port_key(PORTS): (PORTS, endpoints(1))}
    found = plan(changed, "IPv4", [existing("a", 1)], wanted, capacity=3)
    assert [each.labels["team"] for each in found.update] == ["shop"]


@pytest.mark.parametrize(
    ("spec", "types"),
    [
        ({"ipFamilies": ["IPv6", "IPv4"]}, ["IPv6", "IPv4"]),
        ({"ipFamilies": [], "clusterIP": "fd00::1"}, ["IPv6"]),
        ({"ipFamilies": [], "clusterIP": "None"}, ["IPv4", "IPv6"]),
    ],
)
def test_address_types_are_those_of_the_service(spec: dict[str, Any], types: list[str]) -> None:
    assert address_types(service(**spec)) == types


def test_ports_are_found_by_number_and_by_name() -> None:
    by_name = {**_HTTP, "targetPort": "web"}
    missing = {**_HTTP, "targetPort": "other"}
    found = ports_of(service(ports=[_HTTP, by_name, missing]), pod())
    assert [each.port for each in found] == [8080, 9000]
    udp = service(ports=[{**by_name, "protocol": "UDP"}])
    assert port_number(pod(), udp.spec.ports[0]) is None


def test_port_of_a_container_beside_the_others_is_found() -> None:
    port = {"name": "proxy", "containerPort": 15000, "protocol": "TCP"}
    proxy = {"name": "proxy", "image": "proxy", "restartPolicy": "Always", "ports": [port]}
    by_name = service(ports=[{**_HTTP, "targetPort": "proxy"}]).spec.ports[0]
    assert port_number(pod(initContainers=[proxy]), by_name) == 15000
    del proxy["restartPolicy"]
    assert port_number(pod(initContainers=[proxy]), by_name) is None


@pytest.mark.parametrize(
    ("is_ready", "is_deleted", "publishes", "expected"),
    [
        (True, False, False, (True, True, False)),
        (False, False, False, (False, False, False)),
        (True, True, False, (False, True, True)),
        (False, False, True, (True, False, False)),
    ],
)
def test_conditions_of_an_endpoint(
    is_ready: bool, is_deleted: bool, publishes: bool, expected: tuple[bool, bool, bool]
) -> None:
    metadata = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if is_deleted else {}
    web = service(publishNotReadyAddresses=publishes)
    found = endpoint_of(pod(ready=is_ready, metadata=metadata), None, web, "IPv4").conditions
    assert (found.ready, found.serving, found.terminating) == expected


def test_endpoint_has_the_zone_of_its_node_and_its_hostname() -> None:
    metadata = {"name": "node", "labels": {"topology.kubernetes.io/zone": "east"}}
    node = Node.from_dict({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
    found = endpoint_of(pod(hostname="zero", subdomain="web"), node, service(), "IPv4")
    assert (found.zone, found.hostname, found.node_name) == ("east", "zero", "node")
    assert endpoint_of(pod(hostname="zero"), node, service(), "IPv6").addresses == []


def test_pod_without_an_address_has_no_endpoint() -> None:
    assert has_endpoint(pod())
    assert not has_endpoint(pod(ip=""))


def test_trigger_time_is_that_of_the_first_change() -> None:
    def second(number: int) -> datetime:
        return datetime(2026, 1, 1, 0, 0, number, tzinfo=UTC)

    times = TriggerTimes()
    assert times.of(service(), [pod(at=5)]) == second(0)
    assert times.of(service(), [pod(at=5)]) is None
    assert times.of(service(), [pod(at=9), pod("web-1", at=7)]) == second(7)
    times.forget("default", "web")
    assert times.of(service(), []) == second(0)


# -- on the embedded server ------------------------------------------------------------------------


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with ApiServer() as server, Client(server.config) as client:
        manager = Manager(client)
        manager.add(endpoint_slice_controller(capacity=2))
        async with manager:
            await manager.ready
            yield client


async def until(
    client: Client, condition: Callable[[list[EndpointSlice]], bool]
) -> list[EndpointSlice]:
    found: list[EndpointSlice] = []
    async with asyncio.timeout(_TIMEOUT):
        while True:
            found = list(await client.list(EndpointSlice, namespace="default"))
            if condition(found):
                return found
            await asyncio.sleep(0.02)


def addresses(slices: Sequence[EndpointSlice]) -> list[str]:
    return sorted(each for found in slices for one in found.endpoints for each in one.addresses)


async def start(client: Client, found: Pod) -> None:
    await client.create(found)
    status = found.to_dict()["status"]
    await client.patch(Pod, found.name, {"status": status}, subresource="status")


async def test_slices_follow_the_pods(client: Client) -> None:
    await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}})
    web = service().to_dict()
    del web["metadata"]["uid"]
    await client.create(web)
    [placeholder] = await until(client, lambda found: len(found) == 1)
    assert placeholder.endpoints == []
    for number in (1, 2, 3):
        await start(client, pod(f"web-{number}", f"10.1.0.{number}"))
    expected = ["10.1.0.1", "10.1.0.2", "10.1.0.3"]
    found = await until(client, lambda found: addresses(found) == expected)
    assert sorted(len(each.endpoints) for each in found) == [1, 2]
    await client.delete(Pod, "web-2", grace_period=0)
    await until(client, lambda found: addresses(found) == ["10.1.0.1", "10.1.0.3"])


async def test_pods_of_missing_nodes_wait_for_them(client: Client) -> None:
    web = service().to_dict()
    del web["metadata"]["uid"]
    await client.create(web)
    await start(client, pod())
    await until(client, lambda found: len(found) == 1)
    await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}})
    await until(client, lambda found: addresses(found) == ["10.1.0.1"])
