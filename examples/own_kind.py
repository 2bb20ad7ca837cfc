"""A custom kind, typed: ``kinform generate`` wrote ``crontabs`` from crontab.yaml.

    kinform generate --crd examples/crontab.yaml --out examples/crontabs

It starts the embedded API server. For your own cluster, give ``run`` a ``Client.from_env()``.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import yaml
from crontabs import CronExampleCom
from crontabs.cron_example_com.v1 import CronTab, CronTabSpec
from crontabs.cron_example_com.v1 import CronTabSpecConcurrencyPolicy as Policy

from kinform import Client, Latch, SharedInformerFactory
from kinform.errors import AlreadyExistsError
from kinform.models.meta.v1 import ObjectMeta
from kinform.testing import ApiServer

DEFINITION = yaml.safe_load(Path(__file__).with_name("crontab.yaml").read_text("utf-8"))


async def run(client: Client) -> None:
    with contextlib.suppress(AlreadyExistsError):
        await client.create(DEFINITION)
    has_scaled = Latch()

    def updated(old: CronTab, new: CronTab) -> None:
        print(f"{new.metadata.name}: {old.spec.replicas} -> {new.spec.replicas} replicas")
        has_scaled.set()

    factory = SharedInformerFactory(client, namespace=client.namespace)
    tabs = CronExampleCom(factory).v1.cron_tabs  # the same as factory.for_model(CronTab)
    tabs.informer.add_event_handler(
        on_add=lambda tab: print(f"{tab.metadata.name}: at {tab.spec.cron_spec}"),
        on_update=updated,
    )
    async with factory:
        await factory.wait_for_cache_sync(timeout=30, strict=True)
        spec = CronTabSpec(cron_spec="0 3 * * *", replicas=1, concurrency_policy=Policy.FORBID)
        await client.create(CronTab(metadata=ObjectMeta(name="nightly"), spec=spec))
        tab = (await client.get(CronTab, "nightly")).copy()  # what is read is read-only
        tab.spec.replicas = 3
        scaled = await client.update(tab)
        await tabs.informer.wait_for_rv(scaled.resource_version)
        print("cached:", tabs.lister.get(scaled.key).spec)
        await has_scaled


async def main() -> None:
    async with ApiServer() as server, Client(server.config) as client:
        await run(client)


if __name__ == "__main__":
    asyncio.run(main())
