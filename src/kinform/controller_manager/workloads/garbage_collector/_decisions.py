"""What to do about an object, by what has become of its owners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from kinform.client import Propagation
from kinform.controller_manager.workloads.garbage_collector._graph import (
    FOREGROUND,
    ORPHAN,
    finalizers_of,
    is_being_deleted,
)
from kinform.models.meta.v1 import OwnerReference
from kinform.objects import PartialObjectMetadata as Metadata


class Owners(msgspec.Struct, frozen=True):
    """The owners of an object, by what has become of them.

    Attributes:
        solid: They exist.
        gone: They do not exist.
        waiting: They exist, and wait until the object is gone.
    """

    solid: Sequence[OwnerReference]
    gone: Sequence[OwnerReference]
    waiting: Sequence[OwnerReference]


def classify(references: Sequence[OwnerReference], found: Mapping[str, Metadata | None]) -> Owners:
    """Sort owner references by what was found of them.

    Args:
        references: The references.
        found: The owners by uid; ``None`` for those that are gone.
    """
    solid, gone, waiting = [], [], []
    for each in references:
        owner = found[each.uid]
        if owner is None:
            gone.append(each)
        elif is_being_deleted(owner) and FOREGROUND in finalizers_of(owner):
            waiting.append(each)
        else:
            solid.append(each)
    return Owners(solid, gone, waiting)


def way_of_deletion(obj: Metadata, owners: Owners, *, has_dependents: bool) -> Propagation:
    """Return how to delete an object without solid owners."""
    if owners.waiting and has_dependents:
        return "Foreground"
    finalizers = finalizers_of(obj)
    if ORPHAN in finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in finalizers else "Background"
