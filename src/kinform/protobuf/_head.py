"""The message of an object in; the few fields that every stage needs out."""

from __future__ import annotations

from functools import lru_cache
from sys import intern
from typing import Any

from kinform.objects import Head, OwnerUid
from kinform.protobuf._messages import own_messages
from kinform.protobuf._values import time_text

# As much of an object as a head has; whatever else there is, is skipped.
_ours = own_messages(
    {
        "HeadTime": "seconds 1 *int64 -\n nanos 2 int32 -",
        "HeadOwner": "uid 4 string -\n controller 6 *bool -",
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
)
# Objects with more parts than that have lists of their own, which the parser walks faster.
_FEW = 6
_parse, _parse_owner = _ours["HeadObject"].FromString, _ours["HeadOwner"].FromString


UNUSUAL = (IndexError, UnicodeDecodeError)
"""What ``usual_head`` may raise instead of returning ``None``."""


def usual_head(payload: bytes) -> Head | None:
    """The head of an object as servers write most of them; ``None``, or an error, for any other.

    It goes from field to field in the order of their numbers, and asks of whatever it passes over
    that it ends where it says. The parser is as fast as this when it is busy. But where an event
    comes every few milliseconds, its code and its tables have left the processor's caches each
    time, and then this is three times as fast (benchmarks/run.py --only steady).
    """
    size, at = payload[1], 2
    if size > 0x7F:
        size, at = size - 0x80 + (payload[2] << 7), 3
        if size > 0x3FFF:
            size, at = size - 0x4000 + (payload[3] << 14), 4
    end, total = at + size, len(payload)
    if payload[0] != 0x0A or size > 0x1FFFFF or end > total:
        return None

    # A size of two bytes shows in ``sizes``; what was read after it is thrown away.
    name = namespace = uid = version = ""
    generation = sizes = 0
    if payload[at] == 0x0A:
        sizes, start = payload[at + 1], at + 2
        at = start + sizes
        name = payload[start:at].decode()
    if payload[at] == 0x12:  # generateName
        size = payload[at + 1]
        sizes |= size
        at += 2 + size
    if payload[at] == 0x1A:
        size, start = payload[at + 1], at + 2
        sizes |= size
        at = start + size
        namespace = intern(payload[start:at].decode())
    if payload[at] == 0x22:  # selfLink
        size = payload[at + 1]
        sizes |= size
        at += 2 + size
    if payload[at] == 0x2A:
        size, start = payload[at + 1], at + 2
        sizes |= size
        at = start + size
        uid = payload[start:at].decode()
    if payload[at] == 0x32:
        size, start = payload[at + 1], at + 2
        sizes |= size
        at = start + size
        version = payload[start:at].decode()
    if payload[at] == 0x38:
        generation = payload[at + 1]
        sizes |= generation
        at += 2
    if payload[at] == 0x42:  # creationTimestamp
        size = payload[at + 1]
        sizes |= size
        at += 2 + size

    labels: dict[str, str] = {}
    key = ""
    while at < end and payload[at] == 0x5A:
        size, key_size, start = payload[at + 1], payload[at + 3], at + 4
        sizes |= size | key_size
        before, middle = key, start + key_size
        at = start - 2 + size
        key = intern(payload[start:middle].decode())
        if (
            payload[start - 2] != 0x0A
            or payload[middle] != 0x12
            or payload[middle + 1] != size - key_size - 4
            or key <= before
        ):
            return None
        labels[key] = payload[middle + 2 : at].decode()
    while at < end and payload[at] == 0x62:  # annotations
        size, at = payload[at + 1], at + 2
        if size > 0x7F:
            sizes |= payload[at]
            size, at = size - 0x80 + (payload[at] << 7), at + 1
        at += size
    owners: list[bytes] = []
    while at < end and payload[at] == 0x6A:
        size, at = payload[at + 1], at + 2
        if size > 0x7F:
            sizes |= payload[at]
            size, at = size - 0x80 + (payload[at] << 7), at + 1
        owners.append(payload[at : (at := at + size)])
    while at < end:  # managedFields
        if payload[at] != 0x8A or payload[at + 1] != 0x01:
            return None
        size, at = payload[at + 2], at + 3
        if size > 0x7F:
            sizes |= payload[at]
            size, at = size - 0x80 + (payload[at] << 7), at + 1
        at += size
    if at != end or sizes > 0x7F or not _has_plain_parts(payload, end, total):
        return None
    return Head(
        name,
        namespace,
        uid,
        version,
        generation,
        None,
        labels or None,
        _owners(*owners) if owners else None,
    )


def _has_plain_parts(payload: bytes, at: int, end: int) -> bool:
    """Whether a few fields that are no metadata come one after the other until the end."""
    parts = 0
    while at < end and parts < _FEW:
        parts += 1
        # A field of a number up to 15 that has a size.
        if payload[at] & 0x87 != 0x02 or payload[at] == 0x0A:
            return False
        size, at = payload[at + 1], at + 2
        if size > 0x7F:
            size, at = size - 0x80 + (payload[at] << 7), at + 1
            if size > 0x3FFF:
                size, at = size - 0x4000 + (payload[at] << 14), at + 1
                if size > 0x1FFFFF:
                    return False
        at += size
    return at == end


def parsed_head(payload: bytes) -> Head:
    """The head of any object. Raises what the parser raises."""
    metadata = _parse(payload).metadata
    labels = metadata.labels
    owners = metadata.ownerReferences
    return Head(
        metadata.name,
        # One string for all objects that say the same, as the JSON decoder has for keys.
        intern(metadata.namespace),
        metadata.uid,
        metadata.resourceVersion,
        metadata.generation,
        time_text(metadata.deletionTimestamp) if metadata.HasField("deletionTimestamp") else None,
        # Sorted, as JSON has them: a map has no order.
        {intern(key): labels[key] for key in sorted(labels)} if labels else None,
        _owners(*owners) if owners else None,
    )


# What a workload makes, it makes many of: their owners are read once, and shared.
@lru_cache(maxsize=4096)
def _owners(*references: bytes) -> tuple[OwnerUid, ...]:
    owners = map(_parse_owner, references)
    return tuple([OwnerUid(each.uid, _controls(each)) for each in owners])


def _controls(owner: Any) -> bool | None:
    return owner.controller if owner.HasField("controller") else None
