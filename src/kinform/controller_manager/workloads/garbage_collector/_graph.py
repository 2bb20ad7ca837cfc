"""The graph of owners: every object of the cluster, by uid, with what it owns.

It is built from events alone, so it may lag behind the server. That is harmless, because it only
says which objects are worth a look; whether an object is deleted is decided by live reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from kinform.api import GVK, ApiResource
from kinform.controllers import owners_of
from kinform.errors import InvalidNameError
from kinform.models.meta.v1 import OwnerReference
from kinform.objects import Handle

FOREGROUND = "foregroundDeletion"
"""The finalizer of an object that waits until its dependents are deleted."""

ORPHAN = "orphan"
"""The finalizer of an object that waits until its dependents have forgotten it."""


class Work(msgspec.Struct, frozen=True):
    """What the collector has to do.

    Attributes:
        uid: The object to look at.
        is_orphaning: Whether its dependents have to forget it, because it is being deleted
            without them; else, whether to delete the object itself has to be decided.
    """

    uid: str
    is_orphaning: bool = False

    def __str__(self) -> str:
        return f"dependents of {self.uid}" if self.is_orphaning else self.uid


class Node(msgspec.Struct, frozen=True):
    """An object, as far as the collector is concerned.

    Attributes:
        resource: Its resource.
        namespace: Its namespace; empty for a cluster-scoped object.
        name: Its name.
        uid: Its uid.
        owners: Its owner references.
        is_deleted: Whether it was deleted, and is kept by finalizers or a grace period.
        is_waiting: Whether it was deleted, and waits until its dependents are deleted.
        is_orphaning: Whether it was deleted, and waits until its dependents have forgotten it.
    """

    resource: ApiResource
    namespace: str
    name: str
    uid: str
    owners: tuple[OwnerReference, ...] = ()
    is_deleted: bool = False
    is_waiting: bool = False
    is_orphaning: bool = False

    @classmethod
    def of(cls, resource: ApiResource, obj: Handle) -> Node:
        """Return the node of an object."""
        is_deleted = is_being_deleted(obj)
        finalizers = finalizers_of(obj) if is_deleted else ()
        return cls(
            resource=resource,
            namespace=obj.namespace,
            name=obj.name,
            uid=obj.uid,
            owners=tuple(owners_of(obj)),
            is_deleted=is_deleted,
            is_waiting=FOREGROUND in finalizers,
            is_orphaning=ORPHAN in finalizers,
        )


class Graph:
    """All known objects with their owners. Each change returns the work that it causes."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        # Also of owners that are not known, or not known yet. The values of the inner dict are
        # not used: it is a set that keeps its order.
        self._dependents: dict[str, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, uid: str) -> Node | None:
        """Return the node of an object; ``None`` if it is not known."""
        return self._nodes.get(uid)

    def dependents(self, uid: str) -> list[Node]:
        """Return the known objects that an object owns."""
        return [self._nodes[each] for each in self._dependents.get(uid, ())]

    def blocking(self, uid: str) -> list[Node]:
        """Return the dependents for which a foreground deletion of their owner has to wait."""
        return [each for each in self.dependents(uid) if uid in _blocked(each.owners)]

    def put(self, node: Node) -> list[Work]:
        """Add an object, or replace what is known about it."""
        before = self._nodes.get(node.uid)
        self._nodes[node.uid] = node
        old_owners = () if before is None else before.owners
        work: list[Work] = []
        if node.owners != old_owners:
            self._unlink(node.uid, old_owners)
            for owner in node.owners:
                self._dependents.setdefault(owner.uid, {})[node.uid] = None
            work += self._released(_blocked(old_owners) - _blocked(node.owners))
            if self.is_in_doubt(node):
                work.append(Work(node.uid))
        if node.is_waiting and not (before is not None and before.is_waiting):
            work.append(Work(node.uid))
            work += map(Work, self._dependents.get(node.uid, ()))
        if node.is_orphaning and not (before is not None and before.is_orphaning):
            work.append(Work(node.uid, is_orphaning=True))
        return list(dict.fromkeys(work))

    def remove(self, uid: str) -> list[Work]:
        """Remove an object that is gone."""
        node = self._nodes.pop(uid, None)
        if node is None:
            return []
        self._unlink(uid, node.owners)
        return [
            *map(Work, self._dependents.get(uid, ())),
            *self._released({each.uid for each in node.owners}),
        ]

    def is_in_doubt(self, node: Node) -> bool:
        """Whether a live read has to tell if one of the owners still exists, or wants to go."""
        return any(not self._is_fine(node, each) for each in node.owners)

    def _is_fine(self, node: Node, reference: OwnerReference) -> bool:
        owner = self._nodes.get(reference.uid)
        return (
            owner is not None
            and not owner.is_waiting
            and owner.name == reference.name
            and owner.namespace in ("", node.namespace)
            and (owner.resource.gvr.group, owner.resource.kind) == group_and_kind(reference)
        )

    def _released(self, owners: Iterable[str]) -> list[Work]:
        """Return work on those owners that wait for their dependents."""
        found = (self._nodes.get(each) for each in owners)
        return [Work(each.uid) for each in found if each is not None and each.is_waiting]

    def _unlink(self, uid: str, owners: Sequence[OwnerReference]) -> None:
        for owner in owners:
            dependents = self._dependents.get(owner.uid)
            if dependents is not None:
                dependents.pop(uid, None)
                if not dependents:
                    del self._dependents[owner.uid]


def group_and_kind(reference: OwnerReference) -> tuple[str, str]:
    """Return the group and the kind of an owner; the version does not matter for identity."""
    try:
        return GVK.of(reference.api_version, reference.kind).group, reference.kind
    except InvalidNameError:
        return reference.api_version, reference.kind


def finalizers_of(obj: Handle) -> list[str]:
    """Return the finalizers of an object."""
    return list(obj.get_path("metadata.finalizers") or ())


def is_being_deleted(obj: Handle) -> bool:
    """Whether an object was deleted, and is kept by finalizers or a grace period."""
    return obj.get_path("metadata.deletionTimestamp") is not None


def _blocked(owners: Iterable[OwnerReference]) -> set[str]:
    """Return the uids of the owners whose foreground deletion waits for the object."""
    return {each.uid for each in owners if each.block_owner_deletion}
