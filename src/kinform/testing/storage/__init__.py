"""The state of the server: encoded objects, their history, and one counter of versions."""

from __future__ import annotations

from kinform.testing.storage._cluster_state import ClusterState
from kinform.testing.storage._collection import ChangeSubscriber, Collection
from kinform.testing.storage._object_document import (
    EncodedObject,
    ObjectDocument,
    drop_nulls,
    type_prefix,
)
from kinform.testing.storage._storage import Storage
from kinform.testing.storage._stored_object import StoredChange, StoredObject

__all__ = [
    "ChangeSubscriber",
    "ClusterState",
    "Collection",
    "EncodedObject",
    "ObjectDocument",
    "Storage",
    "StoredChange",
    "StoredObject",
    "drop_nulls",
    "type_prefix",
]
