"""Shared informers: one list and watch per resource, an indexed local cache, and event handlers."""

from __future__ import annotations

from kinform._runtime import Backoff, Demand, Latch, wait_for
from kinform.informers._changes import ChangeSource, ChangeType, DeletedObject
from kinform.informers._delta_controller import DeltaController, DeltaControllerConfig
from kinform.informers._factory import (
    DynamicSharedInformerFactory,
    FactoryOptions,
    InformerFactory,
    MetadataSharedInformerFactory,
)
from kinform.informers._health import Health, health_of
from kinform.informers._informer_key import InformerKey, InformerOptions
from kinform.informers._informer_map import InformerMap
from kinform.informers._informer_status import InformerStatus, SyncStatus
from kinform.informers._kind_options import KindOptions
from kinform.informers._lease import ResourceInformer
from kinform.informers._lister import Lister, NamespaceLister
from kinform.informers._namespace_options import NamespaceNames, NamespaceOptions, Namespaces
from kinform.informers._read_guard import UnsyncedReads
from kinform.informers._scope import ALL_NAMESPACES, Scope, Selectors
from kinform.informers._shared_informer import SharedIndexInformer
from kinform.informers._sync_result import SyncResult
from kinform.informers._transforms import (
    RecordTransform,
    StripMetadata,
    chain,
    strip_managed_fields,
    strip_metadata,
)
from kinform.informers._unshared_informer import Informer
from kinform.informers.dispatch import (
    AnyHandler,
    EventStream,
    HandlerFailure,
    HandlerStats,
    InformerEvent,
    Registration,
    ResourceEventHandler,
    RunOn,
)
from kinform.informers.queue import Delta, DeltaFIFO, Deltas, DeltasKind, DeltaType
from kinform.informers.reflector import (
    Admission,
    PastError,
    Phase,
    PlainStore,
    Quarantine,
    QuarantinedObject,
    Reflector,
    ReflectorOptions,
    ReflectorStatus,
    ReflectorTarget,
    ServerCapabilities,
    StoreTarget,
    SyncMode,
    Transform,
    WatchFailure,
)
from kinform.informers.sources import (
    ForResourceOptions,
    ListWatch,
    SourceCallable,
    TweakListOptions,
)
from kinform.informers.store import (
    NAMESPACE_INDEX,
    ExpiringStore,
    Indexer,
    Indexers,
    IndexFunc,
    MutationCache,
    Snapshot,
    Store,
    StoreWrite,
    UndeltaStore,
    deletion_handling_key,
    deletion_handling_object_name,
    field_index,
    index_func_to_key_func,
    label_index,
    namespace_index,
    owner_index,
)
from kinform.informers.typed import SharedInformerFactory, new_informer

__all__ = [
    "ALL_NAMESPACES",
    "NAMESPACE_INDEX",
    "Admission",
    "AnyHandler",
    "Backoff",
    "ChangeSource",
    "ChangeType",
    "DeletedObject",
    "Delta",
    "DeltaController",
    "DeltaControllerConfig",
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
    "Health",
    "IndexFunc",
    "Indexer",
    "Indexers",
    "Informer",
    "InformerEvent",
    "InformerFactory",
    "InformerKey",
    "InformerMap",
    "InformerOptions",
    "InformerStatus",
    "KindOptions",
    "Latch",
    "ListWatch",
    "Lister",
    "MetadataSharedInformerFactory",
    "MutationCache",
    "NamespaceLister",
    "NamespaceNames",
    "NamespaceOptions",
    "Namespaces",
    "PastError",
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
    "RunOn",
    "Scope",
    "Selectors",
    "ServerCapabilities",
    "SharedIndexInformer",
    "SharedInformerFactory",
    "Snapshot",
    "SourceCallable",
    "Store",
    "StoreTarget",
    "StoreWrite",
    "StripMetadata",
    "SyncMode",
    "SyncResult",
    "SyncStatus",
    "Transform",
    "TweakListOptions",
    "UndeltaStore",
    "UnsyncedReads",
    "WatchFailure",
    "chain",
    "deletion_handling_key",
    "deletion_handling_object_name",
    "field_index",
    "health_of",
    "index_func_to_key_func",
    "label_index",
    "namespace_index",
    "new_informer",
    "owner_index",
    "strip_managed_fields",
    "strip_metadata",
    "wait_for",
]
