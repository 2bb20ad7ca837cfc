"""One object at rest: the bytes the server sent, and their head. All readers share it."""

from __future__ import annotations

import sys

import msgspec

from kinform.api import GVK
from kinform.errors import DecodeError
from kinform.objects._codec import Codec
from kinform.objects._head import Head

METADATA = GVK("meta.k8s.io", "v1", "PartialObjectMetadata")
"""The kind that servers give to objects of which only the metadata travels."""


class Record(msgspec.Struct, frozen=True, gc=False, eq=False):
    """Payload, head, kind and codec. Handles are made over it; stores keep nothing else.

    Attributes:
        payload: The object's bytes, in the form that ``codec`` reads.
        head: What was decoded on arrival.
        gvk: The object's kind; items of a list do not carry it, so it is kept beside the bytes.
        codec: How to read the payload.
    """

    payload: bytes
    head: Head
    gvk: GVK
    codec: Codec

    @classmethod
    def read(cls, payload: bytes, codec: Codec, *, default_gvk: GVK | None = None) -> Record:
        """Decode the head of ``payload``; ``default_gvk`` serves if it does not name its kind.

        Raises:
            DecodeError: It is not an object, or does not say its kind.
        """
        head, gvk = codec.read_head(payload)
        gvk = gvk or default_gvk
        if gvk is None:
            raise DecodeError(
                f"object {head.key!r} does not say its kind, and neither does where it came from",
                key=head.key,
                resource_version=head.resource_version,
            )
        return cls(payload, head, gvk, codec)

    def only_metadata(self) -> Record:
        """The same object as a ``PartialObjectMetadata``, whether or not it is one already.

        Raises:
            DecodeError: It has no metadata to keep.
        """
        if self.gvk.kind == METADATA.kind:
            return self
        codec, payload = self.codec.keep_metadata(self.payload)
        return Record(payload, self.head, METADATA, codec)

    @property
    def memory(self) -> int:
        """Bytes that this object holds at rest: record, payload and head."""
        return sys.getsizeof(self) + sys.getsizeof(self.payload) + self.head.memory
