"""Services and pods that come and go, and the EndpointSlices afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from kinform.errors import AlreadyExistsError
from kinform.objects import Unstructured
from tests.cluster.workload_scenarios import PODS, Scenario, template
from tests.support.simulated_kubelet import BROKEN

SERVICES = "v1/services"
SLICES = "discovery.k8s.io/v1/endpointslices"
_HTTP = {"name": "http", "port": 80, "targetPort": 8080}


class EndpointScenario(Scenario):
    """The steps of one scenario."""

    async def serve(
        self, *, labels: dict[str, str] | None = None, ports: list[Any] | None = None, **spec: Any
    ) -> None:
        """Create a Service of the pods with the label ``app=web``."""
        await self.client.create(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "web", "namespace": self.namespace, "labels": labels or {}},
                "spec": {"selector": {"app": "web"}, "ports": ports or [_HTTP], **spec},
            }
        )

    async def run_pod(self, name: str, number: int, *, image: str = "web:1", **more: Any) -> None:
        """Create a pod on a node, and wait until it has an address and is ready, if it can be."""
        port = more.pop("port", 8080)
        spec = template({}, image)["spec"]
        spec["containers"][0]["ports"] = [{"name": "web", "containerPort": port}]
        zone = {"topology.kubernetes.io/zone": "east"}
        node = {"name": f"{self.namespace}-node", "labels": zone}
        with suppress(AlreadyExistsError):
            await self.client.create({"apiVersion": "v1", "kind": "Node", "metadata": node})
        metadata = {"name": name, "namespace": self.namespace, "labels": {"app": "web"}}
        spec.update({"nodeName": f"{self.namespace}-node", **more})
        await self.client.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        )
        await self.until(PODS, name, lambda pod: pod.get_path("status.phase") == "Running")
        address = f"10.1.{number // 250}.{number % 250 + 1}"
        status = {"podIP": address, "podIPs": [{"ip": address}]}
        await self.client.patch(
            PODS, name, {"status": status}, namespace=self.namespace, subresource="status"
        )

    async def state(self) -> dict[str, Any]:
        slices = await self.client.list(SLICES, namespace=self.namespace)
        found = [_cleaned(each) for each in slices]
        if len(found) > 1 and sum(len(each["endpoints"]) for each in found) > 10:
            # Which endpoint is in which of the slices is up to chance.
            return {"sizes": sorted(len(each["endpoints"]) for each in found)}
        return {"slices": sorted(found, key=repr)}


def _cleaned(each: Unstructured) -> Any:
    """Return a slice without its annotation: it depends on which changes are seen together."""
    found = each.to_dict()
    metadata = found["metadata"]
    owners = [
        {key: value for key, value in one.items() if key != "uid"}
        for one in metadata.get("ownerReferences", [])
    ]
    for endpoint in found.get("endpoints") or []:
        endpoint["targetRef"].pop("uid", None)
    return {
        "owners": owners,
        "labels": metadata["labels"],
        "prefix": metadata["generateName"],
        "address type": found["addressType"],
        "ports": found.get("ports"),
        "endpoints": sorted(found.get("endpoints") or [], key=lambda one: str(one["addresses"])),
    }


# -- the scenarios ---------------------------------------------------------------------------------


async def service_without_pods(run: EndpointScenario) -> None:
    await run.serve(labels={"team": "shop"})


async def pods_come(run: EndpointScenario) -> None:
    await run.serve()
    await run.settled()
    for number in range(3):
        await run.run_pod(f"web-{number}", number)


async def pods_before_the_service(run: EndpointScenario) -> None:
    for number in range(2):
        await run.run_pod(f"web-{number}", number)
    await run.serve()


async def pod_goes(run: EndpointScenario) -> None:
    await pods_come(run)
    await run.settled()
    await run.client.delete(PODS, "web-1", namespace=run.namespace)


async def last_pod_goes(run: EndpointScenario) -> None:
    await run.serve()
    await run.run_pod("web-0", 0)
    await run.settled()
    await run.client.delete(PODS, "web-0", namespace=run.namespace)


async def pod_is_not_ready(run: EndpointScenario) -> None:
    await run.serve()
    await run.run_pod("good", 0)
    await run.run_pod("bad", 1, image=f"{BROKEN}:1")


async def not_ready_addresses_are_published(run: EndpointScenario) -> None:
    await run.serve(publishNotReadyAddresses=True)
    await run.run_pod("bad", 1, image=f"{BROKEN}:1")


async def pod_is_terminating(run: EndpointScenario) -> None:
    await run.serve()
    await run.run_pod("web-0", 0)
    await run.patch(PODS, "web-0", {"metadata": {"finalizers": ["example.com/hold"]}})
    await run.settled()
    await run.client.delete(PODS, "web-0", namespace=run.namespace)


async def named_port_with_two_numbers(run: EndpointScenario) -> None:
    await run.serve(ports=[{"name": "http", "port": 80, "targetPort": "web"}])
    await run.run_pod("old", 0, port=8080)
    await run.run_pod("new", 1, port=9090)


async def missing_named_port(run: EndpointScenario) -> None:
    await run.serve(
        ports=[
            {"name": "http", "port": 80, "targetPort": "other"},
            _HTTP | {"name": "b", "port": 81},
        ]
    )
    await run.run_pod("web-0", 0)


async def headless_with_hostnames(run: EndpointScenario) -> None:
    await run.serve(clusterIP="None")
    await run.run_pod("web-0", 0, hostname="zero", subdomain="web")


async def labels_and_ports_change(run: EndpointScenario) -> None:
    await run.serve(labels={"team": "shop"})
    await run.run_pod("web-0", 0)
    await run.settled()
    ports = [{"name": "http", "port": 80, "targetPort": 9000}]
    patch = {"metadata": {"labels": {"team": "pay"}}, "spec": {"ports": ports}}
    await run.patch(SERVICES, "web", patch)


async def pod_leaves_the_selector(run: EndpointScenario) -> None:
    await pods_come(run)
    await run.settled()
    await run.patch(PODS, "web-0", {"metadata": {"labels": {"app": "other"}}})


async def service_without_selector(run: EndpointScenario) -> None:
    await run.serve(selector=None)


async def deleted_slice_comes_back(run: EndpointScenario) -> None:
    await run.serve()
    await run.run_pod("web-0", 0)
    await run.settled()
    for each in await run.client.list(SLICES, namespace=run.namespace):
        await run.client.delete(SLICES, each.name, namespace=run.namespace)


async def more_pods_than_a_slice_holds(run: EndpointScenario) -> None:
    await asyncio.gather(*(run.run_pod(f"web-{number}", number) for number in range(101)))
    await run.settled()  # so that all pods are known before the Service is
    await run.serve()


SCENARIOS: dict[str, Callable[[EndpointScenario], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        service_without_pods,
        pods_come,
        pods_before_the_service,
        pod_goes,
        last_pod_goes,
        pod_is_not_ready,
        not_ready_addresses_are_published,
        pod_is_terminating,
        named_port_with_two_numbers,
        missing_named_port,
        headless_with_hostnames,
        labels_and_ports_change,
        pod_leaves_the_selector,
        service_without_selector,
        deleted_slice_comes_back,
        more_pods_than_a_slice_holds,
    )
}
