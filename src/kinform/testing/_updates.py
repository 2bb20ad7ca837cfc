"""Replaces stored objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinform.testing import _status
from kinform.testing._cluster import Cluster
from kinform.testing._creates import create
from kinform.testing._options import WriteOptions
from kinform.testing._resources import ServedResource
from kinform.testing._status import Problem
from kinform.testing._storage import Stored
from kinform.testing._writes import accepted_object, check_name, commit, given_version, object_key


def replace(
    cluster: Cluster,
    served: ServedResource,
    namespace: str,
    name: str,
    obj: Mapping[str, Any],
    options: WriteOptions,
    subresource: str = "",
) -> tuple[Stored, bool]:
    """Replace an object, and return it and whether it was created.

    Raises:
        NotFoundError: The object does not exist, and a PUT does not create this kind.
        ConflictError: The version is not the latest.
        InvalidError: The object is invalid.
    """
    document = accepted_object(served, obj, namespace)
    given = document.metadata
    check_name(given.get("name", ""), name)
    old = cluster.collection(served).objects.get(object_key(served, namespace, name))
    if old is None:
        if not served.traits.create_on_update or subresource or given.get("uid"):
            raise _status.not_found(served.named, name)
        given.pop("resourceVersion", None)
        return create(cluster, served, namespace, {**obj, "metadata": given}, options), True
    if not given_version(given) and not served.traits.unconditional_update:
        problem = Problem(
            "FieldValueInvalid",
            "metadata.resourceVersion",
            "Invalid value: 0: must be specified for an update",
        )
        raise _status.invalid(served.named, name, [problem])
    if (uid := given.get("uid")) and uid != (known := old.metadata()["uid"]):
        key = f"/registry/{served.gvr.resource}/{old.key}"
        why = (
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, "
            f"AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, "
            f"UID in object meta: {known}"
        )
        raise _status.conflict(served.named, name, why)
    return commit(cluster, served, old, document, options, subresource), False
