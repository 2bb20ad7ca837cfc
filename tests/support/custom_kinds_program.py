"""A program that uses the package which ``kinform generate`` made of ``CRON_TAB``.

Run as a process with a kubeconfig and a namespace: kinds that are registered stay registered.
"""

from __future__ import annotations

PROGRAM = """\
import asyncio, json, sys

from kinform.api import GVR
from kinform.client import Client
from kinform.informers import SharedInformerFactory
from mypkg import StableExampleCom
from mypkg.stable_example_com.v1 import CronTab, CronTabSpec

kubeconfig, namespace = sys.argv[1:]


async def main() -> dict[str, object]:
    async with Client.from_kubeconfig(kubeconfig) as client:
        tab = CronTab(spec=CronTabSpec(cron_spec="* * * * *", replicas=3, suspend=False))
        tab.metadata.name, tab.metadata.namespace = "daily", namespace
        created = await client.create(tab)
        edited = created.copy()
        edited.spec.replicas = 5
        await client.update(edited)
        read = await client.get(CronTab, "daily", namespace=namespace)

        factory = SharedInformerFactory(client, namespace=namespace)
        tabs = StableExampleCom(factory).v1.cron_tabs
        async with factory:
            await factory.wait_for_cache_sync(timeout=30, strict=True)
            cached = tabs.lister.namespace(namespace).get("daily")
            by_name = factory.for_resource(GVR("stable.example.com", "v1", "crontabs"))
            return {
                "created": [type(created).__name__, created.spec.cron_spec, created.spec.suspend],
                "read": [type(read).__name__, read.spec.replicas, read.spec.image],
                "cached": [type(cached).__name__, cached.spec.replicas],
                "by name": type(by_name.lister.list()[0]).__name__,
            }


print(json.dumps(asyncio.run(main())))
"""

BLOCKING_PROGRAM = """\
import json, sys

from kinform import blocking
from mypkg import StableExampleCom
from mypkg.stable_example_com.v1 import CronTab, CronTabSpec

kubeconfig, namespace = sys.argv[1:]

with blocking.Client.from_kubeconfig(kubeconfig) as client:
    tab = CronTab(spec=CronTabSpec(cron_spec="* * * * *", replicas=3))
    tab.metadata.name, tab.metadata.namespace = "hourly", namespace
    client.create(tab)
    factory = blocking.SharedInformerFactory(client, namespace=namespace)
    tabs = StableExampleCom(factory).v1.cron_tabs
    with factory:
        factory.wait_for_cache_sync(timeout=30, strict=True)
        cached = tabs.lister.namespace(namespace).get("hourly")
        print(json.dumps([type(cached).__name__, cached.spec.replicas]))
"""

SAID = {
    "created": ["CronTab", "* * * * *", False],
    "read": ["CronTab", 5, None],
    "cached": ["CronTab", 5],
    "by name": "CronTab",
}
BLOCKING_SAID = ["CronTab", 3]
