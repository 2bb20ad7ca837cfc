"""An object of any kind, as a mapping."""

from __future__ import annotations

from kinform.objects._tree_handle import TreeHandle


class Unstructured(TreeHandle):
    """Any object of any kind: ``obj["spec"]["replicas"]``, ``obj.get_path("spec.replicas")``.

    Handles from a client, a lister or an informer are read-only; ``copy()`` gives an editable one.
    """

    __slots__ = ()
