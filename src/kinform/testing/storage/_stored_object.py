"""One version of an object as stored, and one change in the history."""

from __future__ import annotations

from typing import Any

import msgspec

from kinform.testing.storage._object_document import EncodedObject, ObjectDocument, decode_metadata


class StoredObject(msgspec.Struct, frozen=True, gc=False):
    """One version of one object: its JSON and the values for selectors.

    ``type_end`` is the end of kind and apiVersion, which come first in the JSON.
    """

    key: str
    resource_version: int
    body: bytes
    type_end: int
    metadata_start: int
    metadata_end: int
    labels: dict[str, str]
    fields: tuple[str, ...]

    @property
    def metadata_json(self) -> bytes:
        return self.body[self.metadata_start : self.metadata_end]

    def document(self) -> ObjectDocument:
        """Return the object for editing."""
        encoded = EncodedObject(self.body, self.type_end, self.metadata_start, self.metadata_end)
        return ObjectDocument.from_encoded(encoded)

    def metadata(self) -> dict[str, Any]:
        """Decode and return the metadata; ``managedFields`` stay bytes."""
        return decode_metadata(self.metadata_json)


class StoredChange(msgspec.Struct, frozen=True, gc=False):
    """One change in the history.

    ``new`` is the state after it; for a deletion the last state, with the version of the
    deletion. ``old`` is the state before, or ``None``.
    """

    resource_version: int
    new: StoredObject
    old: StoredObject | None
    deleted: bool
