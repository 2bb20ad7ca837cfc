"""The key that controllers work on: the name of an object, and of its cluster."""

from __future__ import annotations

from typing import NamedTuple

from kinform.api import split_namespace_key


class Request(NamedTuple):
    """The object to reconcile; not its state, which the reconciler reads.

    Attributes:
        namespace: The namespace; empty for cluster-scoped objects.
        name: The name.
        cluster: The name of the cluster, if the program has several; empty for the only one.
    """

    namespace: str
    name: str
    cluster: str = ""

    @classmethod
    def of(cls, key: str, cluster: str = "") -> Request:
        """Create a request from ``namespace/name``, or from the name of a cluster-scoped object.

        Raises:
            InvalidNameError: The key has more than one slash.
        """
        namespace, name = split_namespace_key(key)
        return cls(namespace, name, cluster)

    @property
    def key(self) -> str:
        """``namespace/name``, or the name of a cluster-scoped object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.cluster}:{self.key}" if self.cluster else self.key
