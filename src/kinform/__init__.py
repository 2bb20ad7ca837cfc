"""Kubernetes informers for Python.

    server ─bytes→ transport ─frames→ client ─events→ reflector ─deltas→ queue ─→ store/index
                                                                                  │
                                              listers, any thread ←───────────────┤
                                              dispatch ─→ handlers ←──────changes─┘

Data flows from left to right. This package exports the names that most programs need; the
others are in ``kinform.api``, ``kinform.objects``, ``kinform.models``,
``kinform.transport``, ``kinform.client``, ``kinform.informers``, ``kinform.workqueue``,
``kinform.controllers``, ``kinform.metrics``, ``kinform.blocking``, ``kinform.generate``,
``kinform.testing``, ``kinform.errors``.
"""

from __future__ import annotations

from kinform._version import __version__ as __version__
from kinform.api import (
    GVK,
    GVR,
    ApiResource,
    FieldSelector,
    LabelSelector,
    ListOptions,
    ObjectName,
    namespace_key,
    split_namespace_key,
)
from kinform.cache import Cache
from kinform.client import (
    Client,
    EventType,
    ObjectList,
    Reader,
    Watch,
    Watcher,
    WatchEvent,
    Writer,
)
from kinform.errors import (
    ApiError,
    CacheSyncError,
    ConfigError,
    ConflictError,
    KinformError,
    NotFoundError,
    TransportError,
)
from kinform.informers import (
    ALL_NAMESPACES,
    NAMESPACE_INDEX,
    DeletedObject,
    DynamicSharedInformerFactory,
    Indexer,
    KindOptions,
    Latch,
    Lister,
    ListWatch,
    MetadataSharedInformerFactory,
    NamespaceOptions,
    Reflector,
    Registration,
    ResourceEventHandler,
    Selectors,
    SharedIndexInformer,
    SharedInformerFactory,
    Store,
    new_informer,
    wait_for,
)
from kinform.objects import PartialObjectMetadata, Quantity, TypedObject, Unstructured
from kinform.transport import ClusterConfig

__all__ = [
    "ALL_NAMESPACES",
    "GVK",
    "GVR",
    "NAMESPACE_INDEX",
    "ApiError",
    "ApiResource",
    "Cache",
    "CacheSyncError",
    "Client",
    "ClusterConfig",
    "ConfigError",
    "ConflictError",
    "DeletedObject",
    "DynamicSharedInformerFactory",
    "EventType",
    "FieldSelector",
    "Indexer",
    "KindOptions",
    "KinformError",
    "LabelSelector",
    "Latch",
    "ListOptions",
    "ListWatch",
    "Lister",
    "MetadataSharedInformerFactory",
    "NamespaceOptions",
    "NotFoundError",
    "ObjectList",
    "ObjectName",
    "PartialObjectMetadata",
    "Quantity",
    "Reader",
    "Reflector",
    "Registration",
    "ResourceEventHandler",
    "Selectors",
    "SharedIndexInformer",
    "SharedInformerFactory",
    "Store",
    "TransportError",
    "TypedObject",
    "Unstructured",
    "Watch",
    "WatchEvent",
    "Watcher",
    "Writer",
    "namespace_key",
    "new_informer",
    "split_namespace_key",
    "wait_for",
]
