"""Codecs, which decode and encode the payloads of objects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

import msgspec

from kinform.api import GVK
from kinform.errors import DecodeError, EncodeError, InvalidNameError
from kinform.objects._head import Head
from kinform.objects._json_trees import require_json
from kinform.objects._model import model_decoder, read_only_decoder
from kinform.objects._model_trees import without_nulls
from kinform.objects._part_groups import PartGroup
from kinform.objects._paths import Path, split_path, step_into
from kinform.objects._strip_metadata import drop_metadata
from kinform.objects._type_errors import type_error


class Codec(Protocol):
    """A wire format of objects (JSON, protobuf). Other code does not depend on the format."""

    @property
    def name(self) -> str: ...

    def read_head(self, payload: bytes) -> tuple[Head, GVK | None]:
        """Decode the head and, if the payload contains it, the kind, in one scan.

        Raises:
            DecodeError: The payload is not an object in this format.
        """
        ...

    def decode(self, payload: bytes) -> dict[str, Any]:
        """Decode the complete object as a new tree. Raises DecodeError."""
        ...

    def decode_part(self, payload: bytes, part: str) -> Any:
        """Decode one top-level part as a new tree, without decoding the others.

        Raises:
            KeyError: The object does not have this part. A null part is ``None``.
            DecodeError: The payload, or this part of it, is malformed.
        """
        ...

    def decode_path(self, payload: bytes, path: Path) -> Any:
        """Decode the value at a path as a new tree, and as little else as possible.

        Raises:
            LookupError: There is no value at the path.
            DecodeError: The payload, or a value on the path, is malformed.
            InvalidNameError: The path is invalid.
        """
        ...

    def decode_parts(
        self, payload: bytes, group: PartGroup, *, read_only: bool = False
    ) -> Sequence[Any]:
        """Decode the parts of a group, in its order, as the types of the group.

        Absent and null parts are ``None``. With ``read_only``, structs refuse assignments; those of
        protobuf always do.

        Raises:
            DecodeError: A value has the wrong type; the message begins with its path.
        """
        ...

    def encode(self, tree: Any) -> bytes:
        """Encode a tree; decoding the result returns an equal tree.

        Raises:
            EncodeError: A value cannot be encoded in this format; the message names its path.
        """
        ...

    def keep_metadata(self, payload: bytes) -> tuple[Codec, bytes]:
        """Return the object as a ``PartialObjectMetadata``, with its codec. Raises DecodeError."""
        ...

    def drop_metadata(self, payload: bytes, fields: frozenset[str]) -> bytes:
        """Return the object without some metadata fields, given by their JSON names.

        Nothing else is decoded. Without any of the fields, the same bytes are returned.

        Raises:
            DecodeError: The payload is not an object in this format.
        """
        ...

    def editable(self, payload: bytes) -> tuple[Codec, bytes]:
        """Return the object as JSON; ``PARTIAL_JSON`` if incomplete. Raises DecodeError."""
        ...


class _HeadAndKind(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The fields of an object that are decoded on arrival: head and kind."""

    metadata: Head
    api_version: str = ""
    kind: str = ""


class _RawMetadata(msgspec.Struct, gc=False):
    metadata: msgspec.Raw


class _BareName(msgspec.Struct, gc=False, rename="camel"):
    name: Any = ""
    namespace: Any = ""
    resource_version: Any = ""


class _BareObject(msgspec.Struct, gc=False):
    """The fields of an object that identify it in an error."""

    kind: Any = ""
    metadata: _BareName | None = None


head_decoder = msgspec.json.Decoder(_HeadAndKind)
"""Decodes the head of an object in JSON: its kind, names, labels and versions."""

_raw_metadata_decoder = msgspec.json.Decoder(_RawMetadata)
_bare_object_decoder = msgspec.json.Decoder(_BareObject)
_tree_decoder = msgspec.json.Decoder(dict[str, Any])
_encoder = msgspec.json.Encoder()

# Deeply nested bodies, such as a million open brackets, raise RecursionError.
_MALFORMED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_PLAIN_PART = re.compile(r"[A-Za-z0-9_./-]+")


@lru_cache(maxsize=4096)
def _gvk(api_version: str, kind: str) -> GVK:
    """Return the same GVK instance for all objects of a kind."""
    return GVK.of(api_version, kind)


@lru_cache(maxsize=256)
def _part_decoder(part: str) -> msgspec.json.Decoder[Any]:
    """Return a decoder that decodes one member of an object and skips the others."""
    fields = [("value", Any, msgspec.field(default=msgspec.UNSET, name=part))]
    return msgspec.json.Decoder(msgspec.defstruct("Part", fields, gc=False))


class JsonCodec:
    """The JSON codec. It is stateless, so all instances are equivalent."""

    name = "json"

    def read_head(self, payload: bytes) -> tuple[Head, GVK | None]:
        try:
            found = head_decoder.decode(payload)
            if not found.kind:
                return found.metadata, None
            return found.metadata, _gvk(found.api_version, found.kind)
        except (*_MALFORMED, InvalidNameError) as error:
            raise _decode_error("{} is not an object", payload, error) from error

    def decode(self, payload: bytes) -> dict[str, Any]:
        try:
            return _tree_decoder.decode(payload)
        except _MALFORMED as error:
            raise _decode_error("{} does not decode", payload, error) from error

    def decode_part(self, payload: bytes, part: str) -> Any:
        if not _PLAIN_PART.fullmatch(part):
            return self.decode(payload)[part]
        try:
            value = _part_decoder(part).decode(payload).value
        except _MALFORMED as error:
            raise _decode_error(f"{part!r} of {{}} does not decode", payload, error) from error
        if value is msgspec.UNSET:
            raise KeyError(part)
        return value

    def decode_path(self, payload: bytes, path: Path) -> Any:
        part, *rest = split_path(path)
        return step_into(self.decode_part(payload, str(part)), rest)

    def decode_parts(
        self, payload: bytes, group: PartGroup, *, read_only: bool = False
    ) -> Sequence[Any]:
        if read_only:
            struct = group.read_only_struct
            decoder = read_only_decoder(struct)
        else:
            struct = group.struct
            decoder = model_decoder(struct)
        try:
            return msgspec.structs.astuple(decoder.decode(payload))
        except _MALFORMED:
            # A null means absent in a model. Handled only after a failure, because servers rarely
            # send one and checking costs as much as decoding.
            pass
        tree = self.decode(payload)
        try:
            tree = without_nulls(tree, struct)
            return msgspec.structs.astuple(decoder.decode(_encoder.encode(tree)))
        except msgspec.MsgspecError as error:
            raise DecodeError(type_error(error, tree, decoder)) from error
        except RecursionError as error:
            raise DecodeError("the object: it is nested too deep") from error

    def encode(self, tree: Any) -> bytes:
        require_json(tree)
        try:
            return _encoder.encode(tree)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise EncodeError(f"it cannot be written as JSON: {error}") from error

    def keep_metadata(self, payload: bytes) -> tuple[Codec, bytes]:
        try:
            metadata = bytes(_raw_metadata_decoder.decode(payload).metadata)
        except _MALFORMED as error:
            raise _decode_error("{} has no metadata to keep", payload, error) from error
        kept = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":%s}'
        return self, kept % metadata

    def drop_metadata(self, payload: bytes, fields: frozenset[str]) -> bytes:
        try:
            return drop_metadata(payload, fields)
        except _MALFORMED as error:
            raise _decode_error("the metadata of {} does not decode", payload, error) from error

    def editable(self, payload: bytes) -> tuple[Codec, bytes]:
        return self, payload


class PartialJsonCodec(JsonCodec):
    """The codec of incomplete JSON: unknown fields of the original object were left out."""


class NestedJsonCodec(JsonCodec):
    """The codec of objects in JSON that are nested in parts, and may lack the kind."""

    def encode(self, tree: Any) -> bytes:
        return _encoder.encode(tree)  # without checks, because the tree was decoded

    def editable(self, payload: bytes) -> tuple[Codec, bytes]:
        return JSON, payload


JSON: Codec = JsonCodec()
"""The codec of whole objects in JSON."""

PARTIAL_JSON: Codec = PartialJsonCodec()
"""The codec of incomplete objects in JSON, as copies of protobuf objects can be."""

NESTED_JSON: Codec = NestedJsonCodec()
"""The codec of read-only objects inside of others, whichever format those have."""


def _decode_error(complaint: str, payload: bytes, cause: Exception) -> DecodeError:
    """Return the error for a payload; ``{}`` in ``complaint`` stands for the object's name."""
    try:
        bare = _bare_object_decoder.decode(payload)
    except _MALFORMED:
        return DecodeError(f"{complaint.format(_beginning(payload))}: {cause}")
    kind = _text(bare.kind) or "JSON without a kind"
    metadata = bare.metadata or _BareName()
    key = "/".join(filter(None, (_text(metadata.namespace), _text(metadata.name))))
    called = f"{kind} {key!r}" if key else f"{kind} without a name"
    return DecodeError(
        f"{complaint.format(called)}: {cause}",
        # A namespace without a name is not a key.
        key=key if _text(metadata.name) else "",
        resource_version=_text(metadata.resource_version),
    )


def _beginning(payload: bytes) -> str:
    """Describe bytes that are not JSON, without the content of objects, which may be secret."""
    start = payload.lstrip()[:60]
    if start[:1] in (b"{", b"["):
        return f"JSON of {len(payload)} bytes"
    if start.startswith(b"<") or (b" " in start and b'"' not in payload):
        return f"a body of {len(payload)} bytes that begins {payload[:60]!r}"
    return f"a body of {len(payload)} bytes"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
