"""Stores: thread-safe collections of objects, found by key and by index."""

from __future__ import annotations

from kinform.informers.store._entries import (
    Entry,
    EntryAdapter,
    HandleAdapter,
    KeyFunc,
    PlainAdapter,
)
from kinform.informers.store._expiring_store import ExpiringStore
from kinform.informers.store._index_functions import (
    NAMESPACE_INDEX,
    HeadIndex,
    Indexers,
    IndexFunc,
    LabelIndex,
    field_index,
    label_index,
    namespace_index,
    owner_index,
)
from kinform.informers.store._indexer import Indexer
from kinform.informers.store._keys import (
    deletion_handling_key,
    deletion_handling_object_name,
    index_func_to_key_func,
)
from kinform.informers.store._mutation_cache import MutationCache
from kinform.informers.store._query import select_records
from kinform.informers.store._snapshot import Snapshot
from kinform.informers.store._store import Store, StoreWrite
from kinform.informers.store._table import IndexCondition, Table, TableWrite
from kinform.informers.store._undelta_store import UndeltaStore

__all__ = [
    "NAMESPACE_INDEX",
    "Entry",
    "EntryAdapter",
    "ExpiringStore",
    "HandleAdapter",
    "HeadIndex",
    "IndexCondition",
    "IndexFunc",
    "Indexer",
    "Indexers",
    "KeyFunc",
    "LabelIndex",
    "MutationCache",
    "PlainAdapter",
    "Snapshot",
    "Store",
    "StoreWrite",
    "Table",
    "TableWrite",
    "UndeltaStore",
    "deletion_handling_key",
    "deletion_handling_object_name",
    "field_index",
    "index_func_to_key_func",
    "label_index",
    "namespace_index",
    "owner_index",
    "select_records",
]
