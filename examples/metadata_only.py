"""Find what an owner left behind, by metadata alone: a fraction of the bytes of whole objects."""

import asyncio

from kinform import GVR, Client
from kinform.testing import ApiServer

CONFIG_MAPS = GVR("", "v1", "configmaps")


async def main() -> None:
    async with ApiServer() as server, Client(server.config) as client:
        for number in range(3):
            await client.create(
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": f"big-{number}", "labels": {"team": "blue"}},
                    "data": {"blob": "x" * 50_000},
                }
            )

        whole = await client.list(CONFIG_MAPS, namespace="default", labels="team in (blue, green)")
        slim = await client.metadata.list(CONFIG_MAPS, namespace="default", labels="team=blue")

        print("whole objects:", sum(found.memory for found in whole), "bytes in memory")
        print("metadata only:", sum(found.memory for found in slim), "bytes in memory")
        for found in slim:
            print(found.key, found.labels["team"], found.creation_timestamp)


if __name__ == "__main__":
    asyncio.run(main())
