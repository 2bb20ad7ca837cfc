"""Objects reduced to their metadata."""

from __future__ import annotations

from kinform.objects._tree_handle import TreeHandle


class PartialObjectMetadata(TreeHandle):
    """The metadata of an object. Takes less bandwidth and memory than the complete object.

    Over the record of a complete object, it shows only the kind and the metadata.
    """

    __slots__ = ()
    visible = frozenset({"apiVersion", "kind", "metadata"})
