"""A library that is slow to import, and large, is loaded by those who need it."""

from __future__ import annotations

from kinform.testing import BlockingApiServer
from tests.support.processes import output_of


def test_who_only_watches_does_without_aiohttp(kinform_server: BlockingApiServer) -> None:
    out = output_of(
        kinform_server,
        """
import asyncio, sys
from kinform import GVK, Client, SharedInformerFactory

async def main():
    async with Client.from_kubeconfig(sys.argv[1]) as client:
        factory = SharedInformerFactory(client)
        informer = factory.core.v1.pods.informer
        async with factory:
            await informer.has_synced
            print(informer.status().mode, "aiohttp" in sys.modules)
        await client.discovery.for_kind(GVK("", "v1", "Pod"))
        print("aiohttp" in sys.modules)

asyncio.run(main())
""",
    )
    assert out.splitlines() == ["streaming False", "True"]
