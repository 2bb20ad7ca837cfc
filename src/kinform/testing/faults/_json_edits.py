"""Edits to JSON bodies, shared by the event and list faults."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from kinform.errors import DecodeError
from kinform.testing.formats import INITIAL_EVENTS_END
from kinform.testing.interception import WatchFrame

_MAGIC = b"k8s\0"
_RESOURCE_VERSION = re.compile(rb'"resourceVersion":\s*"([^"]*)"')


def decode(body: bytes) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(body)
    return document


def encode(document: dict[str, Any]) -> bytes:
    return msgspec.json.encode(document)


def edited(body: bytes, edit: Callable[[dict[str, Any]], None]) -> bytes:
    """Return the body after ``edit`` changed it in place."""
    document = decode(body)
    edit(document)
    return encode(document)


def is_bookmark(frame: WatchFrame) -> bool:
    return frame.type == "BOOKMARK"


def is_end_bookmark(frame: WatchFrame) -> bool:
    """Whether the frame is the bookmark after the last initial event."""
    if not is_bookmark(frame):
        return False
    annotations = decode(frame.object).get("metadata", {}).get("annotations") or {}
    return annotations.get(INITIAL_EVENTS_END) == "true"


def with_resource_versions(body: bytes, rewrite: Callable[[str], str]) -> bytes:
    """Return the body with every resource version rewritten, including those of references.

    A body in protobuf only keeps the fields that are known for its kind.
    """
    if body.startswith(_MAGIC):
        from kinform.testing.formats.protobuf import json_of, protobuf_of

        try:
            json = json_of(body)
        except DecodeError:
            return body  # the server reports a better error
        return protobuf_of(with_resource_versions(json, rewrite))

    def replace(match: re.Match[bytes]) -> bytes:
        old = match.group(1).decode()
        # Empty and "0" have special meanings.
        return (
            match.group() if old in ("", "0") else b'"resourceVersion":"%b"' % rewrite(old).encode()
        )

    return _RESOURCE_VERSION.sub(replace, body)
