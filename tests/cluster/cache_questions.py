"""Objects on a real server, and random questions about them, for caches that are compared."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kinform import GVR, Client
from kinform.errors import KinformError, NotFoundError
from kinform.models.core.v1 import ConfigMap, Node, Pod, Secret
from kinform.objects import Handle
from tests.cluster.informer_flows import PATIENCE, create_namespace
from tests.support.definitions import definition

DEFINITIONS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
SEED = 19
PODS, CONFIG_MAPS, WIDGETS, NODES = 60, 40, 30, 5
LABEL_SELECTORS = (
    "app=web",
    "app!=web",
    "app in (web,db)",
    "app notin (web,job)",
    "tier",
    "!tier",
    "app=web,tier in (front)",
    "app in (db,job),!tier",
    "app=nothing-has-this",
)


@dataclass(frozen=True, slots=True)
class Question:
    do: Literal["get", "list"]
    kind: str
    namespace: str = ""
    name: str = ""
    labels: str = ""
    fields: str = ""
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that both caches hold, with the options of both.

    Attributes:
        of: What our calls name it by.
        description: What the program's ``start`` command names it by.
        indexes: The indexed fields, and values to ask for.
        labels: Restricts what is cached.
        fields: Restricts what is cached.
    """

    of: Any
    description: Mapping[str, object]
    indexes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    labels: str = ""
    fields: str = ""
    is_namespaced: bool = True
    is_declared: bool = True


class World:
    """The objects that questions are about, in namespaces of their own."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._random = random.Random(SEED)
        self.id = f"cr-{uuid.uuid4().hex[:6]}"
        self.scope = [f"{self.id}-{letter}" for letter in "abc"]
        self.outside = f"{self.id}-outside"
        self.widgets = GVR(f"{self.id}.example.com", "v1", "widgets")
        self.nodes = [f"{self.id}-node-{number}" for number in range(NODES)]
        self.names: dict[str, list[tuple[str, str]]] = {}
        core = {"version": "v1"}
        self.kinds = {
            "Pod": Kind(
                Pod,
                {**core, "kind": "Pod"},
                {
                    # An empty value asks for the pods that have none.
                    "spec.nodeName": (*self.nodes, ""),
                    "status.phase": ("Pending", "Running", "Failed"),
                    "images": ("example.test/one", "example.test/two", "example.test/none"),
                },
                fields=f"spec.nodeName!={self.nodes[-1]}",
            ),
            "ConfigMap": Kind(
                ConfigMap,
                {**core, "kind": "ConfigMap"},
                {"data.color": ("red", "green", "")},
                labels=f"run={self.id},app!=job",
            ),
            "Node": Kind(
                Node, {**core, "kind": "Node"}, labels=f"run={self.id}", is_namespaced=False
            ),
            "Widget": Kind(
                self.widgets,
                {"group": self.widgets.group, **core, "kind": "Widget", "unstructured": True},
                {"spec.size": ("small", "large", "")},
            ),
            "Secret": Kind(
                Secret, {**core, "kind": "Secret", "undeclared": True}, is_declared=False
            ),
        }

    async def create(self) -> None:
        for namespace in (*self.scope, self.outside):
            await create_namespace(self._client, namespace)
        await self._client.create(definition("widgets", "Widget", self.widgets.group))
        await self._wait_for_widgets()
        await self._create_all("Node", [self._node(name) for name in self.nodes])
        await self._create_all("Pod", [self._pod(f"pod-{n}") for n in range(PODS)])
        for namespace, name in self._random.sample(self.names["Pod"], PODS // 2):
            status = {"status": {"phase": "Running"}}
            await self._client.patch(Pod, name, status, namespace=namespace, subresource="status")
        maps = [self._config_map(f"map-{n}") for n in range(CONFIG_MAPS)]
        await self._create_all("ConfigMap", maps)
        await self._create_all("Widget", [self._widget(f"widget-{n}") for n in range(WIDGETS)])

    async def change(self) -> None:
        """Create, relabel and delete objects of each kind."""
        await self._create_all("Pod", [self._pod(f"late-{n}") for n in range(10)])
        await self._create_all("ConfigMap", [self._config_map(f"late-{n}") for n in range(10)])
        await self._create_all("Widget", [self._widget(f"late-{n}") for n in range(10)])
        for kind in ("Pod", "ConfigMap", "Widget"):
            resource = self.kinds[kind].of
            for namespace, name in self._random.sample(self.names[kind], 20):
                if self._random.random() < 0.5:
                    await self._client.delete(resource, name, namespace=namespace, grace_period=0)
                else:
                    labels = {"app": None, "tier": None, **self._labels()}
                    await self._client.patch(
                        resource, name, {"metadata": {"labels": labels}}, namespace=namespace
                    )

    async def live(self, kind: str, scope: list[str]) -> list[str]:
        """What the server has of the part of a kind that is cached."""
        options = self.kinds[kind]
        found = [
            each
            for namespace in (scope if options.is_namespaced and scope else [""])
            for each in await self._client.list(
                options.of, namespace=namespace, labels=options.labels, fields=options.fields
            )
        ]
        return sorted(map(versioned, found))

    async def remove(self) -> None:
        """Leave the shared server as it was, except for namespaces, which it never deletes."""
        for kind in ("Pod", "ConfigMap", "Widget", "Node"):
            for namespace, name in self.names.get(kind, ()):
                try:
                    await self._client.delete(
                        self.kinds[kind].of,
                        name,
                        namespace=namespace or None,
                        grace_period=0,
                    )
                except NotFoundError:
                    continue
        await self._client.delete(DEFINITIONS, f"widgets.{self.widgets.group}")

    def question(self, chosen: random.Random) -> Question:
        do: Literal["get", "list"] = chosen.choice(("get", "list"))
        kind = chosen.choices(list(self.kinds), (8, 6, 2, 5, 1))[0]
        if do == "get":
            namespace, name = chosen.choice(self.names.get(kind, [("", "any")]))
            if chosen.random() < 0.2:
                name = "missing"
            if chosen.random() < 0.3:
                namespace = self._namespace(kind, chosen)
            return Question(do, kind, namespace or self._anywhere(kind), name)
        return Question(
            do,
            kind,
            namespace=chosen.choice(("", self._namespace(kind, chosen))),
            labels=chosen.choice(LABEL_SELECTORS) if chosen.random() < 0.5 else "",
            fields=self._fields(kind, chosen),
            limit=chosen.choice((1, 3, 1000)) if chosen.random() < 0.2 else 0,
        )

    def _anywhere(self, kind: str) -> str:
        return self.scope[0] if self.kinds[kind].is_namespaced else ""

    def _namespace(self, kind: str, chosen: random.Random) -> str:
        if not self.kinds[kind].is_namespaced:
            return ""
        # controller-runtime looks at the namespace first, and then for the kind.
        others = [self.outside, f"{self.id}-nowhere"] if self.kinds[kind].is_declared else []
        return chosen.choice(self.scope + others)

    def _fields(self, kind: str, chosen: random.Random) -> str:
        if chosen.random() < 0.4:
            return ""
        if chosen.random() < 0.1:
            return "spec.unindexed=value"
        indexes = self.kinds[kind].indexes
        count = min(len(indexes), chosen.choice((1, 1, 2)))
        names = chosen.sample(sorted(indexes), count)
        return ",".join(f"{name}={chosen.choice(indexes[name])}" for name in names)

    async def _create_all(self, kind: str, objects: list[dict[str, Any]]) -> None:
        for each in objects:
            await self._client.create(each)
            metadata = each["metadata"]
            key = (metadata.get("namespace", ""), metadata["name"])
            self.names.setdefault(kind, []).append(key)

    async def _wait_for_widgets(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    await self._client.list(self.widgets)
                except KinformError:
                    await asyncio.sleep(0.05)
                else:
                    return

    def _labels(self) -> dict[str, str]:
        labels = {"run": self.id, "app": self._random.choice(("web", "db", "job"))}
        if self._random.random() < 0.6:
            labels["tier"] = self._random.choice(("front", "back"))
        return labels

    def _metadata(self, name: str) -> dict[str, Any]:
        namespace = self._random.choice((*self.scope, self.outside))
        return {"name": name, "namespace": namespace, "labels": self._labels()}

    def _node(self, name: str) -> dict[str, Any]:
        metadata = {"name": name, "labels": self._labels()}
        return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}

    def _pod(self, name: str) -> dict[str, Any]:
        images = self._random.sample(("example.test/one", "example.test/two"), 2)
        containers = [
            {"name": f"c{number}", "image": image}
            for number, image in enumerate(images[: self._random.choice((1, 2))])
        ]
        node = self._random.choice((*self.nodes, None))
        spec = {"containers": containers, **({"nodeName": node} if node else {})}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": self._metadata(name), "spec": spec}

    def _config_map(self, name: str) -> dict[str, Any]:
        color = self._random.choice(("red", "green", "<&\u2028 höher", None))
        data = {"color": color} if color else {"other": "value"}
        metadata = self._metadata(name)
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}

    def _widget(self, name: str) -> dict[str, Any]:
        size = self._random.choice(("small", "large", None))
        spec = {"count": 3, "share": 0.5, **({"size": size} if size else {})}
        group = f"{self.widgets.group}/{self.widgets.version}"
        return {
            "apiVersion": group,
            "kind": "Widget",
            "metadata": self._metadata(name),
            "spec": spec,
        }


def versioned(found: Handle) -> str:
    """``namespace/name@resourceVersion``, or without a namespace."""
    namespace = f"{found.namespace}/" if found.namespace else ""
    return f"{namespace}{found.name}@{found.resource_version}"
