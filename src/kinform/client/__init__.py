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
from kinform.client._forms import checked_form
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
    Reader,
    ViewReader,
    ViewWatcher,
    Watcher,
    Writer,
    watcher_view,
)
from kinform.client._reachability import Reachability
from kinform.client._resolver import Resource, ResourceOrModel, place_of
from kinform.client._suggestions import suggest_resource
from kinform.client._verbs import Verbs
from kinform.client._watch import BatchConsumer, Watch, WatchEvent
from kinform.client._write_hooks import Write, WriteHook, WriteVerb

__all__ = [
    "ApplyKeywords",
    "BatchConsumer",
    "Client",
    "ContinueGuard",
    "DeleteCollectionKeywords",
    "DeleteKeywords",
    "Discovery",
    "EventType",
    "Fields",
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
    "Propagation",
    "Reachability",
    "Reader",
    "Resource",
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
    "place_of",
    "suggest_resource",
    "watcher_view",
]
