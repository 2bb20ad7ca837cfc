"""Namespaces: delete everything in a namespace that is being deleted, then the namespace itself.

The server only marks a deleted namespace as terminating, and refuses new objects in it. A reconcile
deletes the objects of every namespaced kind that the server has, custom resources included. While
some remain, because finalizers keep them, the conditions of the namespace tell which, and the
reconcile is repeated. When nothing is left, the finalizer ``kubernetes`` is removed, and the
server removes the namespace.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import msgspec

from kinform.api import ApiResource
from kinform.client import ClusterClient
from kinform.controllers import After, Context, Controller, Request, Result
from kinform.errors import ApiError, ConflictError, DiscoveryError, NotFoundError
from kinform.models.core.v1 import Namespace, NamespaceCondition
from kinform.objects import PartialObjectMetadata

FINALIZER = "kubernetes"
_NEEDED = {"list", "delete"}
# The caches of the server may still accept objects shortly after the namespace was deleted.
_GRACE = 5.0
# Seconds until the next look at a namespace with objects that have finalizers.
_PAUSE = 1.0
_AT_ONCE = 8


class Remains(msgspec.Struct, frozen=True):
    """What is left in a namespace.

    Attributes:
        objects: The number of remaining objects by resource, such as ``pods.``.
        finalizers: The number of remaining objects by finalizer.
        errors: Why objects could not be listed or deleted.
        undiscovered: Why some kinds may be unknown; empty if all are known.
    """

    objects: Mapping[str, int] = {}
    finalizers: Mapping[str, int] = {}
    errors: tuple[str, ...] = ()
    undiscovered: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.objects or self.errors or self.undiscovered)


def namespace_controller(*, workers: int = 10) -> Controller[Request]:
    """Return the controller of namespaces.

    Args:
        workers: The number of namespaces that are emptied at a time.
    """
    return Controller("namespace-controller", reconcile, for_=Namespace, workers=workers)


async def reconcile(request: Request, context: Context[Request]) -> Result:
    """Empty one namespace, if it is being deleted."""
    try:
        found = await context.client.get(Namespace, request.name)
    except NotFoundError:
        return None
    deleted_at = found.metadata.deletion_timestamp
    if deleted_at is None or FINALIZER not in found.spec.finalizers:
        return None
    wait = _GRACE - (datetime.now(UTC) - deleted_at).total_seconds()
    if wait > 0:
        return After(wait)
    remains = await _empty(context.live, found.name)
    try:
        if remains.is_empty:
            finalized = found.copy()
            finalized.spec.finalizers = [
                each for each in found.spec.finalizers if each != FINALIZER
            ]
            await context.live.update(finalized, subresource="finalize")
            return None
        conditions = conditions_of(found.status.conditions, remains, datetime.now(UTC))
        if conditions != found.status.conditions:
            changed = found.copy()
            changed.status.conditions = conditions
            await context.client.update(changed, subresource="status")
    except (NotFoundError, ConflictError):
        return After(_PAUSE)  # the next look is at the current state
    if remains.errors or remains.undiscovered:
        raise DiscoveryError(
            f"namespace {found.name} cannot be emptied: "
            + "; ".join([*remains.errors, remains.undiscovered]).strip("; ")
        )
    return After(_PAUSE)


async def _empty(client: ClusterClient, namespace: str) -> Remains:
    """Delete all objects of a namespace, and return what is left."""
    undiscovered = ""
    try:
        await client.discovery.refresh()
    except DiscoveryError as error:
        undiscovered = str(error)
    resources = [
        each
        for each in await client.discovery.resources()
        if each.namespaced and each.verbs >= _NEEDED
    ]
    limit = asyncio.Semaphore(_AT_ONCE)
    counts: Counter[str] = Counter()
    finalizers: Counter[str] = Counter()
    errors: list[str] = []

    async def delete_all(resource: ApiResource) -> None:
        async with limit:
            try:
                left = await _delete_all(client, resource, namespace)
            except NotFoundError:
                return  # the kind was deleted meanwhile
            except ApiError as error:
                errors.append(f"{resource.gvr}: {error}")
                return
        if left:
            counts[f"{resource.gvr.resource}.{resource.gvr.group}"] += len(left)
            for each in left:
                finalizers.update(each.finalizers)

    await asyncio.gather(*map(delete_all, resources))
    return Remains(counts, finalizers, tuple(sorted(errors)), undiscovered)


async def _delete_all(
    client: ClusterClient, resource: ApiResource, namespace: str
) -> list[PartialObjectMetadata]:
    """Delete the objects of one kind, and return those that remain."""
    metadata = client.view(PartialObjectMetadata)
    found = await metadata.list(resource.gvr, namespace=namespace)
    if not found:
        return []
    if "deletecollection" in resource.verbs:
        await client.delete_collection(resource.gvr, namespace=namespace, propagation="Background")
    else:
        for each in found:
            await client.delete(
                resource.gvr, each.name, namespace=namespace, propagation="Background"
            )
    return list(await metadata.list(resource.gvr, namespace=namespace))


def conditions_of(
    before: Iterable[NamespaceCondition], remains: Remains, at: datetime
) -> list[NamespaceCondition]:
    """Return the conditions of a namespace; their times change with their status only."""
    errors = "; ".join(remains.errors)
    wanted = [
        _condition(
            "NamespaceDeletionDiscoveryFailure",
            remains.undiscovered,
            ("DiscoveryFailed", "Discovery failed for some groups: {}"),
            ("ResourcesDiscovered", "All resources successfully discovered"),
        ),
        _condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            "",
            ("GroupVersionParsingFailed", "{}"),
            ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
        ),
        _condition(
            "NamespaceDeletionContentFailure",
            errors,
            ("ContentDeletionFailed", "Failed to delete all resource types: {}"),
            ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
        ),
        _condition(
            "NamespaceContentRemaining",
            _counted("{} has {} resource instances", remains.objects),
            ("SomeResourcesRemain", "Some resources are remaining: {}"),
            ("ContentRemoved", "All content successfully removed"),
        ),
        _condition(
            "NamespaceFinalizersRemaining",
            _counted("{} in {} resource instances", remains.finalizers),
            (
                "SomeFinalizersRemain",
                "Some content in the namespace has finalizers remaining: {}",
            ),
            ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
        ),
    ]
    known = {each.type: each for each in before}
    for each in wanted:
        old = known.get(each.type)
        same = old is not None and old.status == each.status
        each.last_transition_time = old.last_transition_time if same and old is not None else at
    others = [each for each in before if each.type not in {new.type for new in wanted}]
    return [*others, *wanted]


def _condition(
    type: str, problem: str, bad: tuple[str, str], good: tuple[str, str]
) -> NamespaceCondition:
    reason, message = bad if problem else good
    return NamespaceCondition(
        type=type,
        status="True" if problem else "False",
        reason=reason,
        message=message.format(problem),
    )


def _counted(text: str, counts: Mapping[str, int]) -> str:
    return ", ".join(text.format(name, count) for name, count in sorted(counts.items()))
