"""A fault on demand: the server forgets, the watch gets a 410, the program lists again.

python examples/survive_an_expired_watch.py
"""

from __future__ import annotations

import asyncio

from kinform import GVR, Client
from kinform.errors import ExpiredError
from kinform.testing import ApiServer, faults

NODES = GVR("", "v1", "nodes")


async def follow(client: Client, *, until: str) -> None:
    """Tell of every node until one of this name appears, whatever the server forgets."""
    while True:
        listed = await client.list(NODES)
        print("listed:", [node.name for node in listed])
        if until in [node.name for node in listed]:
            return
        try:
            async with client.watch(NODES, resource_version=listed.resource_version) as watch:
                async for event in watch:
                    print("watched:", event.type, event.object.name)
        except ExpiredError as error:
            print("the server has forgotten where we were:", error.reason)


async def main() -> None:
    async with ApiServer() as api, Client(api.config) as client:
        api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}})
        api.faults.inject(faults.expired_event(after=1), resource="nodes")
        following = asyncio.create_task(follow(client, until="node-3"))
        await api.requests.wait_for(lambda request: request.verb == "watch")
        for name in ("node-2", "node-3"):
            api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        await following
        print(f"{api.requests.count(verb='list')} lists, {api.requests.count(verb='watch')} watch")


if __name__ == "__main__":
    asyncio.run(main())
