"""A client of either server, with namespaces of its own, for the contract of the cache."""

from __future__ import annotations

import itertools
import uuid
from typing import Any

from kinform import Client
from kinform.objects import Unstructured


class CacheServer:
    """A server with a client, and fresh names in it.

    Attributes:
        client: The client.
        marker: A label value that only objects of this test have.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self.marker = f"t{uuid.uuid4().hex[:10]}"
        self._numbers = itertools.count()

    async def new_namespace(self, **labels: str) -> str:
        name = f"{self.marker}-{next(self._numbers)}"
        await self.client.create(
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": name, "labels": {"test": self.marker, **labels}},
            }
        )
        return name

    async def create_map(self, name: str, namespace: str, **labels: str) -> Unstructured:
        return await self.client.create(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": name,
                    "namespace": namespace,
                    "labels": {"test": self.marker, **labels},
                },
                "data": {"color": labels.get("color", "none")},
            }
        )

    async def create_pod(
        self, name: str, namespace: str, node: str = "", **labels: str
    ) -> Unstructured:
        spec: dict[str, Any] = {
            "containers": [{"name": "main", "image": "example"}],
            "automountServiceAccountToken": False,
        }
        if node:
            spec["nodeName"] = node
        return await self.client.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "namespace": namespace,
                    "labels": {"test": self.marker, **labels},
                },
                "spec": spec,
            }
        )
