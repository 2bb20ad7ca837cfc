"""The protobuf format of objects, which API servers store and send without conversion."""

from __future__ import annotations

from kinform.protobuf._codec import ProtobufCodec, codec_for
from kinform.protobuf._envelope import (
    MAGIC,
    ListBody,
    UnwrappedBody,
    join_list,
    read_event,
    read_kind,
    split_list,
    unwrap,
    wrap,
    write_event,
)
from kinform.protobuf._head_reader import owners_of

__all__ = [
    "MAGIC",
    "ListBody",
    "ProtobufCodec",
    "UnwrappedBody",
    "codec_for",
    "join_list",
    "owners_of",
    "read_event",
    "read_kind",
    "split_list",
    "unwrap",
    "wrap",
    "write_event",
]
