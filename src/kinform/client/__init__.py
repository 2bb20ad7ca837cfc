"""Verbs over types: what to ask a cluster, and what it answers."""

from __future__ import annotations

from kinform.client._arguments import (
    Fields,
    Labels,
    PatchType,
    Propagation,
    as_field_selector,
    as_label_selector,
)
from kinform.client._client import Body, Client
from kinform.client._discovery import Discovery
from kinform.client._framing import EventType, Frame, FrameDecoder
from kinform.client._lists import ObjectList, Undecodable
from kinform.client._resolver import Resource
from kinform.client._verbs import Verbs
from kinform.client._watch import Watch, WatchEvent

__all__ = [
    "Body",
    "Client",
    "Discovery",
    "EventType",
    "Fields",
    "Frame",
    "FrameDecoder",
    "Labels",
    "ObjectList",
    "PatchType",
    "Propagation",
    "Resource",
    "Undecodable",
    "Verbs",
    "Watch",
    "WatchEvent",
    "as_field_selector",
    "as_label_selector",
]
