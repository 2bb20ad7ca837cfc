"""Replaces stored objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinform.testing import api_errors
from kinform.testing.api_errors import FieldProblem
from kinform.testing.requests import ParsedWriteOptions
from kinform.testing.resources import ServedResource
from kinform.testing.storage import ClusterState, StoredObject
from kinform.testing.verbs._create import create_object
from kinform.testing.verbs._writes import (
    accept_object,
    check_name,
    commit,
    given_version,
    object_key,
)


def replace_object(
    cluster: ClusterState,
    served: ServedResource,
    namespace: str,
    name: str,
    obj: Mapping[str, Any],
    options: ParsedWriteOptions,
    subresource: str = "",
) -> tuple[StoredObject, bool]:
    """Replace an object, and return it and whether it was created.

    Raises:
        NotFoundError: The object does not exist, and a PUT does not create this kind.
        ConflictError: The version is not the latest.
        InvalidError: The object is invalid.
    """
    document = accept_object(served, obj, namespace)
    given = document.metadata
    check_name(given.get("name", ""), name)
    old = cluster.collection(served).objects.get(object_key(served, namespace, name))
    if old is None:
        if not served.traits.create_on_update or subresource or given.get("uid"):
            raise api_errors.not_found(served.qualified_name, name)
        given.pop("resourceVersion", None)
        return create_object(cluster, served, namespace, {**obj, "metadata": given}, options), True
    if not given_version(given) and not served.traits.unconditional_update:
        problem = FieldProblem(
            "FieldValueInvalid",
            "metadata.resourceVersion",
            "Invalid value: 0: must be specified for an update",
        )
        raise api_errors.invalid(served.qualified_name, name, [problem])
    if (uid := given.get("uid")) and uid != (known := old.metadata()["uid"]):
        key = f"/registry/{served.gvr.resource}/{old.key}"
        why = (
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, "
            f"AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, "
            f"UID in object meta: {known}"
        )
        raise api_errors.conflict(served.qualified_name, name, why)
    return commit(cluster, served, old, document, options, subresource), False
