"""What a server says of one resource: its names, its scope, its verbs."""

from __future__ import annotations

import msgspec

from kinform.api._names import GVK, GVR


class ApiResource(msgspec.Struct, frozen=True):
    """One resource of one group-version, as discovery describes it.

    Attributes:
        gvr: Group, version and plural.
        kind: The kind of its objects.
        namespaced: Whether its objects live in namespaces.
        singular: The singular that a person may type.
        verbs: What can be done with it.
        short_names: Abbreviations that a person may type (``po``).
        categories: Groups of resources it belongs to (``all``).
        subresources: Names below one object (``status``, ``scale``).
    """

    gvr: GVR
    kind: str
    namespaced: bool
    singular: str = ""
    verbs: frozenset[str] = frozenset()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()

    @property
    def gvk(self) -> GVK:
        return GVK(self.gvr.group, self.gvr.version, self.kind)
