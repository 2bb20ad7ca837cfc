"""Stored objects: the bytes from the server and the decoded head, shared by all readers."""

from __future__ import annotations

import sys

import msgspec

from kinform.api import GVK
from kinform.errors import DecodeError
from kinform.objects._codec import Codec
from kinform.objects._head import Head

METADATA = GVK("meta.k8s.io", "v1", "PartialObjectMetadata")
"""The kind of objects of which the server sends only the metadata."""


class Record(msgspec.Struct, frozen=True, gc=False, eq=False):
    """Payload, head, kind and codec of an object. Stores keep records; handles are views of them.

    Attributes:
        payload: The bytes of the object, in the format of ``codec``.
        head: The fields that are decoded on arrival.
        gvk: The kind of the object, stored separately because list items do not contain it.
        codec: Decodes the payload.
    """

    payload: bytes
    head: Head
    gvk: GVK
    codec: Codec

    def __repr__(self) -> str:
        # Without the payload, which may be a Secret.
        return f"<Record {self.gvk} {self.head.key!r}>"

    @classmethod
    def read(cls, payload: bytes, codec: Codec, *, default_gvk: GVK | None = None) -> Record:
        """Decode the head of ``payload``; ``default_gvk`` is used if the payload has no kind.

        Raises:
            DecodeError: The payload is not an object, or its kind is unknown.
        """
        head, gvk = codec.read_head(payload)
        gvk = gvk or default_gvk
        if gvk is None:
            raise DecodeError(
                f"object {head.key!r} does not contain its kind, and the source does not know it",
                key=head.key,
                resource_version=head.resource_version,
            )
        return cls(payload, head, gvk, codec)

    def only_metadata(self) -> Record:
        """Return the object as a ``PartialObjectMetadata``, unless it is one already.

        Raises:
            DecodeError: The object has no metadata.
        """
        if self.gvk.kind == METADATA.kind:
            return self
        codec, payload = self.codec.keep_metadata(self.payload)
        return Record(payload, self.head, METADATA, codec)

    @property
    def memory(self) -> int:
        """Bytes of memory of the object: record, payload and head."""
        return sys.getsizeof(self) + sys.getsizeof(self.payload) + self.head.memory
