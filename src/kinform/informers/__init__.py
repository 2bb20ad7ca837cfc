"""One list and watch per resource; a local, indexed, complete cache; any number of handlers."""

from __future__ import annotations

from kinform.informers._admission import Admission, Transform
from kinform.informers._backoff import Backoff
from kinform.informers._changes import ChangeSource, ChangeType, DeletedObject
from kinform.informers._controller import Controller, ControllerConfig
from kinform.informers._delta_fifo import DeltaFIFO
from kinform.informers._deltas import Delta, Deltas, DeltasKind, DeltaType
from kinform.informers._events import EventStream, InformerEvent
from kinform.informers._expiring import ExpiringStore
from kinform.informers._factory import (
    DynamicSharedInformerFactory,
    InformerFactory,
    InformerKey,
    MetadataSharedInformerFactory,
    Namespaces,
    ResourceInformer,
)
from kinform.informers._handlers import ResourceEventHandler
from kinform.informers._index_functions import (
    NAMESPACE_INDEX,
    Indexers,
    IndexFunc,
    field_index,
    label_index,
    namespace_index,
    owner_index,
)
from kinform.informers._indexer import Indexer
from kinform.informers._informer_status import InformerStatus, SyncStatus
from kinform.informers._keys import (
    deletion_handling_key,
    deletion_handling_object_name,
    index_func_to_key_func,
)
from kinform.informers._latch import Latch, wait_for
from kinform.informers._lister import Lister, NamespaceLister
from kinform.informers._listwatch import ListWatch, TweakListOptions
from kinform.informers._mutation import MutationCache
from kinform.informers._quarantine import Quarantine, QuarantinedObject
from kinform.informers._reflector import Reflector
from kinform.informers._reflector_options import ReflectorOptions
from kinform.informers._registration import HandlerStats, Registration
from kinform.informers._shared_informer import SharedIndexInformer
from kinform.informers._snapshot import Snapshot
from kinform.informers._store import Store, Write
from kinform.informers._streaming_memory import StreamingMemory
from kinform.informers._sync_result import SyncResult
from kinform.informers._target import Target
from kinform.informers._telling import HandlerFailure
from kinform.informers._undelta import UndeltaStore
from kinform.informers._unshared_informer import Informer
from kinform.informers._vitals import Phase, ReflectorStatus, SyncMode, WatchFailure

__all__ = [
    "NAMESPACE_INDEX",
    "Admission",
    "Backoff",
    "ChangeSource",
    "ChangeType",
    "Controller",
    "ControllerConfig",
    "DeletedObject",
    "Delta",
    "DeltaFIFO",
    "DeltaType",
    "Deltas",
    "DeltasKind",
    "DynamicSharedInformerFactory",
    "EventStream",
    "ExpiringStore",
    "HandlerFailure",
    "HandlerStats",
    "IndexFunc",
    "Indexer",
    "Indexers",
    "Informer",
    "InformerEvent",
    "InformerFactory",
    "InformerKey",
    "InformerStatus",
    "Latch",
    "ListWatch",
    "Lister",
    "MetadataSharedInformerFactory",
    "MutationCache",
    "NamespaceLister",
    "Namespaces",
    "Phase",
    "Quarantine",
    "QuarantinedObject",
    "Reflector",
    "ReflectorOptions",
    "ReflectorStatus",
    "Registration",
    "ResourceEventHandler",
    "ResourceInformer",
    "SharedIndexInformer",
    "Snapshot",
    "Store",
    "StreamingMemory",
    "SyncMode",
    "SyncResult",
    "SyncStatus",
    "Target",
    "Transform",
    "TweakListOptions",
    "UndeltaStore",
    "WatchFailure",
    "Write",
    "deletion_handling_key",
    "deletion_handling_object_name",
    "field_index",
    "index_func_to_key_func",
    "label_index",
    "namespace_index",
    "owner_index",
    "wait_for",
]
