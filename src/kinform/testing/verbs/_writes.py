"""Writes the next version of an object.

Fields that a client must not change (uid, timestamps, generation, and the status or everything
else if they are split) are set here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kinform.testing import api_errors
from kinform.testing.api_errors import FieldProblem
from kinform.testing.requests import ParsedWriteOptions, parse_version_number
from kinform.testing.resources import ServedResource
from kinform.testing.storage import ClusterState, ObjectDocument, StoredObject
from kinform.testing.validation import accept_metadata, apply_defaults, metadata_problems

Json = dict[str, Any]

# With this, a client removes all managed fields.
_NO_FIELDS = msgspec.Raw(b"[{}]")
_FIXED_METADATA = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
)
# The metadata that a write to /status may change, if any.
_STATUS_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")


def object_key(served: ServedResource, namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if served.namespaced else name


def find_object(
    cluster: ClusterState, served: ServedResource, namespace: str, name: str
) -> StoredObject:
    """Return the latest version of an object.

    Raises:
        NotFoundError: The object does not exist.
    """
    found = cluster.collection(served).objects.get(object_key(served, namespace, name))
    if found is None:
        raise api_errors.not_found(served.qualified_name, name)
    return found


def check_name(given: str, name: str) -> None:
    """Check that the name in an object is the one in the URL."""
    if not given:
        raise api_errors.bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if given != name:
        raise api_errors.bad_request(
            f"the name of the object ({given}) does not match the name on the URL ({name})"
        )


def check_namespace_of(served: ServedResource, given: str, namespace: str) -> None:
    """Check that the namespace in an object, if any, is the one in the URL."""
    if given and given != namespace:
        if served.namespaced:
            raise api_errors.bad_request(
                "the namespace of the provided object does not match the namespace sent on "
                "the request"
            )
        problem = api_errors.forbidden_value("metadata.namespace", "not allowed on this type")
        raise api_errors.invalid(served.qualified_kind, "", [problem])


def given_version(metadata: Mapping[str, Any]) -> int:
    """Return the version that a client expects to replace; 0 if not given.

    Raises:
        ServerError: The version is invalid; the real server fails on it, too.
    """
    version = metadata.get("resourceVersion") or "0"
    number = parse_version_number(version)
    if number is None:
        raise api_errors.internal(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    return number


def commit(
    cluster: ClusterState,
    served: ServedResource,
    old: StoredObject,
    new: ObjectDocument,
    options: ParsedWriteOptions,
    subresource: str = "",
    before: ObjectDocument | None = None,
) -> StoredObject:
    """Store ``new`` as the next version of an object, as far as the client may change it.

    ``before`` is the document of ``old``, if the caller has already created it.

    Raises:
        ConflictError: ``new`` is based on a version that is not the latest.
        InvalidError: The object is invalid.
    """
    before = before or old.document()
    was, now = before.read("metadata"), new.own_metadata()
    name = was["name"]
    if given_version(now) not in (0, int(was["resourceVersion"])):
        raise api_errors.modified(served.qualified_name, name)
    if now.get("uid", was["uid"]) != was["uid"]:
        problem = api_errors.wrong_value("metadata.uid", now["uid"], "field is immutable")
        raise api_errors.invalid(served.qualified_kind, name, [problem])
    if (moment := now.get("deletionTimestamp")) not in (None, was.get("deletionTimestamp")):
        problem = api_errors.wrong_value("metadata.deletionTimestamp", moment, "field is immutable")
        raise api_errors.invalid(served.qualified_kind, name, [problem])
    _keep_fixed_metadata(was, now)
    _split_status(served, before, new, subresource)
    if not served.custom and not subresource and _was_sent(new):
        apply_defaults(str(served.stored.resource), new)
    problems = metadata_problems(served, now, was) + _finalizer_problems(was, now)
    problems += cluster.run_before_write(served.stored, new, before)
    refuse(served, name, problems)
    rest_is_same = new.differs_in_metadata_alone(before)
    if not rest_is_same:
        sections = {*before.sections, *new.sections} - {"metadata"}
        if served.traits.generation and not new.same(before, sections - _uncounted(served)):
            now["generation"] = was.get("generation", 0) + 1
        rest_is_same = new.same(before, sections)
    if rest_is_same and now == was:
        return old
    if is_deletable(served, new):
        return _finish(cluster, served, old, new, options)
    fields = old.fields if _same_fields(cluster, served, before, new) else None
    return store_object(
        cluster, served, old.key, new, dry_run=options.dry_run, old=old, fields=fields
    )


def _same_fields(
    cluster: ClusterState, served: ServedResource, before: ObjectDocument, new: ObjectDocument
) -> bool:
    """Whether the sections with selectable fields, other than metadata, are unchanged."""
    return all(
        new.shares(before, section) for section in cluster.collection(served).reader.sections
    )


def store_object(
    cluster: ClusterState,
    served: ServedResource,
    key: str,
    document: ObjectDocument,
    *,
    dry_run: bool,
    old: StoredObject | None = None,
    fields: tuple[str, ...] | None = None,
) -> StoredObject:
    """Encode a document as the next version of its object, and store it.

    A dry run only returns the result: with its current version, or without one.
    """
    collection = cluster.collection(served)
    metadata = document.metadata
    version = cluster.storage.next_version
    if not dry_run:
        metadata["resourceVersion"] = str(version)
    elif old is not None:
        metadata["resourceVersion"] = str(old.resource_version)
    encoded = document.encode(collection.kind)
    stored = collection.stored(key, version, encoded, metadata.get("labels") or {}, fields)
    if not dry_run:
        cluster.put(collection, stored)
    return stored


def is_deletable(served: ServedResource, document: ObjectDocument) -> bool:
    """Whether a deletion was requested and nothing blocks it any more."""
    metadata = document.metadata
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    if str(served.stored.resource) == "namespaces":
        spec = document.read("spec") or {}
        return not spec.get("finalizers")
    return not metadata.get("deletionGracePeriodSeconds")


def remove_object(cluster: ClusterState, served: ServedResource, old: StoredObject) -> StoredObject:
    """Remove an object and return its last version, which is sent to watches."""
    collection = cluster.collection(served)
    document = old.document()
    version = cluster.storage.next_version
    document.metadata["resourceVersion"] = str(version)
    encoded = document.encode(collection.kind)
    last = collection.stored(old.key, version, encoded, old.labels, old.fields)
    cluster.remove(collection, last)
    return last


def _finish(
    cluster: ClusterState,
    served: ServedResource,
    old: StoredObject,
    new: ObjectDocument,
    options: ParsedWriteOptions,
) -> StoredObject:
    """Remove an object after the write that unblocked its deletion, and return it.

    The result has the previous version, because this state was never stored.
    """
    response = store_object(cluster, served, old.key, new, dry_run=True, old=old)
    if not options.dry_run:
        remove_object(cluster, served, old)
    return response


def accept_object(served: ServedResource, obj: Mapping[str, Any], namespace: str) -> ObjectDocument:
    """Return the parts that the server accepts of an object sent to a namespace."""
    document = ObjectDocument.from_object(obj)
    metadata = accept_metadata(document.read("metadata"))
    check_namespace_of(served, metadata.get("namespace", ""), namespace)
    document.set("metadata", metadata)
    return document


def _keep_fixed_metadata(was: Json, now: Json) -> None:
    for key in _FIXED_METADATA:
        now.pop(key, None)
        if key in was:
            now[key] = was[key]
    now["resourceVersion"] = was["resourceVersion"]
    if now.get("managedFields") == _NO_FIELDS:
        del now["managedFields"]
    elif "managedFields" in was:
        now.setdefault("managedFields", was["managedFields"])


def _split_status(
    served: ServedResource, before: ObjectDocument, new: ObjectDocument, subresource: str
) -> None:
    """Restore what a write must not change: the status, or for /status everything else."""
    if subresource != "status":
        if served.splits_status and not new.differs_in_metadata_alone(before):
            new.take("status", before)
        return
    if not new.differs_in_metadata_alone(before):
        for section in {*before.sections, *new.sections} - {"metadata", "status"}:
            new.take(section, before)
    was, now = before.read("metadata"), new.metadata
    for key in _STATUS_METADATA:
        writable = served.traits.status_writes_metadata
        if key == "labels":
            writable = served.traits.status_writes_labels
        if not writable:
            now.pop(key, None)
            if key in was:
                now[key] = was[key]


def _was_sent(new: ObjectDocument) -> bool:
    """Whether the client sent any section that defaults have to complete."""
    return any(new.touched(section) for section in ("spec", "stringData", "type"))


def _uncounted(served: ServedResource) -> set[str]:
    """Return the sections whose changes do not increase the generation."""
    return {"status"} if served.splits_status else set()


def _finalizer_problems(was: Json, now: Json) -> list[FieldProblem]:
    if not was.get("deletionTimestamp"):
        return []
    known = was.get("finalizers", ())
    if added := [name for name in now.get("finalizers", ()) if name not in known]:
        listed = ", ".join(f'"{name}"' for name in added)
        why = (
            "no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{listed}}}"
        )
        return [api_errors.forbidden_value("metadata.finalizers", why)]
    return []


def refuse(served: ServedResource, name: str, problems: list[FieldProblem]) -> None:
    """Raise InvalidError if there are problems."""
    if problems:
        raise api_errors.invalid(served.qualified_kind, name, problems)
