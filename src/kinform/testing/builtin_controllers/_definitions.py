"""Serves the kinds of CustomResourceDefinitions, and removes them with their objects.

It does the work of an API server's controllers for definitions. Schemas are not implemented:
objects are accepted without validation.
"""

from __future__ import annotations

import re
from typing import Any

from kinform.api import GVK, GVR
from kinform.testing import api_errors
from kinform.testing.api_errors import FieldProblem, QualifiedName
from kinform.testing.requests import ParsedDeleteOptions
from kinform.testing.resources import (
    ResourceTraits,
    ScalePaths,
    SelectableField,
    ServedResource,
    StoredKind,
    Subresource,
)
from kinform.testing.storage import ClusterState, Collection, ObjectDocument, StoredObject
from kinform.testing.verbs import delete_object, remove_object, store_object

Json = dict[str, Any]

CRDS = "customresourcedefinitions.apiextensions.k8s.io"
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SUBRESOURCE_VERBS = ("get", "patch", "update")
_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


class DefinitionController:
    """Keeps the served resources in sync with the stored definitions."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        served = cluster.registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert served is not None  # every server has definitions
        self._served: ServedResource = served
        self._terminating: dict[str, str] = {}
        cluster.before_write(CRDS, self._before_write)
        cluster.after_write(CRDS, self._after_write)
        cluster.after_removal(self._after_removal)

    # Before a write

    def _before_write(self, new: ObjectDocument, old: ObjectDocument | None) -> list[FieldProblem]:
        spec = new.edit("spec")
        names = spec.get("names")
        if not isinstance(names, dict):
            names = {}
        kind, plural = names.get("kind") or "", names.get("plural") or ""
        if kind:
            names["singular"] = names.get("singular") or kind.lower()
            names["listKind"] = names.get("listKind") or f"{kind}List"
            spec["names"] = names
        spec.setdefault("conversion", {"strategy": "None"})
        versions = [each for each in spec.get("versions") or () if isinstance(each, dict)]
        if old is None:
            stored = [each.get("name", "") for each in versions if each.get("storage")]
            accepted = {"plural": "", "kind": ""}
            new.set(
                "status",
                {"conditions": None, "acceptedNames": accepted, "storedVersions": stored},
            )
        return _problems(new.metadata.get("name", ""), spec, kind, plural, versions)

    # After a write

    def _after_write(self, stored: StoredObject, gone: bool) -> None:
        document = stored.document()
        if gone:
            self._terminating.pop(stored.key, None)
            self._serve()
            return
        if document.read("metadata").get("deletionTimestamp"):
            if stored.key not in self._terminating:
                self._terminating[stored.key] = _collection_name(document)
                self._cluster.run_later(lambda: self._delete_contents(stored.key))
            return
        if self._establish(stored, document):
            return  # the write of the status triggers another reaction
        self._serve()

    def _establish(self, stored: StoredObject, document: ObjectDocument) -> bool:
        """Set the status to established. Return False if it already was."""
        spec, status = document.read("spec"), document.read("status") or {}
        known = list(status.get("storedVersions") or ())
        for version in spec["versions"]:
            if version.get("storage") and version["name"] not in known:
                known.append(version["name"])
        established = any(
            condition["type"] == "Established" for condition in status.get("conditions") or ()
        )
        names = spec["names"]
        accepted = status.get("acceptedNames") == names and status.get("storedVersions") == known
        if established and accepted:
            return False
        moment = self._cluster.timestamp()
        conditions = [
            _condition("NamesAccepted", "NoConflicts", "no conflicts found", moment),
            _condition(
                "Established",
                "InitialNamesAccepted",
                "the initial names have been accepted",
                moment,
            ),
        ]
        document.set(
            "status",
            {
                "conditions": status.get("conditions") or conditions,
                "acceptedNames": names,
                "storedVersions": known,
            },
        )
        store_object(self._cluster, self._served, stored.key, document, dry_run=False)
        return True

    def _serve(self) -> None:
        resources: list[ServedResource] = []
        groups: dict[str, set[str]] = {}
        for stored in self._cluster.collection(self._served).objects.values():
            spec = stored.document().read("spec")
            for served in _served_resources(spec):
                resources.append(served)
                groups.setdefault(served.gvr.group, set()).add(served.gvr.version)
        preferred = {
            group: tuple(sorted(versions, key=version_rank)) for group, versions in groups.items()
        }
        self._cluster.registry.replace_custom(resources, preferred)
        for kind in {str(served.stored.resource): served.stored for served in resources}.values():
            collection = self._cluster.storage.collection(kind)
            if collection.kind != kind:
                collection.change_kind(kind)

    # Deletion

    def _delete_contents(self, name: str) -> None:
        """Delete all objects of a kind that is being deleted, respecting finalizers."""
        served = self._served_by(name)
        if served is not None:
            collection = self._cluster.collection(served)
            for stored in collection.select(""):
                namespace, _, object_name = stored.key.rpartition("/")
                options = ParsedDeleteOptions(propagation="Background")
                delete_object(self._cluster, served, namespace, object_name, options)
        self._remove_if_empty(name)

    def _after_removal(self, collection: Collection, gone: StoredObject) -> None:
        removed_from = str(collection.kind.resource)
        for name, resource in list(self._terminating.items()):
            if resource == removed_from:
                self._remove_if_empty(name)

    def _remove_if_empty(self, name: str) -> None:
        stored = self._cluster.collection(self._served).objects.get(name)
        served = self._served_by(name)
        if stored is None:
            return
        if served is not None:
            if self._cluster.collection(served).objects:
                return
            self._cluster.storage.drop(served.stored)
        remove_object(self._cluster, self._served, stored)

    def _served_by(self, name: str) -> ServedResource | None:
        """Return the resource of a definition, in any version."""
        for served in self._cluster.registry.all_resources():
            if served.custom and str(served.qualified_name) == name:
                return served
        return None


def version_rank(name: str) -> tuple[int, int, int, str]:
    """Sort key of versions by preference: stable, beta, alpha; each with the latest first."""
    parts = _VERSION.fullmatch(name)
    if parts is None:
        return (3, 0, 0, name)
    stage = {None: 0, "beta": 1, "alpha": 2}[parts[2]]
    return (stage, -int(parts[1]), -int(parts[3] or 0), name)


def _problems(
    name: str, spec: Json, kind: str, plural: str, versions: list[Json]
) -> list[FieldProblem]:
    problems: list[FieldProblem] = []
    group, scope = spec.get("group") or "", spec.get("scope") or ""
    if name != f"{plural}.{group}":
        why = 'must be spec.names.plural+"."+spec.group'
        problems.append(api_errors.wrong_value("metadata.name", name, why))
    if not group:
        problems.append(api_errors.required("spec.group"))
    elif "." not in group:
        why = "should be a domain with at least one dot"
        problems.append(api_errors.wrong_value("spec.group", group, why))
    if scope not in ("Cluster", "Namespaced"):
        problems.append(
            api_errors.unsupported_value("spec.scope", scope, ["Cluster", "Namespaced"])
            if scope
            else api_errors.required("spec.scope")
        )
    for member, value in (("plural", plural), ("kind", kind)):
        if not value:
            problems.append(api_errors.required(f"spec.names.{member}"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        problems.append(api_errors.wrong_value("spec.versions", versions, why))
    seen = [version.get("name") for version in versions]
    if len(set(seen)) != len(seen):
        why = "must contain unique version names"
        problems.append(api_errors.wrong_value("spec.versions", versions, why))
    for position, version in enumerate(versions):
        schema = version.get("schema") or {}
        if not schema.get("openAPIV3Schema"):
            where = f"spec.versions[{position}].schema.openAPIV3Schema"
            problems.append(api_errors.required(where, "schemas are required"))
    return problems


def _served_resources(spec: Json) -> list[ServedResource]:
    """Return the resources of one definition: one for each served version."""
    group, names = spec["group"], spec["names"]
    versions = spec["versions"]
    storage = next(version["name"] for version in versions if version["storage"])
    labels = {path: None for version in versions for path in _selectable(version)}
    stored = StoredKind(
        resource=QualifiedName(group, names["plural"]),
        gvk=GVK(group, storage, names["kind"]),
        namespaced=spec["scope"] == "Namespaced",
        custom=True,
        fields=tuple(SelectableField(label, tuple(label.split("."))) for label in labels),
    )
    resources = []
    for version in versions:
        if version.get("served"):
            resources.append(_served_version(spec, version, stored))
    return resources


def _served_version(spec: Json, version: Json, stored: StoredKind) -> ServedResource:
    group, names = spec["group"], spec["names"]
    gvr = GVR(group, version["name"], names["plural"])
    declared = version.get("subresources") or {}
    subresources: dict[str, Subresource] = {}
    if "status" in declared:
        own = GVK(group, version["name"], names["kind"])
        subresources["status"] = Subresource("status", own, _SUBRESOURCE_VERBS)
    scale = None
    if paths := declared.get("scale"):
        kind = GVK("autoscaling", "v1", "Scale")
        subresources["scale"] = Subresource("scale", kind, _SUBRESOURCE_VERBS)
        scale = ScalePaths(
            spec_replicas=_path(paths.get("specReplicasPath") or ".spec.replicas"),
            status_replicas=_path(paths.get("statusReplicasPath") or ".status.replicas"),
            selector=_path(paths.get("labelSelectorPath") or ""),
        )
    return ServedResource(
        gvr=gvr,
        kind=names["kind"],
        list_kind=names["listKind"],
        singular=names["singular"],
        verbs=_VERBS,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        storage_version_hash="",
        subresources=subresources,
        stored=stored,
        traits=ResourceTraits.of_custom(),
        selectable=frozenset(_selectable(version)),
        scale=scale,
    )


def _selectable(version: Json) -> list[str]:
    return [each["jsonPath"].lstrip(".") for each in version.get("selectableFields") or ()]


def _path(json_path: str) -> tuple[str, ...]:
    return tuple(step for step in json_path.split(".") if step)


def _collection_name(document: ObjectDocument) -> str:
    spec = document.read("spec")
    return str(QualifiedName(spec["group"], spec["names"]["plural"]))


def _condition(kind: str, reason: str, message: str, moment: str) -> Json:
    return {
        "type": kind,
        "status": "True",
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }
