"""List, watch, edit: the client against the embedded API server. Needs no cluster."""

import asyncio

from kinform import GVR, Client
from kinform.testing import ApiServer

DEPLOYMENTS = GVR("apps", "v1", "deployments")


async def main() -> None:
    async with ApiServer() as server, Client(server.config) as client:
        await client.create(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
                "spec": {
                    "replicas": 2,
                    "selector": {"matchLabels": {"app": "web"}},
                    "template": {
                        "metadata": {"labels": {"app": "web"}},
                        "spec": {"containers": [{"name": "web", "image": "nginx"}]},
                    },
                },
            }
        )

        found = await client.list(DEPLOYMENTS, labels={"app": "web"})
        for deployment in found:
            print("listed ", deployment.key, "replicas:", deployment["spec"]["replicas"])

        # A handle is read-only, for others may hold the same object; a copy is yours to edit.
        edited = found[0].copy()
        edited["spec"]["replicas"] = 5
        await client.update(edited)
        await client.delete(DEPLOYMENTS, "web", namespace="default")

        # Everything that happened since the list, from its resource version on.
        async with client.watch(DEPLOYMENTS, resource_version=found.resource_version) as watch:
            async for event in watch:
                print(event.type, event.object.key, "rv", event.object.resource_version)
                if event.type == "DELETED":
                    break


if __name__ == "__main__":
    asyncio.run(main())
