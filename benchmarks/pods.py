"""Generates pods, encoded as a server stores, lists or watches them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kinform.testing.cluster_life import realistic_pod

POD_SIZE = 13_000
"""Of a pod in a store or a list, in bytes."""
EVENT_SIZE = 9_000
"""Of a pod in a watch."""
NODES = 100
"""That pods run on."""

_CREATED = "2026-01-01T00:00:00Z"


def stored_pods(
    count: int, *, size: int = POD_SIZE, nodes: int = NODES
) -> Iterator[tuple[str, bytes]]:
    """Namespace/name and body of each, as a server stores them: the version is not in it.

    The pods are spread evenly over the nodes.
    """
    for index in range(count):
        pod = realistic_pod(index, size=size)
        pod["spec"]["nodeName"] = f"node-{index % nodes:03d}"
        metadata = pod["metadata"]
        metadata["uid"] = f"{index:08x}-0000-4000-8000-{index:012x}"
        metadata["creationTimestamp"] = _CREATED
        yield f"{metadata['namespace']}/{metadata['name']}", msgspec.json.encode(pod)


def list_items(count: int) -> Iterator[bytes]:
    """As they stand in a list: with a version, and without the kind that the list says."""
    for index, (_, body) in enumerate(stored_pods(count)):
        pod = msgspec.json.decode(body)
        del pod["apiVersion"], pod["kind"]
        pod["metadata"]["resourceVersion"] = str(1000 + index)
        yield msgspec.json.encode(pod)


def watch_lines(count: int) -> Iterator[bytes]:
    """As they stand in a watch, one event a line."""
    for index, (_, body) in enumerate(stored_pods(count, size=EVENT_SIZE)):
        pod = msgspec.json.decode(body)
        pod["metadata"]["resourceVersion"] = str(1000 + index)
        event = {"type": "MODIFIED", "object": pod}
        yield msgspec.json.encode(event) + b"\n"
