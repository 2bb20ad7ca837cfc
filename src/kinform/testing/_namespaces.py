"""Namespaces: their initial state, and their deletion with all their objects.

It does the work of a namespace controller, shortly after the response to a deletion.
"""

from __future__ import annotations

from typing import Any

from kinform.testing._cluster import Cluster
from kinform.testing._creates import create
from kinform.testing._deletes import delete
from kinform.testing._documents import Document
from kinform.testing._options import DeleteOptions, WriteOptions
from kinform.testing._resources import ServedResource
from kinform.testing._status import Problem
from kinform.testing._storage import Collection, Stored
from kinform.testing._writes import is_finished, remove

_NAME_LABEL = "kubernetes.io/metadata.name"
_AT_BIRTH = ("default", "kube-node-lease", "kube-public", "kube-system")


class NamespaceController:
    """Labels namespaces, and empties and removes those that are being deleted."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        served = cluster.registry.find("", "v1", "namespaces")
        assert served is not None  # every server has namespaces
        self._served: ServedResource = served
        self._emptying: set[str] = set()
        cluster.prepare("namespaces", self._prepare)
        cluster.react("namespaces", self._react)
        cluster.on_removal(self._after_removal)

    def create_first_ones(self) -> None:
        """Create the objects that exist in every cluster."""
        for name in _AT_BIRTH:
            create(self._cluster, self._served, "", {"metadata": {"name": name}}, WriteOptions())
        services = self._cluster.registry.find("", "v1", "services")
        assert services is not None  # every server has services
        create(self._cluster, services, "default", _KUBERNETES_SERVICE, WriteOptions())

    def _prepare(self, new: Document, old: Document | None) -> list[Problem]:
        metadata = new.metadata
        metadata["labels"] = {**metadata.get("labels", {}), _NAME_LABEL: metadata.get("name", "")}
        if old is not None:
            # Only PUT to /finalize changes the finalizers.
            spec = old.read("spec") or {}
            new.edit("spec")["finalizers"] = spec.get("finalizers", [])
        return []

    def _react(self, stored: Stored, gone: bool) -> None:
        if gone:
            self._emptying.discard(stored.key)
        elif stored.metadata().get("deletionTimestamp") and stored.key not in self._emptying:
            self._emptying.add(stored.key)
            self._cluster.later(lambda: self._empty(stored.key))

    def _empty(self, namespace: str) -> None:
        """Delete all objects of a namespace, respecting finalizers."""
        for served in list(self._cluster.registry.everything()):
            if not served.namespaced or "delete" not in served.verbs:
                continue
            collection = self._cluster.collection(served)
            for stored in collection.select(f"{namespace}/"):
                if stored.key in collection.objects:
                    name = stored.key.partition("/")[2]
                    # No kubelet would end the grace period.
                    options = DeleteOptions(grace=0, propagation="Background")
                    delete(self._cluster, served, namespace, name, options)
        self._remove_if_empty(namespace)

    def _after_removal(self, collection: Collection, gone: Stored) -> None:
        namespace = gone.key.partition("/")[0]
        if collection.kind.namespaced and namespace in self._emptying:
            self._remove_if_empty(namespace)

    def _remove_if_empty(self, namespace: str) -> None:
        stored = self._cluster.collection(self._served).objects.get(namespace)
        if stored is None:
            return
        for collection in self._cluster.storage.collections():
            if collection.kind.namespaced and collection.select(f"{namespace}/"):
                return
        finalized(self._cluster, self._served, stored, [])


def finalized(
    cluster: Cluster, served: ServedResource, stored: Stored, finalizers: list[Any]
) -> Document:
    """Set the finalizers of a namespace; remove it if it is being deleted and has none."""
    document = stored.document()
    spec = document.edit("spec")
    spec["finalizers"] = finalizers
    if not finalizers:
        del spec["finalizers"]
    if is_finished(served, document):
        remove(cluster, served, stored)
    return document


_KUBERNETES_SERVICE = {
    "metadata": {
        "name": "kubernetes",
        "labels": {"component": "apiserver", "provider": "kubernetes"},
    },
    "spec": {
        "clusterIP": "10.0.0.1",
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
    },
}
