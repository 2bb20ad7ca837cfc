"""A controller to start from: each Foo owns a Deployment of its image.

It shows what most controllers need: typed objects, owned objects, status with conditions, events, a
finalizer, and a manager with leader election, probes and metrics. Copy the folder, replace foo.yaml
by your own kind, and run ``kinform generate``.

    python controller.py        # in a pod, else with your kubeconfig; apply foo.yaml first
"""

from __future__ import annotations

import asyncio
import os

from foos.samples_example_com.v1 import Foo

from kinform import Client, NotFoundError
from kinform.controllers import (
    Context,
    Controller,
    EventRecorder,
    LeaderElector,
    Manager,
    Request,
    Result,
    add_finalizer,
    create_or_update,
    remove_finalizer,
    set_condition,
    set_controller_reference,
)
from kinform.models.apps.v1 import Deployment
from kinform.models.core.v1 import Container
from kinform.models.meta.v1 import LabelSelector, ObjectMeta

FINALIZER = "samples.example.com/cleanup"


async def reconcile(request: Request, context: Context[Request]) -> Result:
    client = context.client
    try:
        foo = (await client.get(Foo, request.name, namespace=request.namespace)).copy()
    except NotFoundError:
        return None  # deleted, and the finalizer has done its work before
    if foo.metadata.deletion_timestamp is not None:
        return await clean_up(foo, context)
    if add_finalizer(foo, FINALIZER):
        foo = (await client.update(foo)).copy()

    def mutate(deployment: Deployment) -> None:
        labels = {"app": foo.name}
        deployment.spec.replicas = 1 if foo.spec.replicas is None else foo.spec.replicas
        deployment.spec.selector = LabelSelector(match_labels=labels)
        deployment.spec.template.metadata.labels = labels
        containers = deployment.spec.template.spec.containers
        if not containers:
            containers.append(Container(name="main"))
        containers[0].image = foo.spec.image
        set_controller_reference(foo, deployment)

    deployment = Deployment(metadata=ObjectMeta(name=foo.name, namespace=foo.namespace))
    deployment, result = await create_or_update(client, deployment, mutate)
    if result != "unchanged":
        context.recorder.event(foo, "Normal", "Deployed", f"Deployment {foo.name} was {result}")

    available = deployment.status.available_replicas or 0
    is_ready = available == deployment.spec.replicas
    before = foo.copy()
    foo.status.available_replicas = available
    set_condition(
        foo,
        type="Ready",
        status=is_ready,
        reason="Available" if is_ready else "Progressing",
        message=f"{available} of {deployment.spec.replicas} pods are available",
        observed_generation=foo.generation,
    )
    if foo != before:
        await client.update(foo, subresource="status")
    return None


async def clean_up(foo: Foo, context: Context[Request]) -> Result:
    """Release what is outside of the cluster. The Deployment is deleted with its owner."""
    if remove_finalizer(foo, FINALIZER):
        context.log.info("cleaned up")
        await context.client.update(foo)
    return None


def new_controller() -> Controller[Request]:
    return Controller("foo", reconcile, for_=Foo, owns=[Deployment], workers=4, timeout=60)


async def main() -> None:
    async with Client.from_env() as client:
        manager = Manager(
            client,
            address=os.environ.get("ADDRESS", "127.0.0.1:8080"),
            recorder=EventRecorder(client, "foo-controller"),
            election=LeaderElector(client, "foo-controller"),
        )
        manager.add(new_controller())
        await manager.run_until_signal()


if __name__ == "__main__":
    asyncio.run(main())
