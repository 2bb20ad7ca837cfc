"""An object of which only the metadata travels."""

from __future__ import annotations

from kinform.objects._tree_handle import TreeHandle


class PartialObjectMetadata(TreeHandle):
    """Only the metadata of an object. Cheaper to send, to keep and to watch than the whole.

    Over the record of a whole object it still shows only kind and metadata.
    """

    __slots__ = ()
    visible = frozenset({"apiVersion", "kind", "metadata"})
