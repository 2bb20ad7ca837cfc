"""The description of an API resource: names, scope and verbs."""

from __future__ import annotations

import msgspec

from kinform.api._names import GVK, GVR


class ApiResource(msgspec.Struct, frozen=True):
    """One resource of one group and version, as described by discovery.

    Attributes:
        gvr: Group, version and plural name.
        kind: The kind of its objects.
        namespaced: Whether its objects are namespaced.
        singular: The singular name, for command lines.
        verbs: The supported verbs.
        short_names: Abbreviations for command lines (``po``).
        categories: The groups of resources that it belongs to (``all``).
        subresources: The names of its subresources (``status``, ``scale``).
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
