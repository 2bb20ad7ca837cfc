"""The informer stack for Python.

    server ─bytes→ transport ─frames→ client ─events→ …

Data moves left to right; imports point right to left. What most programs need is here; the
rest lives in its room: ``kinform.api``, ``kinform.objects``, ``kinform.transport``,
``kinform.client``, ``kinform.testing``, ``kinform.errors``.
"""

from __future__ import annotations

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
from kinform.client import Client, EventType, ObjectList, Watch, WatchEvent
from kinform.errors import (
    ApiError,
    ConfigError,
    ConflictError,
    KinformError,
    NotFoundError,
    TransportError,
)
from kinform.objects import PartialObjectMetadata, Unstructured
from kinform.transport import ClusterConfig

__all__ = [
    "GVK",
    "GVR",
    "ApiError",
    "ApiResource",
    "Client",
    "ClusterConfig",
    "ConfigError",
    "ConflictError",
    "EventType",
    "FieldSelector",
    "KinformError",
    "LabelSelector",
    "ListOptions",
    "NotFoundError",
    "ObjectList",
    "ObjectName",
    "PartialObjectMetadata",
    "TransportError",
    "Unstructured",
    "Watch",
    "WatchEvent",
    "namespace_key",
    "split_namespace_key",
]
