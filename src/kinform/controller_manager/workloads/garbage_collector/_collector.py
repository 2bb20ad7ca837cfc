"""Decides about objects: delete them, free them from owners that are gone, or leave them alone.

An object is deleted when none of its owners is left. The graph says which objects to look at; then
the object and its owners are read from the server, so that nothing is deleted because an event is
late. An owner is gone if there is no object at its place, or another one with another uid. Owners
are in the namespace of the object, or cluster-scoped; a reference to another namespace points to
nothing.

A deletion has one of three ways, which a finalizer on the owner names while it is in progress:

- *background*: the owner goes first, without a finalizer; then its dependents have lost it.
- *foreground*: the owner waits with ``foregroundDeletion`` until all dependents are gone whose
  reference has ``blockOwnerDeletion``. They are deleted in the foreground, too, if they have
  dependents themselves.
- *orphan*: the owner waits with ``orphan`` until no dependent refers to it any more.
"""

from __future__ import annotations

import asyncio

from kinform.api import GVK
from kinform.client import Propagation
from kinform.controller_manager.workloads._slow_start import first_error
from kinform.controller_manager.workloads.garbage_collector._decisions import (
    classify,
    way_of_deletion,
)
from kinform.controller_manager.workloads.garbage_collector._graph import (
    FOREGROUND,
    ORPHAN,
    Node,
    Work,
    finalizers_of,
    is_being_deleted,
)
from kinform.controller_manager.workloads.garbage_collector._metadata import (
    patch_metadata,
    read_metadata,
    remove_owners,
    unblock_owners,
)
from kinform.controller_manager.workloads.garbage_collector._monitors import Monitors
from kinform.controllers import Context, Controller, Result, Retry, owners_of, retry_on_conflict
from kinform.errors import ConflictError, InvalidNameError, NoMatchError, NotFoundError
from kinform.models.meta.v1 import OwnerReference
from kinform.objects import PartialObjectMetadata as Metadata

# As many dependents of one owner forget it at a time.
_AT_A_TIME = 20


def garbage_collector_controller(*, workers: int = 20) -> Controller[Work]:
    """Return the controller that deletes objects without owners.

    Args:
        workers: The number of objects that are looked at at a time.
    """
    monitors = Monitors()
    collector = Collector(monitors)
    return Controller(
        "garbage-collector-controller", collector.reconcile, watches=[monitors], workers=workers
    )


class _InvalidOwnerError(Exception):
    """A cluster-scoped object has an owner in a namespace, which cannot be looked up."""


class Collector:
    """Works on the objects that the graph puts forward.

    Args:
        monitors: Keep the graph up to date, and receive further work.
    """

    def __init__(self, monitors: Monitors) -> None:
        self._monitors = monitors

    async def reconcile(self, work: Work, context: Context[Work]) -> Result:
        """Look at one object."""
        node = self._monitors.graph.get(work.uid)
        if node is None:
            return None
        try:
            if work.is_orphaning:
                await self._orphan(node, context)
            elif node.is_waiting:
                await self._finish_foreground(node, context)
            elif not node.is_deleted and self._monitors.graph.is_in_doubt(node):
                await self._check(node, context)
        except NoMatchError as error:
            # The definition of the kind may come; without it nothing is known about the owner.
            return Retry(str(error))
        except ConflictError as error:
            return Retry(str(error))
        except _InvalidOwnerError:
            return None
        return None

    async def _check(self, node: Node, context: Context[Work]) -> None:
        """Delete an object if it has no owner any more, or free it from those that are gone."""
        obj = await self._read(node, context)
        if obj is None:
            return
        references = owners_of(obj)
        if not references or is_being_deleted(obj):
            return
        found = {each.uid: await self._owner(node, each, context) for each in references}
        owners = classify(references, found)
        superfluous = {each.uid for each in (*owners.gone, *owners.waiting)}
        if not superfluous:
            return
        if owners.solid:
            await remove_owners(node, obj, superfluous, context)
            return
        dependents = self._monitors.graph.dependents(node.uid)
        if owners.waiting and any(each.is_waiting for each in dependents):
            # A circle: each would wait for the other.
            obj = await unblock_owners(node, obj, context)
        way = way_of_deletion(obj, owners, has_dependents=bool(dependents))
        await self._delete(node, obj, way, context)

    async def _finish_foreground(self, node: Node, context: Context[Work]) -> None:
        """Let an object go that waits for its dependents, or go on to delete these."""
        blocking = self._monitors.graph.blocking(node.uid)
        if not blocking:
            await self._remove_finalizer(node, FOREGROUND, context)
            return
        self._monitors.add(Work(each.uid) for each in blocking if not each.is_deleted)

    async def _orphan(self, node: Node, context: Context[Work]) -> None:
        """Make the dependents of an object forget it, and let it go."""

        at_a_time = asyncio.Semaphore(_AT_A_TIME)

        async def free(dependent: Node) -> None:
            async def attempt() -> None:
                obj = await self._read(dependent, context)
                if obj is not None:
                    await remove_owners(dependent, obj, {node.uid}, context)

            async with at_a_time:
                await retry_on_conflict(attempt)

        frees = map(free, self._monitors.graph.dependents(node.uid))
        failure = first_error(await asyncio.gather(*frees, return_exceptions=True))
        if failure is not None:
            raise failure
        await self._remove_finalizer(node, ORPHAN, context)

    async def _delete(
        self, node: Node, obj: Metadata, way: Propagation, context: Context[Work]
    ) -> None:
        gvr, name, namespace = node.resource.gvr, node.name, node.namespace or None
        version = obj.resource_version
        try:
            await context.live.delete(
                gvr,
                name,
                namespace=namespace,
                propagation=way,
                uid=node.uid,
                resource_version=version,
            )
        except NotFoundError:
            self._forget(node)
        except ConflictError:
            # Its owners may have changed meanwhile. If not, then somebody updates it all the time.
            now = await self._read(node, context)
            if now is None:
                return
            if owners_of(now) != owners_of(obj):
                raise
            await context.live.delete(gvr, name, namespace=namespace, propagation=way, uid=node.uid)

    async def _remove_finalizer(self, node: Node, finalizer: str, context: Context[Work]) -> None:
        async def attempt() -> None:
            obj = await self._read(node, context)
            if obj is None or finalizer not in finalizers_of(obj):
                return
            kept = [each for each in finalizers_of(obj) if each != finalizer]
            await patch_metadata(node, obj, {"finalizers": kept}, context)

        await retry_on_conflict(attempt)

    async def _read(self, node: Node, context: Context[Work]) -> Metadata | None:
        """Read an object from the server; ``None`` if it is gone, which the graph learns then."""
        found = await read_metadata(node.resource.gvk, node.name, node.namespace, context)
        if found is None or found.uid != node.uid:
            self._forget(node)
            return None
        return found

    async def _owner(
        self, node: Node, reference: OwnerReference, context: Context[Work]
    ) -> Metadata | None:
        """Read an owner from the server; ``None`` if it is gone.

        Raises:
            NoMatchError: The server does not have its kind.
            _InvalidOwnerError: It would have to be in a namespace, and the object is in none.
        """
        if self._monitors.absent.has(reference, node.namespace):
            return None
        try:
            gvk = GVK.of(reference.api_version, reference.kind)
        except InvalidNameError as error:
            raise NoMatchError(str(error)) from error
        resource = await context.live.discovery.for_kind(gvk)
        if resource.namespaced and not node.namespace:
            self._report(node, reference, context)
            raise _InvalidOwnerError
        namespace = node.namespace if resource.namespaced else ""
        found = await read_metadata(gvk, reference.name, namespace, context)
        if found is not None and found.uid == reference.uid:
            return found
        self._monitors.absent.add(reference, namespace)
        if (known := self._monitors.graph.get(reference.uid)) and known.namespace != namespace:
            self._report(node, reference, context)
        return None

    def _report(self, node: Node, reference: OwnerReference, context: Context[Work]) -> None:
        """Tell the author of an object that its owner is in another namespace."""
        place = (
            f"[{reference.api_version}/{reference.kind}, namespace: {node.namespace}, "
            f"name: {reference.name}, uid: {reference.uid}]"
        )
        message = f'ownerRef {place} does not exist in namespace "{node.namespace}"'
        about = {
            "apiVersion": node.resource.gvk.api_version,
            "kind": node.resource.kind,
            "metadata": {"name": node.name, "namespace": node.namespace, "uid": node.uid},
        }
        context.recorder.event(about, "Warning", "OwnerRefInvalidNamespace", message)

    def _forget(self, node: Node) -> None:
        self._monitors.add(self._monitors.graph.remove(node.uid))
