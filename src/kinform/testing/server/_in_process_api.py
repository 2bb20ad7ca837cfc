"""The verbs for callers in the same process: objects as dicts, without a socket.

The semantics and the errors are those of HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kinform.api import GVR, FieldSelector, LabelSelector, split_api_version
from kinform.errors import NoMatchError
from kinform.testing import api_errors
from kinform.testing.formats import Representation
from kinform.testing.requests import ParsedDeleteOptions, ParsedListOptions, ParsedWriteOptions
from kinform.testing.resources import ServedResource
from kinform.testing.storage import ClusterState, ObjectDocument, StoredObject
from kinform.testing.verbs import (
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    Selection,
    create_object,
    delete_object,
    find_object,
    patch_object,
    replace_object,
    restore_object,
)

Json = dict[str, Any]

_PATCHES = {"json": JSON_PATCH, "merge": MERGE_PATCH, "strategic": STRATEGIC_PATCH}
_WRITE = ParsedWriteOptions()
# Metadata that a recreated object does not inherit.
_NOT_INHERITED = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "resourceVersion",
        "uid",
    }
)


class InProcessApi:
    """The verbs of a cluster, in process. Only for use on the server's thread."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster

    def create(self, obj: Mapping[str, Any]) -> Json:
        """Create an object and return it as stored. The default namespace is ``default``."""
        served = self._of_object(obj)
        namespace = self._namespace_of(served, obj)
        stored = create_object(self._cluster, served, namespace, _copy(obj), _WRITE)
        return self._decoded(served, stored)

    def load(self, objects: Iterable[Mapping[str, Any] | bytes]) -> int:
        """Store many objects unchanged, including their status, and return their number.

        As from a backup, they keep their uids and timestamps. JSON bytes load fastest.
        Objects passed as dicts must not be modified afterwards.
        """
        count = 0
        for given in objects:
            head: Mapping[str, Any]
            if isinstance(given, bytes):
                head = _read_type(given)
                document = ObjectDocument.from_body(given)
                if b"\n" in given:
                    # Bytes are stored unchanged, and a line break would end a watch event.
                    document = ObjectDocument.from_object(msgspec.json.decode(given))
            else:
                head = given
                document = ObjectDocument.from_object(given)
            served = self._of_object(head)
            restore_object(self._cluster, served, self._namespace_of(served, head), document)
            count += 1
        return count

    def update(self, obj: Mapping[str, Any], *, subresource: str = "") -> Json:
        """Replace an object, or its status, and return it as stored."""
        served = self._of_object(obj)
        namespace = self._namespace_of(served, obj)
        name = (obj.get("metadata") or {}).get("name", "")
        stored, _ = replace_object(
            self._cluster, served, namespace, name, _copy(obj), _WRITE, subresource
        )
        return self._decoded(served, stored)

    def patch(
        self,
        gvr: GVR,
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        kind: str = "merge",
        subresource: str = "",
    ) -> Json:
        """Patch an object and return it; ``kind`` is ``merge``, ``json`` or ``strategic``."""
        served = self._of_resource(gvr)
        stored = patch_object(
            self._cluster,
            served,
            self._namespace(served, namespace),
            name,
            _patch_type(kind),
            patch,
            _WRITE,
            subresource,
        )
        return self._decoded(served, stored)

    def touch(self, gvr: GVR, name: str, patch: Mapping[str, Any], namespace: str = "") -> int:
        """Merge-patch an object and only return its version, which is the fastest change."""
        served = self._of_resource(gvr)
        place = self._namespace(served, namespace)
        stored = patch_object(self._cluster, served, place, name, MERGE_PATCH, patch, _WRITE)
        return stored.resource_version

    def delete(
        self,
        gvr: GVR,
        name: str,
        namespace: str = "",
        *,
        grace_period_seconds: int | None = None,
        propagation_policy: str = "",
    ) -> bool:
        """Delete an object. Return False if finalizers or a pod's grace period still keep it."""
        served = self._of_resource(gvr)
        options = ParsedDeleteOptions(grace=grace_period_seconds, propagation=propagation_policy)
        place = self._namespace(served, namespace)
        return delete_object(self._cluster, served, place, name, options).gone

    def recreate(self, gvr: GVR, name: str, namespace: str = "") -> Json:
        """Delete an object and create it again immediately, with a new uid. Return it as stored.

        Raises:
            ConflictError: A finalizer keeps the object.
        """
        served = self._of_resource(gvr)
        old = self.get(gvr, name, namespace)
        if not self.delete(gvr, name, namespace, grace_period_seconds=0):
            raise api_errors.conflict(
                served.qualified_name, name, "its finalizers prevent the deletion"
            )
        metadata = {
            key: value for key, value in old["metadata"].items() if key not in _NOT_INHERITED
        }
        return self.create({**old, "metadata": metadata})

    def get(self, gvr: GVR, name: str, namespace: str = "") -> Json:
        """Return one object.

        Raises:
            NotFoundError: The object does not exist.
        """
        served = self._of_resource(gvr)
        stored = find_object(self._cluster, served, self._namespace(served, namespace), name)
        return self._decoded(served, stored)

    def list(
        self,
        gvr: GVR,
        namespace: str = "",
        *,
        label_selector: LabelSelector | str = "",
        field_selector: FieldSelector | str = "",
    ) -> list[Json]:
        """Return the objects, of one namespace or selection if given, by namespace and name."""
        served = self._of_resource(gvr)
        if isinstance(label_selector, str):
            label_selector = LabelSelector.parse(label_selector)
        if isinstance(field_selector, str):
            field_selector = FieldSelector.parse(field_selector)
        options = ParsedListOptions(labels=label_selector, fields=field_selector)
        collection = self._cluster.collection(served)
        selection = Selection(collection, namespace, options)
        return [
            self._decoded(served, stored)
            for stored in collection.select(selection.prefix)
            if selection.matches(stored)
        ]

    def _decoded(self, served: ServedResource, stored: StoredObject) -> Json:
        found: Json = msgspec.json.decode(Representation(served).body(stored))
        return found

    def _of_object(self, obj: Mapping[str, Any]) -> ServedResource:
        kind, api_version = obj.get("kind"), obj.get("apiVersion")
        if not kind or not api_version:
            raise api_errors.bad_request("an object must have a kind and apiVersion")
        group, version = split_api_version(api_version)
        served = self._cluster.registry.find_kind(group, version, kind)
        if served is None:
            raise NoMatchError(
                f"kind {kind!r} in {api_version!r} is not served; "
                "for a custom resource, create its CustomResourceDefinition first"
            )
        return served

    def _of_resource(self, gvr: GVR) -> ServedResource:
        served = self._cluster.registry.find(gvr.group, gvr.version, gvr.resource)
        if served is None:
            raise NoMatchError(
                f"{gvr} is not served; "
                "for a custom resource, create its CustomResourceDefinition first"
            )
        return served

    def _namespace_of(self, served: ServedResource, obj: Mapping[str, Any]) -> str:
        return self._namespace(served, (obj.get("metadata") or {}).get("namespace", ""))

    def _namespace(self, served: ServedResource, namespace: str) -> str:
        """Return the namespace; like kubectl, ``default`` if there is none."""
        return (namespace or "default") if served.namespaced else ""


class _ObjectTypeMetadata(msgspec.Struct):
    namespace: str = ""


class _ObjectType(msgspec.Struct):
    kind: str = ""
    apiVersion: str = ""  # noqa: N815 - the name on the wire
    metadata: _ObjectTypeMetadata = msgspec.field(default_factory=_ObjectTypeMetadata)


_OBJECT_TYPE = msgspec.json.Decoder(_ObjectType)


def _read_type(body: bytes) -> Json:
    """Read the type and metadata of an object.

    Raises:
        BadRequestError: The body is not an object.
    """
    try:
        head = _OBJECT_TYPE.decode(body)
    except msgspec.DecodeError as error:
        raise api_errors.bad_request(f"cannot load an object: {error}") from error
    return {
        "kind": head.kind,
        "apiVersion": head.apiVersion,
        "metadata": {"namespace": head.metadata.namespace},
    }


def _patch_type(kind: str) -> str:
    if kind not in _PATCHES:
        raise api_errors.bad_request(
            f"{kind!r} is not a kind of patch; the kinds are {', '.join(_PATCHES)}"
        )
    return _PATCHES[kind]


def _copy(obj: Mapping[str, Any]) -> Json:
    """Return a copy that the caller cannot modify."""
    copied: Json = msgspec.json.decode(msgspec.json.encode(obj))
    return copied
