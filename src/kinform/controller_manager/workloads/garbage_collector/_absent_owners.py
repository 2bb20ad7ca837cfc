"""Remembers owners that are gone, so that their dependents need not ask for each of them again."""

from __future__ import annotations

from kinform.controller_manager.workloads.garbage_collector._graph import Node, group_and_kind
from kinform.models.meta.v1 import OwnerReference

_Place = tuple[str, str, str, str, str]


class AbsentOwners:
    """The owners that are gone for certain. A uid is never used again, so this stays true.

    Args:
        size: The number of owners to remember; the oldest are forgotten first.
    """

    def __init__(self, size: int = 500) -> None:
        self._size = size
        self._places: dict[_Place, None] = {}

    def add(self, reference: OwnerReference, namespace: str) -> None:
        """Remember that an owner is gone.

        Args:
            reference: The reference to it.
            namespace: Where it was looked for; empty for a cluster-scoped kind.
        """
        self._remember(_place(reference, namespace))

    def add_deleted(self, node: Node) -> None:
        """Remember an object whose deletion the server has told of.

        Its dependents go even if its kind went with it, so that it cannot be read any more.
        """
        gvr = node.resource.gvr
        self._remember((gvr.group, node.resource.kind, node.namespace, node.name, node.uid))

    def _remember(self, place: _Place) -> None:
        self._places.pop(place, None)
        self._places[place] = None
        if len(self._places) > self._size:
            del self._places[next(iter(self._places))]

    def has(self, reference: OwnerReference, namespace: str) -> bool:
        """Whether the owner of an object in a namespace is known to be gone."""
        return _place(reference, namespace) in self._places or _place(reference, "") in self._places


def _place(reference: OwnerReference, namespace: str) -> _Place:
    return (*group_and_kind(reference), namespace, reference.name, reference.uid)
