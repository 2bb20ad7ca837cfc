"""Translates objects between stored JSON and protobuf.

Imported with the first protobuf request, because most tests never send one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import msgspec

from kinform.api import GVK
from kinform.errors import DecodeError, EncodeError, InvalidNameError
from kinform.objects import METADATA
from kinform.protobuf import (
    ProtobufCodec,
    UnwrappedBody,
    codec_for,
    join_list,
    unwrap,
    wrap,
    write_event,
)
from kinform.testing import api_errors
from kinform.testing.formats._content_negotiation import PROTOBUF
from kinform.testing.interception import ListResponse
from kinform.testing.storage import drop_nulls

Json = dict[str, Any]

_STATUS = GVK("", "v1", "Status")
_DELETE_OPTIONS = GVK("", "v1", "DeleteOptions")
# Size of the cache: an object sent to one watch is usually sent to all others.
_CACHE_BYTES = 64 * 1024 * 1024
# Announces metadata with a length, but ends before it.
_BROKEN = b"\x0a\x7f\x0a\x06broken"


class MessageCache:
    """Translates JSON to messages, and caches them for repeated requests. One per server."""

    def __init__(self, limit: int = _CACHE_BYTES) -> None:
        self._messages: OrderedDict[tuple[bytes, GVK], bytes] = OrderedDict()
        self._free_bytes = limit

    def message(self, json: bytes, gvk: GVK) -> bytes:
        """Return the message for an object of this kind. Invalid JSON gives an invalid message.

        Raises:
            ServerError: A value has the wrong type for its field.
        """
        key = (json, gvk)
        message = self._messages.get(key)
        if message is not None:
            self._messages.move_to_end(key)
            return message
        message = _encode(json, gvk)
        self._messages[key] = message
        self._free_bytes -= len(json) + len(message)
        while self._free_bytes < 0:
            (old, _), dropped = self._messages.popitem(last=False)
            self._free_bytes += len(old) + len(dropped)
        return message

    def wrapped(self, json: bytes, default: tuple[str, str]) -> bytes:
        """Return an object in its envelope; ``default`` is the kind if the object has none.

        Raises:
            ServerError: A value has the wrong type for its field.
        """
        found = _read_kind(json)
        api_version, kind = found if found is not None else default
        gvk = _STATUS if not kind else GVK.of(api_version, kind)
        return wrap(api_version, kind, self.message(json, gvk))


class ProtobufEncoding:
    """Protobuf in the Kubernetes envelope. Objects without a kind have the given one."""

    content_type = PROTOBUF
    watch_type = f"{PROTOBUF};stream=watch"

    def __init__(self, translations: MessageCache, api_version: str, kind: str) -> None:
        self._cache = translations
        self._type = (api_version, kind)

    def body(self, json: bytes) -> bytes:
        return self._cache.wrapped(json, self._type)

    def event(self, type: bytes, json: bytes) -> bytes:
        return write_event(type.decode(), self.body(json))

    def frame(self, content: bytes) -> bytes:
        return len(content).to_bytes(4, "big") + content

    def list(self, response: ListResponse) -> Iterator[bytes]:
        gvk = GVK.of(response.api_version, response.kind.removesuffix("List"))
        items = [self._cache.message(item, gvk) for item in response.items]
        metadata = response.metadata
        # Encoded as a whole, because its length comes first.
        raw = join_list(
            metadata.get("resourceVersion", ""),
            metadata.get("continue", ""),
            metadata.get("remainingItemCount"),
            items,
        )
        yield wrap(response.api_version, response.kind, raw)


class _Type(msgspec.Struct):
    kind: str = ""
    apiVersion: str = ""  # noqa: N815 - the name on the wire


_TYPE = msgspec.json.Decoder(_Type)


def _read_kind(json: bytes) -> tuple[str, str] | None:
    try:
        found = _TYPE.decode(json)
    except msgspec.DecodeError:
        return None
    return found.apiVersion, found.kind


def _encode(json: bytes, gvk: GVK) -> bytes:
    try:
        tree = msgspec.json.decode(json)
    except msgspec.DecodeError:
        return _BROKEN
    codec = _codec_of(gvk)
    if codec is None:
        raise api_errors.internal(f"{gvk} has no protobuf format", reason="InternalError")
    try:
        return codec.encode(tree)
    except EncodeError as error:
        name = (tree.get("metadata") or {}).get("name", "")
        raise api_errors.internal(
            f"{gvk.kind} {name!r} cannot be sent as protobuf: {error}. A real server would have "
            "rejected it: store a valid object, or request JSON",
            reason="InternalError",
        ) from error


def _codec_of(gvk: GVK) -> ProtobufCodec | None:
    # Some clients still request v1beta1 of it, which is the same message.
    return codec_for(METADATA if gvk.kind == METADATA.kind else gvk)


def json_of(body: bytes) -> bytes:
    """Return a body in its envelope as JSON, with its kind.

    Raises:
        DecodeError: The body is invalid, or its kind is unknown.
    """
    found = unwrap(body)
    return msgspec.json.encode(decode_body(found, _gvk_of(found, _STATUS)))


def protobuf_of(json: bytes) -> bytes:
    """Return the protobuf of a JSON body; the inverse of ``json_of``."""
    return MessageCache(limit=0).wrapped(json, ("", ""))


def read_object(body: bytes, expected: GVK) -> Json:
    """Decode a client's object; it has the expected kind if it does not name its own.

    Raises:
        BadRequestError: The body does not decode, or its kind is unknown.
    """
    try:
        found = unwrap(body) if body else None
    except DecodeError as error:
        raise _unrecognized(expected.kind, str(error), body) from error
    if found is None:
        raise _unrecognized(expected.kind, "empty data", body)
    if found == ("", "", b""):
        raise _unrecognized(expected.kind, "empty body", body)
    version = found.api_version.rpartition("/")[2] or expected.version
    refused = f'{found.kind or expected.kind} in version "{version}" cannot be handled as a '
    try:
        return decode_body(found, _gvk_of(found, expected))
    except DecodeError as error:
        raise api_errors.bad_request(f"{refused}{expected.kind}: {error}") from error


def read_delete_options(body: bytes) -> Json:
    """Decode delete options, with the kind they name, which may be a wrong one.

    Raises:
        BadRequestError: The body does not decode.
    """
    try:
        found = unwrap(body)
        # Clients send them with any group; they are the same in all.
        if found.kind in ("", _DELETE_OPTIONS.kind):
            return decode_body(found, _DELETE_OPTIONS)
    except DecodeError as error:
        raise api_errors.bad_request(str(error)) from error
    return {"kind": found.kind, "apiVersion": found.api_version}


def decode_body(found: UnwrappedBody, gvk: GVK) -> Json:
    """Decode a body, with its kind, and without the members that are null in Go's JSON.

    Raises:
        DecodeError: The body does not decode, or its kind is unknown.
    """
    codec = _codec_of(gvk)
    if codec is None:
        raise DecodeError(
            f'no kind "{gvk.kind}" is registered for version "{gvk.api_version}" '
            'in scheme "pkg/runtime/scheme.go:111"'
        )
    tree: Json = drop_nulls(codec.decode(found.raw))
    return {"kind": gvk.kind, "apiVersion": gvk.api_version, **tree}


def _gvk_of(found: UnwrappedBody, default: GVK) -> GVK:
    try:
        return GVK.of(found.api_version or default.api_version, found.kind or default.kind)
    except InvalidNameError as error:
        raise DecodeError(f"its envelope does not name its kind: {error}") from error


def _unrecognized(expected: str, reason: str, body: bytes) -> Exception:
    return api_errors.bad_request(
        f"the object provided is unrecognized (must be of type {expected}): {reason} "
        f"({_text_of(body)})"
    )


def _text_of(body: bytes, limit: int = 30) -> str:
    if not body:
        return "<empty>"
    return body[:limit].hex() + (" ..." if len(body) > limit else "")
