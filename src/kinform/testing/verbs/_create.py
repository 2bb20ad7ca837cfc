"""Creates objects, with all fields that the server sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinform.errors import AlreadyExistsError
from kinform.testing import api_errors
from kinform.testing.requests import ParsedWriteOptions
from kinform.testing.resources import ServedResource
from kinform.testing.storage import ClusterState, ObjectDocument, StoredObject
from kinform.testing.validation import (
    accept_metadata,
    apply_defaults,
    generate_name,
    initial_status,
    metadata_problems,
    name_problems,
)
from kinform.testing.verbs._writes import accept_object, object_key, refuse, store_object

_NAME_ATTEMPTS = 8


def create_object(
    cluster: ClusterState,
    served: ServedResource,
    namespace: str,
    obj: Mapping[str, Any],
    options: ParsedWriteOptions,
) -> StoredObject:
    """Store a new object.

    Raises:
        AlreadyExistsError: The name is in use.
        NotFoundError: The namespace does not exist.
        ForbiddenError: The namespace is being deleted.
        InvalidError: The object is invalid.
    """
    base = accept_object(served, obj, namespace)
    metadata = base.metadata
    generate = not metadata.get("name") and metadata.get("generateName")
    for attempt in range(_NAME_ATTEMPTS):
        document = base.copy()
        metadata = document.own_metadata()
        if generate:
            metadata["name"] = generate_name(metadata["generateName"])
        if served.namespaced:
            metadata["namespace"] = namespace
            _check_namespace(cluster, served, namespace, metadata.get("name", ""))
        try:
            return _create_named(cluster, served, document, options)
        except AlreadyExistsError:
            if not generate or attempt == _NAME_ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def restore_object(
    cluster: ClusterState, served: ServedResource, namespace: str, document: ObjectDocument
) -> StoredObject:
    """Store an object unchanged, including its status, as from a backup.

    It keeps its uid, timestamps and generation; missing ones are set.

    Raises:
        AlreadyExistsError: The name is in use.
        NotFoundError: The namespace does not exist.
        InvalidError: The name is missing or invalid.
    """
    metadata = accept_metadata(document.read("metadata"))
    document.set("metadata", metadata)
    if served.namespaced:
        metadata["namespace"] = namespace
        _check_namespace(cluster, served, namespace, metadata.get("name", ""))
    metadata.setdefault("uid", cluster.new_uid())
    metadata.setdefault("creationTimestamp", cluster.timestamp())
    if served.traits.generation:
        metadata.setdefault("generation", 1)
    problems = name_problems(served, metadata)
    refuse(served, metadata.get("name", ""), problems)
    key = object_key(served, namespace, metadata["name"])
    if key in cluster.collection(served).objects:
        raise api_errors.already_exists(served.qualified_name, metadata["name"])
    return store_object(cluster, served, key, document, dry_run=False)


def _create_named(
    cluster: ClusterState,
    served: ServedResource,
    document: ObjectDocument,
    options: ParsedWriteOptions,
) -> StoredObject:
    metadata = document.metadata
    given_version = metadata.pop("resourceVersion", "")
    metadata.pop("deletionTimestamp", None)
    metadata.pop("deletionGracePeriodSeconds", None)
    metadata["uid"] = cluster.new_uid()
    metadata["creationTimestamp"] = cluster.timestamp()
    if served.traits.generation:
        metadata["generation"] = 1
    resource = str(served.stored.resource)
    if served.splits_status and not served.traits.status_on_create:
        document.remove("status")
    if not served.custom:
        apply_defaults(resource, document)
        if "status" not in document and (status := initial_status(resource)) is not None:
            document.set("status", status)
    problems = name_problems(served, metadata) + metadata_problems(served, metadata)
    problems += cluster.run_before_write(served.stored, document, None)
    refuse(served, metadata.get("name", ""), problems)
    if given_version not in ("", "0"):
        raise api_errors.internal("resourceVersion should not be set on objects to be created")
    key = object_key(served, metadata.get("namespace", ""), metadata["name"])
    if key in cluster.collection(served).objects:
        raise api_errors.already_exists(served.qualified_name, metadata["name"])
    return store_object(cluster, served, key, document, dry_run=options.dry_run)


def _check_namespace(
    cluster: ClusterState, served: ServedResource, namespace: str, name: str
) -> None:
    home = cluster.registry.find("", "v1", "namespaces")
    assert home is not None  # every server has namespaces
    found = cluster.collection(home).objects.get(namespace)
    if found is None:
        raise api_errors.not_found(home.qualified_name, namespace)
    if found.metadata().get("deletionTimestamp"):
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
        why = (
            f"unable to create new content in namespace {namespace} because it is being terminated"
        )
        raise api_errors.forbidden(served.qualified_name, name, why, causes=[cause])
