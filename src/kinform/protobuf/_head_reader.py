"""Decoding of the heads of protobuf objects."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from google.protobuf.message import DecodeError as ParseError

from kinform._native import try_head
from kinform.objects import Head, OwnerUid
from kinform.protobuf._messages import own_classes
from kinform.protobuf._partial_message import PartialMessage
from kinform.protobuf._values import time_text

# The fields of a head; all others are skipped.
_HEAD = {
    "HeadTime": "seconds 1 *int64 -\n nanos 2 int32 -",
    "HeadMeta": """
        name 1 string -
        namespace 3 string -
        uid 5 string -
        resourceVersion 6 string -
        generation 7 int64 -
        deletionTimestamp 9 *HeadTime -
        labels 11 map[string]string -
        ownerReferences 13 []bytes -
    """,
    "HeadObject": "metadata 1 HeadMeta -",
}
_OWNER = PartialMessage("HeadOwner", "uid 4 string -\n controller 6 *bool -")


def head_of(payload: bytes) -> Head:
    """Decode the head of an object. Raises the errors of the parser."""
    # Under load the parser is as fast. But with an event every few milliseconds, its code and
    # tables have left the CPU caches each time.
    usual: Head | None = try_head(payload, Head, owners_of)
    return parsed_head(payload) if usual is None else usual


def parsed_head(payload: bytes) -> Head:
    """Decode the head with the parser."""
    metadata = _parse()(payload).metadata
    labels = metadata.labels
    owners = metadata.ownerReferences
    return Head(
        metadata.name,
        _shared(metadata.namespace),
        metadata.uid,
        metadata.resourceVersion,
        metadata.generation,
        time_text(metadata.deletionTimestamp) if metadata.HasField("deletionTimestamp") else None,
        # Sorted as in JSON, because protobuf maps have no order.
        {_shared(key): labels[key] for key in sorted(labels)} if labels else None,
        owners_of(*owners) if owners else None,
    )


# Namespaces and names of labels are shared between objects, as the JSON decoder does for keys. Not
# with ``sys.intern``, because Python 3.12 never frees an interned string.
@lru_cache(maxsize=4096)
def _shared(name: str) -> str:
    return name


# Workloads create many objects with the same owners, which are decoded once and shared.
@lru_cache(maxsize=4096)
def owners_of(*references: bytes) -> tuple[OwnerUid, ...]:
    """Decode the owner references of an object. Raises ValueError."""
    try:
        return tuple([OwnerUid(*_OWNER.read(each)) for each in references])
    except ParseError as error:
        raise ValueError(str(error)) from error  # the error that compiled code handles


@cache
def _parse() -> Any:
    return own_classes(_HEAD)["HeadObject"].FromString
