"""The client: get, list, watch, create, update, patch and delete Kubernetes objects."""

from __future__ import annotations

from kinform.client._arguments import (
    Fields,
    Labels,
    PatchType,
    Propagation,
    as_field_selector,
    as_label_selector,
)
from kinform.client._client import Client
from kinform.client._continue_guard import ContinueGuard
from kinform.client._discovery import Discovery
from kinform.client._forms import checked_form, form_of
from kinform.client._forwarding_watcher import ForwardingWatcher
from kinform.client._forwarding_writer import ForwardingWriter
from kinform.client._frames import EventType, Frame, FrameDecoder
from kinform.client._keywords import (
    ApplyKeywords,
    DeleteCollectionKeywords,
    DeleteKeywords,
    GetKeywords,
    ListKeywords,
    PageKeywords,
    PatchKeywords,
    WatchKeywords,
    WriteKeywords,
)
from kinform.client._lists import ObjectList, Undecodable
from kinform.client._metadata_verbs import MetadataVerbs
from kinform.client._negotiation import WireFormat
from kinform.client._object_writer import ObjectOrMapping
from kinform.client._protocols import (
    ClusterClient,
    ClusterReader,
    ClusterView,
    Reader,
    ViewReader,
    ViewWatcher,
    Watcher,
    Writer,
    watcher_view,
)
from kinform.client._reachability import Reachability
from kinform.client._resources import (
    Place,
    Resource,
    ResourceLike,
    ResourceOrModel,
    gvr_of,
    place_of,
)
from kinform.client._suggestions import suggest_kind, suggest_resource
from kinform.client._verbs import Verbs
from kinform.client._watch import BatchConsumer, Watch, WatchEvent
from kinform.client._write_hooks import Write, WriteHook, WriteVerb

__all__ = [
    "ApplyKeywords",
    "BatchConsumer",
    "Client",
    "ClusterClient",
    "ClusterReader",
    "ClusterView",
    "ContinueGuard",
    "DeleteCollectionKeywords",
    "DeleteKeywords",
    "Discovery",
    "EventType",
    "Fields",
    "ForwardingWatcher",
    "ForwardingWriter",
    "Frame",
    "FrameDecoder",
    "GetKeywords",
    "Labels",
    "ListKeywords",
    "MetadataVerbs",
    "ObjectList",
    "ObjectOrMapping",
    "PageKeywords",
    "PatchKeywords",
    "PatchType",
    "Place",
    "Propagation",
    "Reachability",
    "Reader",
    "Resource",
    "ResourceLike",
    "ResourceOrModel",
    "Undecodable",
    "Verbs",
    "ViewReader",
    "ViewWatcher",
    "Watch",
    "WatchEvent",
    "WatchKeywords",
    "Watcher",
    "WireFormat",
    "Write",
    "WriteHook",
    "WriteKeywords",
    "WriteVerb",
    "Writer",
    "as_field_selector",
    "as_label_selector",
    "checked_form",
    "form_of",
    "gvr_of",
    "place_of",
    "suggest_kind",
    "suggest_resource",
    "watcher_view",
]
