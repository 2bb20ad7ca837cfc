"""Namespaces: their initial state, and their deletion with all their objects.

It does the work of a namespace controller, shortly after the response to a deletion.
"""

from __future__ import annotations

from kinform.testing.api_errors import FieldProblem
from kinform.testing.requests import ParsedDeleteOptions, ParsedWriteOptions
from kinform.testing.resources import ServedResource
from kinform.testing.storage import ClusterState, Collection, ObjectDocument, StoredObject
from kinform.testing.verbs import create_object, delete_object, set_namespace_finalizers

_NAME_LABEL = "kubernetes.io/metadata.name"
_INITIAL_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


class NamespaceController:
    """Labels namespaces, and empties and removes those that are being deleted."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        served = cluster.registry.find("", "v1", "namespaces")
        assert served is not None  # every server has namespaces
        self._served: ServedResource = served
        self._emptying: set[str] = set()
        cluster.before_write("namespaces", self._before_write)
        cluster.after_write("namespaces", self._after_write)
        cluster.after_removal(self._after_removal)

    def create_initial_objects(self) -> None:
        """Create the objects that exist in every cluster."""
        for name in _INITIAL_NAMESPACES:
            create_object(
                self._cluster, self._served, "", {"metadata": {"name": name}}, ParsedWriteOptions()
            )
        services = self._cluster.registry.find("", "v1", "services")
        assert services is not None  # every server has services
        create_object(self._cluster, services, "default", _KUBERNETES_SERVICE, ParsedWriteOptions())

    def _before_write(self, new: ObjectDocument, old: ObjectDocument | None) -> list[FieldProblem]:
        metadata = new.metadata
        metadata["labels"] = {**metadata.get("labels", {}), _NAME_LABEL: metadata.get("name", "")}
        if old is not None:
            # Only PUT to /finalize changes the finalizers.
            spec = old.read("spec") or {}
            new.edit("spec")["finalizers"] = spec.get("finalizers", [])
        return []

    def _after_write(self, stored: StoredObject, gone: bool) -> None:
        if gone:
            self._emptying.discard(stored.key)
        elif stored.metadata().get("deletionTimestamp") and stored.key not in self._emptying:
            self._emptying.add(stored.key)
            self._cluster.run_later(lambda: self._delete_contents(stored.key))

    def _delete_contents(self, namespace: str) -> None:
        """Delete all objects of a namespace, respecting finalizers."""
        for served in list(self._cluster.registry.all_resources()):
            if not served.namespaced or "delete" not in served.verbs:
                continue
            collection = self._cluster.collection(served)
            for stored in collection.select(f"{namespace}/"):
                if stored.key in collection.objects:
                    name = stored.key.partition("/")[2]
                    # No kubelet would end the grace period.
                    options = ParsedDeleteOptions(grace=0, propagation="Background")
                    delete_object(self._cluster, served, namespace, name, options)
        self._remove_if_empty(namespace)

    def _after_removal(self, collection: Collection, gone: StoredObject) -> None:
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
        set_namespace_finalizers(self._cluster, self._served, stored, [])


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
