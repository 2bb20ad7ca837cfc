"""The seam between bytes and objects: a payload in; its head, a part, or all of it out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

import msgspec

from kinform.api import GVK
from kinform.errors import DecodeError, EncodeError, InvalidNameError
from kinform.objects._head import Head
from kinform.objects._json_cuts import drop_metadata
from kinform.objects._json_trees import require_json
from kinform.objects._misfits import misfit
from kinform.objects._model import model_decoder
from kinform.objects._model_trees import without_nulls
from kinform.objects._part_groups import PartGroup
from kinform.objects._paths import Path, split_path, step_into


class Codec(Protocol):
    """One form of bytes (JSON, protobuf). Nothing above it knows which one it is."""

    @property
    def name(self) -> str: ...

    def read_head(self, payload: bytes) -> tuple[Head, GVK | None]:
        """The head and, if the payload says so, the kind; in one scan.

        Raises:
            DecodeError: The payload is not an object of this form.
        """
        ...

    def decode(self, payload: bytes) -> dict[str, Any]:
        """A fresh tree of the whole object. Raises DecodeError."""
        ...

    def decode_part(self, payload: bytes, part: str) -> Any:
        """A fresh tree of one top-level part, without decoding the others.

        Raises:
            KeyError: The object has no such part. A part that is null is ``None``.
            DecodeError: The payload, or this part of it, is not of this form.
        """
        ...

    def decode_path(self, payload: bytes, path: Path) -> Any:
        """A fresh tree of what is at a path, decoding no more than must be.

        Raises:
            LookupError: There is nothing.
            DecodeError: The payload, or what is on the way, is not of this form.
            InvalidNameError: That is no path.
        """
        ...

    def decode_parts(self, payload: bytes, group: PartGroup) -> Sequence[Any]:
        """The values of a group's parts, in its order, as what the group says they are.

        An absent part is ``None``, and so is one that is null.

        Raises:
            DecodeError: A value is not what the group says; the message begins with its path.
        """
        ...

    def encode(self, tree: Any) -> bytes:
        """The inverse of ``decode``: what comes out, decoded again, equals ``tree``.

        Raises:
            EncodeError: Something in the tree has no place in this form; the message says where.
        """
        ...

    def keep_metadata(self, payload: bytes) -> tuple[Codec, bytes]:
        """The same object as a ``PartialObjectMetadata``, with its codec. Raises DecodeError."""
        ...

    def drop_metadata(self, payload: bytes, fields: frozenset[str]) -> bytes:
        """The same object without these fields of its metadata, named as in JSON.

        Nothing else is decoded. If it has none of them, these are the very same bytes.

        Raises:
            DecodeError: The payload is not an object of this form.
        """
        ...

    def editable(self, payload: bytes) -> tuple[Codec, bytes]:
        """The same object in JSON; in ``PARTIAL_JSON`` if that is not all. Raises DecodeError."""
        ...


class Envelope(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """As much of an object as is decoded when it arrives."""

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
    """As much of an object as it takes to name it in an error."""

    kind: Any = ""
    metadata: _BareName | None = None


envelope_decoder = msgspec.json.Decoder(Envelope)
_raw_metadata_decoder = msgspec.json.Decoder(_RawMetadata)
_bare_object_decoder = msgspec.json.Decoder(_BareObject)
_tree_decoder = msgspec.json.Decoder(dict[str, Any])
_encoder = msgspec.json.Encoder()

# RecursionError is what a body of a million open brackets raises.
_MALFORMED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_PLAIN_PART = re.compile(r"[A-Za-z0-9_./-]+")


@lru_cache(maxsize=4096)
def _gvk(api_version: str, kind: str) -> GVK:
    """One GVK for all objects of a kind."""
    return GVK.of(api_version, kind)


@lru_cache(maxsize=256)
def _part_decoder(part: str) -> msgspec.json.Decoder[Any]:
    """Decodes one member of an object and skips the others."""
    fields = [("value", Any, msgspec.field(default=msgspec.UNSET, name=part))]
    return msgspec.json.Decoder(msgspec.defstruct("Part", fields, gc=False))


class JsonCodec:
    """Objects as JSON text. It has no state, so any two are the same."""

    name = "json"

    def read_head(self, payload: bytes) -> tuple[Head, GVK | None]:
        try:
            envelope = envelope_decoder.decode(payload)
            if not envelope.kind:
                return envelope.metadata, None
            return envelope.metadata, _gvk(envelope.api_version, envelope.kind)
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

    def decode_parts(self, payload: bytes, group: PartGroup) -> Sequence[Any]:
        decoder = model_decoder(group.struct)
        try:
            return msgspec.structs.astuple(decoder.decode(payload))
        except _MALFORMED:
            # A null where a model has none means that there is nothing. Looked for only now:
            # servers hardly ever write one, and finding out costs as much as the decoding.
            pass
        tree = self.decode(payload)
        try:
            tree = without_nulls(tree, group.struct)
            return msgspec.structs.astuple(decoder.decode(_encoder.encode(tree)))
        except msgspec.MsgspecError as error:
            raise DecodeError(misfit(error, tree, decoder)) from error
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
    """The JSON of an object that has more than it says: what nobody knew was left out."""


JSON: Codec = JsonCodec()
PARTIAL_JSON: Codec = PartialJsonCodec()


def _decode_error(complaint: str, payload: bytes, cause: Exception) -> DecodeError:
    """The error for one payload; ``{}`` in the complaint is what the object is called."""
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
        # A namespace alone is no key.
        key=key if _text(metadata.name) else "",
        resource_version=_text(metadata.resource_version),
    )


def _beginning(payload: bytes) -> str:
    """What to call bytes that are no JSON. What looks like an object may be a secret."""
    if payload.lstrip()[:1] in (b"{", b"["):
        return f"JSON of {len(payload)} bytes"
    return f"a body of {len(payload)} bytes that begins {payload[:60]!r}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
