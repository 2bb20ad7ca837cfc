"""Tests of the sample controller, on the embedded API server: no cluster needed.

pytest test_controller.py
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from controller import FINALIZER, new_controller
from foos.samples_example_com.v1 import Foo, FooSpec

from kinform import Client
from kinform.controllers import (
    EventRecorder,
    Manager,
    is_condition_true,
    wait_until,
    wait_until_gone,
)
from kinform.models.apps.v1 import Deployment
from kinform.models.events.v1 import Event
from kinform.models.meta.v1 import ObjectMeta
from kinform.testing import ApiServer, faults

DEFINITION = yaml.safe_load(Path(__file__).with_name("foo.yaml").read_text("utf-8"))


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as running:
        running.create(DEFINITION)
        yield running


@pytest.fixture
async def manager(server: ApiServer) -> AsyncIterator[Manager]:
    """A manager with the controller, which works."""
    async with Client(server.config) as client:
        manager = Manager(client, recorder=EventRecorder(client, "foo-controller"))
        manager.add(new_controller())
        async with manager:
            yield manager


async def create_shop(manager: Manager) -> Foo:
    metadata = ObjectMeta(name="shop", namespace="default")
    foo = await manager.client.create(
        Foo(metadata=metadata, spec=FooSpec(image="shop:1", replicas=2))
    )
    await deployment_with(manager, image="shop:1", replicas=2)
    return foo


async def deployment_with(manager: Manager, *, image: str, replicas: int) -> Deployment:
    """Wait until the Deployment of the shop has this image and these replicas."""

    def is_as_wanted(found: Deployment) -> bool:
        containers = found.spec.template.spec.containers
        return containers[0].image == image and found.spec.replicas == replicas

    return await wait_until(
        manager.cache, "default/shop", is_as_wanted, kind=Deployment, timeout=20
    )


async def test_foo_gets_a_deployment_that_it_owns(manager: Manager) -> None:
    foo = await create_shop(manager)
    deployment = await deployment_with(manager, image="shop:1", replicas=2)
    assert [owner.uid for owner in deployment.metadata.owner_references] == [foo.uid]


async def test_changes_of_the_deployment_are_undone(manager: Manager) -> None:
    await create_shop(manager)
    await manager.client.patch(Deployment, "shop", {"spec": {"replicas": 7}})
    await deployment_with(manager, image="shop:1", replicas=2)
    await manager.client.delete(Deployment, "shop")
    await deployment_with(manager, image="shop:1", replicas=2)


async def test_status_follows_the_deployment(manager: Manager) -> None:
    await create_shop(manager)
    status = {"status": {"availableReplicas": 2}}
    await manager.client.patch(Deployment, "shop", status, subresource="status")
    foo = await wait_until(
        manager.cache,
        "default/shop",
        lambda foo: is_condition_true(foo, "Ready"),
        kind=Foo,
        timeout=20,
    )
    assert foo.status.available_replicas == 2


async def test_event_says_what_was_done(server: ApiServer, manager: Manager) -> None:
    await create_shop(manager)
    await server.requests.wait_for(lambda request: request.status == 201, resource=Event)
    events = await manager.client.live.list(Event, namespace="default")
    assert [event.note for event in events] == ["Deployment shop was created"]


async def test_deleted_foo_is_released_by_its_finalizer(manager: Manager) -> None:
    await create_shop(manager)
    foo = await manager.client.get(Foo, "shop")
    assert foo.metadata.finalizers == [FINALIZER]
    await manager.client.delete(Foo, "shop")
    await wait_until_gone(manager.cache, "default/shop", kind=Foo, timeout=20)


async def test_failed_writes_are_tried_again(server: ApiServer, manager: Manager) -> None:
    server.faults.inject(faults.empty_answer(500), verb="create", resource=Deployment, times=3)
    conflict = faults.status(409, "Conflict", "it was modified")
    server.faults.inject(conflict, verb="update", resource="foos", times=3)
    await create_shop(manager)


async def test_broken_watches_lose_nothing(server: ApiServer, manager: Manager) -> None:
    await create_shop(manager)
    server.end_watches()
    server.compact()
    await manager.client.patch(Foo, "shop", {"spec": {"image": "shop:2"}})
    await deployment_with(manager, image="shop:2", replicas=2)
