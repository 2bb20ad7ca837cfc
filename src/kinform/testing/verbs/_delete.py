"""Deletes objects, or marks them as being deleted."""

from __future__ import annotations

import msgspec

from kinform.testing import api_errors
from kinform.testing.api_errors import QualifiedName
from kinform.testing.requests import ParsedDeleteOptions
from kinform.testing.resources import ServedResource
from kinform.testing.storage import ClusterState, ObjectDocument, StoredObject
from kinform.testing.verbs._writes import find_object, is_deletable, remove_object, store_object

_PROTECTED = frozenset({"default", "kube-system", "kube-public"})
_FOREGROUND = "foregroundDeletion"
_ORPHAN = "orphan"
_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_DEFAULT_POD_GRACE = 30


class DeleteResult(msgspec.Struct, frozen=True):
    """The result of a deletion. ``gone`` is whether the object was removed."""

    stored: StoredObject
    gone: bool


def delete_object(
    cluster: ClusterState,
    served: ServedResource,
    namespace: str,
    name: str,
    options: ParsedDeleteOptions,
) -> DeleteResult:
    """Delete an object, or mark it as being deleted if it has finalizers or a grace period.

    Raises:
        NotFoundError: The object does not exist.
        ConflictError: The uid or version differs from the one that the client requires.
        ForbiddenError: The object is a namespace that cannot be deleted.
    """
    old = find_object(cluster, served, namespace, name)
    _check_preconditions(served, name, old, options)
    resource = str(served.stored.resource)
    if resource == "namespaces" and name in _PROTECTED:
        raise api_errors.forbidden(served.qualified_name, name, "this namespace may not be deleted")
    document = old.document()
    _mark_finalizers(served, document, options)
    if resource == "pods":
        return _delete_pod(cluster, served, old, document, options)
    if resource == "namespaces":
        return _mark(cluster, served, old, document, None, options, phase="Terminating")
    metadata = document.metadata
    if not metadata.get("finalizers"):
        if not options.dry_run:
            old = remove_object(cluster, served, old)
        return DeleteResult(old, gone=True)
    grace = 0 if served.traits.deletion_grace else None
    return _mark(cluster, served, old, document, grace, options)


def _check_preconditions(
    served: ServedResource, name: str, old: StoredObject, options: ParsedDeleteOptions
) -> None:
    kind = QualifiedName(served.gvr.group, served.kind)
    if options.uid is not None and options.uid != (uid := old.metadata()["uid"]):
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({uid}). The object might have been deleted and then recreated"
        )
        raise api_errors.conflict(kind, name, why)
    version = str(old.resource_version)
    if options.resource_version is not None and options.resource_version != version:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not "
            f"match the ResourceVersion in record ({version}). The object might have been modified"
        )
        raise api_errors.conflict(kind, name, why)


def _mark_finalizers(
    served: ServedResource, document: ObjectDocument, options: ParsedDeleteOptions
) -> None:
    """Set the finalizers of the propagation policy, which a garbage collector would remove."""
    metadata = document.metadata
    finalizers = list(metadata.get("finalizers", ()))
    propagation = options.propagation
    if not propagation and served.traits.orphan_by_default:
        propagation = "Orphan"
    if not propagation and (_FOREGROUND in finalizers or _ORPHAN in finalizers):
        return
    wanted = [name for name in finalizers if name not in (_FOREGROUND, _ORPHAN)]
    if propagation == "Foreground":
        wanted.append(_FOREGROUND)
    elif propagation == "Orphan":
        wanted.append(_ORPHAN)
    if str(served.stored.resource) == "customresourcedefinitions.apiextensions.k8s.io":
        wanted = [*[name for name in wanted if name != _CLEANUP], _CLEANUP]
    if wanted:
        metadata["finalizers"] = wanted
    else:
        metadata.pop("finalizers", None)


def _delete_pod(
    cluster: ClusterState,
    served: ServedResource,
    old: StoredObject,
    document: ObjectDocument,
    options: ParsedDeleteOptions,
) -> DeleteResult:
    """Delete a pod gracefully: a scheduled one waits for its kubelet, for its grace period."""
    grace = options.grace
    spec, status = document.read("spec") or {}, document.read("status") or {}
    if grace is None:
        grace = spec.get("terminationGracePeriodSeconds", _DEFAULT_POD_GRACE)
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        grace = 0
    grace = max(0, grace)
    metadata = document.metadata
    kept = grace > 0 or bool(metadata.get("finalizers"))
    if kept and grace >= metadata.get("deletionGracePeriodSeconds", grace + 1):
        return DeleteResult(old, gone=False)
    marked = _mark(cluster, served, old, document, grace, options)
    if kept:
        return marked
    if options.dry_run:
        return DeleteResult(marked.stored, gone=True)
    return DeleteResult(remove_object(cluster, served, marked.stored), gone=True)


def _mark(
    cluster: ClusterState,
    served: ServedResource,
    old: StoredObject,
    document: ObjectDocument,
    grace: int | None,
    options: ParsedDeleteOptions,
    *,
    phase: str = "",
) -> DeleteResult:
    """Mark an object as being deleted; one that is already marked stays unchanged."""
    metadata = document.metadata
    was = old.metadata()
    changed = metadata != was
    if not metadata.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = cluster.timestamp(seconds_from_now=grace or 0)
        if grace is not None:
            metadata["deletionGracePeriodSeconds"] = grace
        if served.traits.generation and served.traits.deletion_grace:
            metadata["generation"] = metadata.get("generation", 0) + 1
        changed = True
    elif grace is not None and grace < metadata.get("deletionGracePeriodSeconds", 0):
        metadata["deletionTimestamp"] = cluster.timestamp(seconds_from_now=grace)
        metadata["deletionGracePeriodSeconds"] = grace
        changed = True
    if phase and (document.read("status") or {}).get("phase") != phase:
        document.edit("status")["phase"] = phase
        changed = True
    if not changed:
        return DeleteResult(old, gone=False)
    if str(served.stored.resource) != "pods" and is_deletable(served, document):
        if not options.dry_run:
            old = remove_object(cluster, served, old)
        return DeleteResult(old, gone=True)
    stored = store_object(cluster, served, old.key, document, dry_run=options.dry_run, old=old)
    return DeleteResult(stored, gone=False)
