"""A web service that answers from a cache: no request waits for the API server.

It starts the embedded API server. For your own cluster, give ``make_app`` a ``Client.from_env()``,
and run the application with ``aiohttp.web.run_app``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web
from aiohttp.typedefs import Handler

from kinform import Cache, Client, NotFoundError
from kinform.errors import CacheSyncError, ResourceNotCachedError
from kinform.models.core.v1 import Container, Pod, PodSpec
from kinform.models.meta.v1 import ObjectMeta
from kinform.testing import ApiServer


class PodService:
    """Serves pods by node, and single pods by name."""

    def __init__(self, client: Client) -> None:
        self.cache = Cache(
            client, namespace=client.namespace, kinds=[Pod], undeclared_reads="error"
        )
        self.cache.index_field(Pod, "spec.nodeName")

    async def run_cache(self, app: web.Application) -> AsyncIterator[None]:
        async with self.cache:
            yield

    async def pods_of_node(self, request: web.Request) -> web.Response:
        node = request.match_info["node"]
        pods = self.cache.peek(Pod).list(fields={"spec.nodeName": node})
        names = [pod.name for pod in pods]
        return web.json_response({"pods": names, "version": pods.resource_version})

    async def pod(self, request: web.Request) -> web.Response:
        try:
            pod = self.cache.peek(Pod).get(request.match_info["name"])
        except NotFoundError as error:
            raise web.HTTPNotFound(text=str(error)) from error
        return web.json_response({"name": pod.name, "node": pod.spec.node_name})

    async def readyz(self, request: web.Request) -> web.Response:
        return web.Response(text=f"{len(self.cache.peek(Pod))} pods")


@web.middleware
async def unavailable(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer 503 with the reason until the first list is complete."""
    try:
        return await handler(request)
    except (CacheSyncError, ResourceNotCachedError) as error:
        raise web.HTTPServiceUnavailable(text=str(error)) from error


def make_app(client: Client) -> web.Application:
    service = PodService(client)
    app = web.Application(middlewares=[unavailable])
    app.cleanup_ctx.append(service.run_cache)
    app.router.add_get("/nodes/{node}/pods", service.pods_of_node)
    app.router.add_get("/pods/{name}", service.pod)
    app.router.add_get("/readyz", service.readyz)
    return app


async def print_readiness(browser: aiohttp.ClientSession) -> None:
    """Ask until the service is ready, like the kubelet."""
    while True:
        async with browser.get("/readyz") as response:
            if response.status == 200:
                print("ready:", await response.text())
                return
        await asyncio.sleep(0.05)


async def run(client: Client) -> None:
    for number in range(3):
        spec = PodSpec(
            node_name=f"node-{number % 2}", containers=[Container(name="main", image="nginx")]
        )
        await client.create(Pod(metadata=ObjectMeta(name=f"web-{number}"), spec=spec))

    runner = web.AppRunner(make_app(client))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        async with aiohttp.ClientSession(f"http://{host}:{port}") as browser:
            await print_readiness(browser)
            async with browser.get("/nodes/node-0/pods") as response:
                print("on node-0:", *(await response.json())["pods"])
            async with browser.get("/pods/web-1") as response:
                print("web-1 is on", (await response.json())["node"])
            async with browser.get("/pods/gone") as response:
                print("gone:", response.status)
    finally:
        await runner.cleanup()


async def main() -> None:
    async with ApiServer() as server, Client(server.config) as client:
        await run(client)


if __name__ == "__main__":
    asyncio.run(main())
