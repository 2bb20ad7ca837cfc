"""JSON bodies in, the same bodies with one thing changed out: what event and list faults share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from kinform.errors import DecodeError
from kinform.testing._interception import WatchFrame

_MAGIC = b"k8s\0"
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_RESOURCE_VERSION = re.compile(rb'"resourceVersion":\s*"([^"]*)"')


def decode(body: bytes) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(body)
    return document


def encode(document: dict[str, Any]) -> bytes:
    return msgspec.json.encode(document)


def edited(body: bytes, edit: Callable[[dict[str, Any]], None]) -> bytes:
    """The body after ``edit`` changed it in place."""
    document = decode(body)
    edit(document)
    return encode(document)


def is_bookmark(frame: WatchFrame) -> bool:
    return frame.type == "BOOKMARK"


def is_end_bookmark(frame: WatchFrame) -> bool:
    """Whether this is the bookmark after the last initial event."""
    if not is_bookmark(frame):
        return False
    annotations = decode(frame.object).get("metadata", {}).get("annotations") or {}
    return annotations.get(INITIAL_EVENTS_END) == "true"


def with_resource_versions(body: bytes, rewrite: Callable[[str], str]) -> bytes:
    """The body with every resource version in it rewritten, those of references too.

    Of a body in protobuf nothing is known but what its kind has, and that is all that is left.
    """
    if body.startswith(_MAGIC):
        from kinform.testing._protobuf import json_of, protobuf_of

        try:
            json = json_of(body)
        except DecodeError:
            return body  # the server complains of it better than we could
        return protobuf_of(with_resource_versions(json, rewrite))

    def replace(match: re.Match[bytes]) -> bytes:
        old = match.group(1).decode()
        # Empty and "0" have meanings of their own.
        return (
            match.group() if old in ("", "0") else b'"resourceVersion":"%b"' % rewrite(old).encode()
        )

    return _RESOURCE_VERSION.sub(replace, body)
