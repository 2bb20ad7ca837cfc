"""Views of stored objects: the bytes for the version and form that a request asks for."""

from __future__ import annotations

from typing import Any

import msgspec

from kinform.testing.resources import ServedResource
from kinform.testing.storage import StoredObject, type_prefix

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_METADATA_KIND = "PartialObjectMetadata"


class Representation:
    """The objects of one resource in one version, whole or as metadata only.

    ``metadata_version`` is the requested version of PartialObjectMetadata, or empty.
    Objects are not decoded: a view slices and joins bytes.
    """

    def __init__(self, served: ServedResource, metadata_version: str = "") -> None:
        self.custom = served.custom
        self._metadata_only = bool(metadata_version)
        if metadata_version:
            self.api_version = f"meta.k8s.io/{metadata_version}"
            self.kind = _METADATA_KIND
            self.list_kind = f"{_METADATA_KIND}List"
            self.custom = False
        else:
            self.api_version = served.api_version
            self.kind = served.kind
            self.list_kind = served.list_kind
        self._prefix = type_prefix(self.kind, self.api_version, custom=self.custom)
        self._expected = self._prefix + b","
        self._typed_items = self.custom or self._metadata_only

    def body(self, stored: StoredObject) -> bytes:
        """Return an object for a single response or an event."""
        if self._metadata_only:
            return b'%b,"metadata":%b}' % (self._prefix, stored.metadata_json)
        if stored.body.startswith(self._expected):
            return stored.body
        return self._prefix + stored.body[stored.type_end :]

    def item(self, stored: StoredObject) -> bytes:
        """Return an object for a list, where built-in kinds omit their kind."""
        if self._typed_items:
            return self.body(stored)
        return b"{" + stored.body[stored.type_end + 1 :]

    def bookmark(self, version: int, *, initial_events_end: bool) -> bytes:
        """Return the object of a BOOKMARK event."""
        metadata: dict[str, Any] = {"resourceVersion": str(version)}
        if initial_events_end:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        return b'%b,"metadata":%b}' % (self._prefix, msgspec.json.encode(metadata))
