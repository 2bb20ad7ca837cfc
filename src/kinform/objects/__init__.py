"""The object model: bytes at rest, decoded on demand."""

from __future__ import annotations

from kinform.objects._codec import JSON, Codec, JsonCodec
from kinform.objects._frozen import FrozenDict, FrozenList, freeze, thaw
from kinform.objects._handle import Handle
from kinform.objects._head import Head, OwnerUid
from kinform.objects._partial import PartialObjectMetadata
from kinform.objects._paths import Path
from kinform.objects._record import Record
from kinform.objects._unstructured import Unstructured

__all__ = [
    "JSON",
    "Codec",
    "FrozenDict",
    "FrozenList",
    "Handle",
    "Head",
    "JsonCodec",
    "OwnerUid",
    "PartialObjectMetadata",
    "Path",
    "Record",
    "Unstructured",
    "freeze",
    "thaw",
]
