"""Shared informers: one list and watch per resource, an indexed local cache, and event handlers."""

from __future__ import annotations

from kinform._runtime import Backoff, Demand, Latch, wait_for
from kinform.informers._changes import ChangeSource, ChangeType, DeletedObject
from kinform.informers._controller import Controller, ControllerConfig
from kinform.informers._factory import (
    DynamicSharedInformerFactory,
    FactoryOptions,
    InformerFactory,
    MetadataSharedInformerFactory,
)
from kinform.informers._informer_key import Asked, InformerKey, Namespaces
from kinform.informers._informer_status import InformerStatus, SyncStatus
from kinform.informers._lister import Lister, NamespaceLister
from kinform.informers._shared_informer import SharedIndexInformer
from kinform.informers._sharing import ResourceInformer
from kinform.informers._sync_result import SyncResult
from kinform.informers._transforms import (
    RecordTransform,
    StripMetadata,
    chain,
    strip_managed_fields,
    strip_metadata,
)
from kinform.informers._unshared_informer import Informer
from kinform.informers.dispatch._events import EventStream, InformerEvent
from kinform.informers.dispatch._handlers import AnyHandler, ResourceEventHandler
from kinform.informers.dispatch._invoker import HandlerFailure
from kinform.informers.dispatch._registration import HandlerStats, Registration
from kinform.informers.queue._delta_fifo import DeltaFIFO
from kinform.informers.queue._deltas import Delta, Deltas, DeltasKind, DeltaType
from kinform.informers.reflector._admission import Admission, Transform
from kinform.informers.reflector._options import ReflectorOptions
from kinform.informers.reflector._quarantine import Quarantine, QuarantinedObject
from kinform.informers.reflector._reflector import Reflector
from kinform.informers.reflector._state import Phase, ReflectorStatus, SyncMode, WatchFailure
from kinform.informers.reflector._streaming_memory import StreamingMemory
from kinform.informers.reflector._target import PlainStore, ReflectorTarget, StoreTarget
from kinform.informers.sources import (
    ForResourceOptions,
    ListWatch,
    SourceCallable,
    TweakListOptions,
)
from kinform.informers.store._expiring import ExpiringStore
from kinform.informers.store._index_functions import (
    NAMESPACE_INDEX,
    Indexers,
    IndexFunc,
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
from kinform.informers.store._mutation import MutationCache
from kinform.informers.store._snapshot import Snapshot
from kinform.informers.store._store import Store, Write
from kinform.informers.store._undelta import UndeltaStore
from kinform.informers.typed import SharedInformerFactory, new_informer

__all__ = [
    "NAMESPACE_INDEX",
    "Admission",
    "AnyHandler",
    "Asked",
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
    "Demand",
    "DynamicSharedInformerFactory",
    "EventStream",
    "ExpiringStore",
    "FactoryOptions",
    "ForResourceOptions",
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
    "PlainStore",
    "Quarantine",
    "QuarantinedObject",
    "RecordTransform",
    "Reflector",
    "ReflectorOptions",
    "ReflectorStatus",
    "ReflectorTarget",
    "Registration",
    "ResourceEventHandler",
    "ResourceInformer",
    "SharedIndexInformer",
    "SharedInformerFactory",
    "Snapshot",
    "SourceCallable",
    "Store",
    "StoreTarget",
    "StreamingMemory",
    "StripMetadata",
    "SyncMode",
    "SyncResult",
    "SyncStatus",
    "Transform",
    "TweakListOptions",
    "UndeltaStore",
    "WatchFailure",
    "Write",
    "chain",
    "deletion_handling_key",
    "deletion_handling_object_name",
    "field_index",
    "index_func_to_key_func",
    "label_index",
    "namespace_index",
    "new_informer",
    "owner_index",
    "strip_managed_fields",
    "strip_metadata",
    "wait_for",
]
