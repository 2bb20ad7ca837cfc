"""Objects as the JSON that the server keeps in; the same as protobuf out, and the other way round.

Loaded with the first request that speaks protobuf: most tests never send one.
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
    Body,
    ProtobufCodec,
    codec_for,
    join_list,
    unwrap,
    wrap,
    write_event,
)
from kinform.testing import _status
from kinform.testing._documents import without_nulls
from kinform.testing._interception import ListAnswer
from kinform.testing._negotiation import PROTOBUF

Json = dict[str, Any]

_STATUS = GVK("", "v1", "Status")
_DELETE_OPTIONS = GVK("", "v1", "DeleteOptions")
# How much of what was translated is kept: what one watch is sent, all others are sent, too.
_KEPT = 64 * 1024 * 1024
# Says that metadata follow, and how many bytes of them, and then ends.
_BROKEN = b"\x0a\x7f\x0a\x06broken"


class Translations:
    """Turns JSON into messages, each only once while many ask for it. One per server."""

    def __init__(self, limit: int = _KEPT) -> None:
        self._kept: OrderedDict[tuple[bytes, GVK], bytes] = OrderedDict()
        self._room = limit

    def message(self, json: bytes, gvk: GVK) -> bytes:
        """The message for an object of this kind. What is no JSON becomes what is no message.

        Raises:
            ServerError: A value is of another type than this kind has there.
        """
        key = (json, gvk)
        made = self._kept.get(key)
        if made is not None:
            self._kept.move_to_end(key)
            return made
        made = _encode(json, gvk)
        self._kept[key] = made
        self._room -= len(json) + len(made)
        while self._room < 0:
            (old, _), forgotten = self._kept.popitem(last=False)
            self._room += len(old) + len(forgotten)
        return made

    def wrapped(self, json: bytes, otherwise: tuple[str, str]) -> bytes:
        """An object that says its kind, in its envelope; ``otherwise`` is its kind if it does not.

        Raises:
            ServerError: A value is of another type than this kind has there.
        """
        said = _type_of(json)
        api_version, kind = said if said is not None else otherwise
        gvk = _STATUS if not kind else GVK.of(api_version, kind)
        return wrap(api_version, kind, self.message(json, gvk))


class ProtobufEncoding:
    """Protobuf, as Kubernetes wraps it. Objects that do not say their kind are of the given one."""

    content_type = PROTOBUF
    watch_type = f"{PROTOBUF};stream=watch"

    def __init__(self, translations: Translations, api_version: str, kind: str) -> None:
        self._translations = translations
        self._type = (api_version, kind)

    def body(self, json: bytes) -> bytes:
        return self._translations.wrapped(json, self._type)

    def event(self, type: bytes, json: bytes) -> bytes:
        return write_event(type.decode(), self.body(json))

    def frame(self, content: bytes) -> bytes:
        return len(content).to_bytes(4, "big") + content

    def list(self, answer: ListAnswer) -> Iterator[bytes]:
        gvk = GVK.of(answer.api_version, answer.kind.removesuffix("List"))
        items = [self._translations.message(item, gvk) for item in answer.items]
        metadata = answer.metadata
        # Its length comes first, so it is made as a whole.
        raw = join_list(
            metadata.get("resourceVersion", ""),
            metadata.get("continue", ""),
            metadata.get("remainingItemCount"),
            items,
        )
        yield wrap(answer.api_version, answer.kind, raw)


class _Type(msgspec.Struct):
    kind: str = ""
    apiVersion: str = ""  # noqa: N815 - the name on the wire


_TYPE = msgspec.json.Decoder(_Type)


def _type_of(json: bytes) -> tuple[str, str] | None:
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
        raise _status.internal(f"there is no protobuf of {gvk}", reason="InternalError")
    try:
        return codec.encode(tree)
    except EncodeError as error:
        name = (tree.get("metadata") or {}).get("name", "")
        raise _status.internal(
            f"{gvk.kind} {name!r} cannot be sent as protobuf: {error}. A real server would not "
            "have stored it: store what it would take, or ask for JSON",
            reason="InternalError",
        ) from error


def _codec_of(gvk: GVK) -> ProtobufCodec | None:
    # v1beta1 of it, which some still ask for, is the same message.
    return codec_for(METADATA if gvk.kind == METADATA.kind else gvk)


def json_of(body: bytes) -> bytes:
    """A body in its envelope as JSON, with its kind.

    Raises:
        DecodeError: It is none, or of a kind that nobody knows.
    """
    found = unwrap(body)
    return msgspec.json.encode(tree_of(found, _gvk_of(found, _STATUS)))


def protobuf_of(json: bytes) -> bytes:
    """The inverse of ``json_of``."""
    return Translations(limit=0).wrapped(json, ("", ""))


def read_object(body: bytes, expected: GVK) -> Json:
    """An object that was sent; it is of the kind it says, or else of the expected one.

    Raises:
        BadRequestError: It does not decode, or nobody knows its kind.
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
        return tree_of(found, _gvk_of(found, expected))
    except DecodeError as error:
        raise _status.bad_request(f"{refused}{expected.kind}: {error}") from error


def read_delete_options(body: bytes) -> Json:
    """How to delete, with the kind that it says it is, which may be another one.

    Raises:
        BadRequestError: It does not decode.
    """
    try:
        found = unwrap(body)
        # They are said to be of any group, and are the same in all.
        if found.kind in ("", _DELETE_OPTIONS.kind):
            return tree_of(found, _DELETE_OPTIONS)
    except DecodeError as error:
        raise _status.bad_request(str(error)) from error
    return {"kind": found.kind, "apiVersion": found.api_version}


def tree_of(found: Body, gvk: GVK) -> Json:
    """What is in a body, with its kind, and without what Go's JSON has as null.

    Raises:
        DecodeError: It does not decode, or nobody knows its kind.
    """
    codec = _codec_of(gvk)
    if codec is None:
        raise DecodeError(
            f'no kind "{gvk.kind}" is registered for version "{gvk.api_version}" '
            'in scheme "pkg/runtime/scheme.go:111"'
        )
    tree: Json = without_nulls(codec.decode(found.raw))
    return {"kind": gvk.kind, "apiVersion": gvk.api_version, **tree}


def _gvk_of(found: Body, otherwise: GVK) -> GVK:
    try:
        return GVK.of(found.api_version or otherwise.api_version, found.kind or otherwise.kind)
    except InvalidNameError as error:
        raise DecodeError(f"its envelope does not say its kind: {error}") from error


def _unrecognized(expected: str, reason: str, body: bytes) -> Exception:
    return _status.bad_request(
        f"the object provided is unrecognized (must be of type {expected}): {reason} "
        f"({_shown(body)})"
    )


def _shown(body: bytes, limit: int = 30) -> str:
    if not body:
        return "<empty>"
    return body[:limit].hex() + (" ..." if len(body) > limit else "")
