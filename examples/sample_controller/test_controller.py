"""Tests of the sample controller, on the embedded API server: no cluster needed.

pytest test_controller.py
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from controller import FINALIZER, new_controller
from foos.samples_example_com.v1 import Foo, FooSpec

from kinform import Client, NotFoundError
from kinform.controllers import EventRecorder, Manager, is_condition_true
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
async def client(server: ApiServer) -> AsyncIterator[Client]:
    """A client of the server, on which the controller works."""
    async with Client(server.config) as client:
        manager = Manager(client, recorder=EventRecorder(client, "foo-controller"))
        manager.add(new_controller())
        async with manager:
            yield client


def shop(replicas: int = 2) -> Foo:
    metadata = ObjectMeta(name="shop", namespace="default")
    return Foo(metadata=metadata, spec=FooSpec(image="shop:1", replicas=replicas))


async def deployment_with(client: Client, **wanted: object) -> Deployment:
    """Wait until the Deployment of the shop has this image and these replicas."""
    async with asyncio.timeout(20):
        while True:
            try:
                found = await client.get(Deployment, "shop")
            except NotFoundError:
                found = None
            if found is not None and wanted == {
                "image": found.spec.template.spec.containers[0].image,
                "replicas": found.spec.replicas,
            }:
                return found
            await asyncio.sleep(0.02)


async def test_foo_gets_a_deployment_that_it_owns(client: Client) -> None:
    foo = await client.create(shop())
    deployment = await deployment_with(client, image="shop:1", replicas=2)
    assert [owner.uid for owner in deployment.metadata.owner_references] == [foo.uid]


async def test_changes_of_the_deployment_are_undone(client: Client) -> None:
    await client.create(shop())
    await deployment_with(client, image="shop:1", replicas=2)
    await client.patch(Deployment, "shop", {"spec": {"replicas": 7}})
    await deployment_with(client, image="shop:1", replicas=2)
    await client.delete(Deployment, "shop")
    await deployment_with(client, image="shop:1", replicas=2)


async def test_status_follows_the_deployment(client: Client) -> None:
    await client.create(shop())
    await deployment_with(client, image="shop:1", replicas=2)
    status = {"status": {"availableReplicas": 2}}
    await client.patch(Deployment, "shop", status, subresource="status")
    async with asyncio.timeout(20):
        while not is_condition_true(foo := await client.get(Foo, "shop"), "Ready"):
            await asyncio.sleep(0.02)
    assert foo.status.available_replicas == 2


async def test_event_says_what_was_done(client: Client) -> None:
    await client.create(shop())
    async with asyncio.timeout(20):
        while not (events := await client.list(Event, namespace="default")):
            await asyncio.sleep(0.02)
    assert events[0].note == "Deployment shop was created"


async def test_deleted_foo_is_released_by_its_finalizer(client: Client) -> None:
    await client.create(shop())
    await deployment_with(client, image="shop:1", replicas=2)
    assert (await client.get(Foo, "shop")).metadata.finalizers == [FINALIZER]
    await client.delete(Foo, "shop")
    async with asyncio.timeout(20):
        while await client.list(Foo, namespace="default"):
            await asyncio.sleep(0.02)


async def test_failed_writes_are_tried_again(server: ApiServer, client: Client) -> None:
    server.faults.inject(faults.empty_answer(500), verb="create", resource="deployments", times=3)
    server.faults.inject(
        faults.status(409, "Conflict", "it was modified"), verb="update", resource="foos", times=3
    )
    await client.create(shop())
    await deployment_with(client, image="shop:1", replicas=2)


async def test_broken_connections_lose_nothing(server: ApiServer, client: Client) -> None:
    await client.create(shop())
    await deployment_with(client, image="shop:1", replicas=2)
    server.end_watches()
    server.compact()
    await client.patch(Foo, "shop", {"spec": {"image": "shop:2"}})
    await deployment_with(client, image="shop:2", replicas=2)
