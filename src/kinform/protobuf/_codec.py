"""The protobuf codec, one for each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from kinform.api import GVK
from kinform.errors import DecodeError
from kinform.objects import (
    JSON,
    METADATA,
    PARTIAL_JSON,
    Codec,
    Head,
    PartGroup,
    Path,
    split_path,
    step_into,
)
from kinform.protobuf._head_reader import head_of
from kinform.protobuf._messages import class_of, fields_of, has_message
from kinform.protobuf._partial_message import PartialMessage
from kinform.protobuf._parts import part_reader, parts_reader
from kinform.protobuf._paths import read_path
from kinform.protobuf._salvage import salvaged_name
from kinform.protobuf._strip_metadata import metadata_stripper
from kinform.protobuf._table import MESSAGE_PACKAGES
from kinform.protobuf._trees import part_of, tree_of
from kinform.protobuf._values import MALFORMED
from kinform.protobuf._writing import message_bytes

_ONLY_METADATA = PartialMessage("OnlyMetadata", "metadata 1 []bytes -")


@cache
def codec_for(gvk: GVK) -> ProtobufCodec | None:
    """Return the codec for a kind; ``None`` if its messages are unknown."""
    packages = [MESSAGE_PACKAGES.get((gvk.group, gvk.version))]
    if gvk.api_version == "v1":
        # Status and similar kinds are sent as "v1" for all groups.
        packages.append("meta/v1")
    for package in packages:
        message = f"{package}.{gvk.kind}"
        if package is not None and has_message(message):
            return (ProtobufCodec if _is_object(message) else _BodyCodec)(gvk, message)
    return None


def _is_object(message: str) -> bool:
    return any(
        field.json == "metadata" and field.element == "meta/v1.ObjectMeta"
        for field in fields_of(message)
    )


class ProtobufCodec:
    """Objects of one kind as protobuf messages, without an envelope.

    Attributes:
        has_objects: Whether the messages have the metadata of objects, and therefore heads.
    """

    name = "protobuf"
    has_objects = True

    def __init__(self, gvk: GVK, message: str) -> None:
        self._gvk = gvk
        self._message = message
        self._parts: dict[str, Callable[[Any], dict[str, Any]] | None] = {}
        self._last: tuple[bytes | None, Any] = None, None

    def read_head(self, payload: bytes) -> tuple[Head, GVK | None]:
        return self.head(payload), self._gvk

    def head(self, payload: bytes) -> Head:
        """Decode the head, for callers that know the kind. Raises DecodeError."""
        try:
            return head_of(payload)
        except MALFORMED as error:
            raise self._no_object(payload, error) from error

    def decode(self, payload: bytes) -> dict[str, Any]:
        tree: dict[str, Any] = self._read(payload, tree_of(self._message))
        return tree

    def decode_part(self, payload: bytes, part: str) -> Any:
        try:
            read = self._parts[part]
        except KeyError:
            read = self._parts[part] = part_of(self._message, part)
        if read is None:
            raise KeyError(part)
        return self._read(payload, read)[part]

    def decode_path(self, payload: bytes, path: Path) -> Any:
        steps = split_path(path)
        message = self._parsed(payload)
        try:
            tree, rest = read_path(self._message, message, steps)
        except MALFORMED as error:
            raise self._no_object(payload, error) from error
        return tree if not rest else step_into(tree, rest)

    def decode_parts(
        self, payload: bytes, group: PartGroup, *, read_only: bool = True
    ) -> Sequence[Any]:
        found = parts_reader(self._message, group).parts(payload)
        if found is not None:
            return found
        try:
            return [
                part_reader(self._message, part.name, part.type)(payload) for part in group.parts
            ]
        except MALFORMED as error:
            raise self._no_object(payload, error) from error

    def _parsed(self, payload: bytes) -> Any:
        """Parse a message, which must not be modified. Cached: often several paths are read."""
        known, message = self._last
        if known is not payload:
            message = self._read(payload, lambda message: message)
            # A single assignment, so that all threads see a consistent pair.
            self._last = payload, message
        return message

    def encode(self, tree: Any) -> bytes:
        return message_bytes(self._message, tree)

    def keep_metadata(self, payload: bytes) -> tuple[Codec, bytes]:
        codec = codec_for(METADATA)
        assert codec is not None  # the tables contain it
        try:
            metadata = _ONLY_METADATA.read(payload)
        except MALFORMED as error:
            raise self._no_object(payload, error) from error
        return codec, _ONLY_METADATA.write(*metadata)

    def drop_metadata(self, payload: bytes, fields: frozenset[str]) -> bytes:
        try:
            return metadata_stripper(self._message, fields)(payload)
        except MALFORMED as error:
            raise self._no_object(payload, error) from error

    def editable(self, payload: bytes) -> tuple[Codec, bytes]:
        tree = JSON.encode(self.decode(payload))
        return (PARTIAL_JSON if self._read(payload, _has_unknown_fields) else JSON), tree

    def _read(self, payload: bytes, read: Callable[[Any], Any]) -> Any:
        try:
            return read(class_of(self._message).FromString(payload))
        except MALFORMED as error:
            raise self._no_object(payload, error) from error

    def _no_object(self, payload: bytes, cause: Exception) -> DecodeError:
        key, version = salvaged_name(payload)
        called = f"{self._gvk.kind} {key!r}" if key else f"{self._gvk.kind} of {len(payload)} bytes"
        return DecodeError(
            f"{called} in protobuf does not decode: {cause}", key=key, resource_version=version
        )

    def __repr__(self) -> str:
        return f"<ProtobufCodec of {self._gvk}>"


def _has_unknown_fields(message: Any) -> bool:
    """Report whether a message, at any depth, has fields of a newer server."""
    size = message.ByteSize()
    message.DiscardUnknownFields()
    return bool(message.ByteSize() != size)


class _BodyCodec(ProtobufCodec):
    """Bodies such as Status, which do not have the metadata of an object."""

    has_objects = False

    def head(self, payload: bytes) -> Head:
        metadata = self.decode(payload).get("metadata")
        if metadata is None:
            raise DecodeError(f"{self._gvk} has no metadata, and is not an object")
        return Head(resource_version=metadata.get("resourceVersion", ""))

    def _no_object(self, payload: bytes, cause: Exception) -> DecodeError:
        return DecodeError(f"{self._gvk} in protobuf does not decode: {cause}")
