"""Objects of any kind, as mappings."""

from __future__ import annotations

from kinform.objects._tree_handle import TreeHandle


class Unstructured(TreeHandle):
    """An object of any kind: ``obj["spec"]["replicas"]``, ``obj.get_path("spec.replicas")``.

    Objects from a client, a lister or an informer are read-only; ``copy()`` returns an editable
    one.
    """

    __slots__ = ()
