"""The binary form of objects: the one that API servers keep, and give without thinking."""

from __future__ import annotations

from kinform.protobuf._codec import ProtobufCodec, codec_for
from kinform.protobuf._envelope import (
    EVENT_END,
    MAGIC,
    Body,
    ListBody,
    event_beginning,
    join_list,
    read_event,
    read_kind,
    split_list,
    unwrap,
    wrap,
    write_event,
)

__all__ = [
    "EVENT_END",
    "MAGIC",
    "Body",
    "ListBody",
    "ProtobufCodec",
    "codec_for",
    "event_beginning",
    "join_list",
    "read_event",
    "read_kind",
    "split_list",
    "unwrap",
    "wrap",
    "write_event",
]
