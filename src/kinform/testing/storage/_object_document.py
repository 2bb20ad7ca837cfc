"""Documents: the JSON of an object, decoded section by section on access.

A write that changes the status of a large object never decodes its spec: the bytes of
untouched sections are copied unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kinform.testing.resources import StoredKind

Json = dict[str, Any]

_RAW_SECTIONS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_PLAIN = msgspec.json.Encoder()
_SORTED = msgspec.json.Encoder(order="sorted")
_TYPE_KEYS = ("kind", "apiVersion")

# The order in which the server writes the metadata of built-in kinds.
_METADATA_ORDER = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)


_METADATA_VIEW = msgspec.defstruct(
    "_MetadataView",
    [
        (
            name,
            (msgspec.Raw if name == "managedFields" else Any) | msgspec.UnsetType,
            msgspec.UNSET,
        )
        for name in _METADATA_ORDER
    ],
    gc=False,
)
_METADATA = msgspec.json.Decoder(_METADATA_VIEW)


def decode_metadata(text: bytes | msgspec.Raw) -> Json:
    """Decode stored metadata. ``managedFields`` stay bytes, because they are large and opaque."""
    view = _METADATA.decode(text)
    return {
        name: value
        for name in _METADATA_ORDER
        if (value := getattr(view, name)) is not msgspec.UNSET
    }


class EncodedObject(msgspec.Struct, frozen=True):
    """An object as stored: its JSON, the length of its type and the position of the metadata."""

    body: bytes
    type_end: int
    metadata_start: int
    metadata_end: int


class ObjectDocument:
    """An object being edited: top-level members by name, without ``kind`` and ``apiVersion``.

    Stored bytes are split in two steps: first the metadata, whose position is known, and the
    other sections only when they are accessed.
    """

    __slots__ = ("_raw", "_values", "_whole")

    def __init__(self, values: Mapping[str, Any], raw: Mapping[str, msgspec.Raw]) -> None:
        self._values: Json = dict(values)
        self._raw: dict[str, msgspec.Raw] = dict(raw)
        # The source of the sections that have not been split off yet.
        self._whole: EncodedObject | None = None

    @classmethod
    def from_body(cls, body: bytes) -> ObjectDocument:
        """Create a document from compact JSON, as written by the server."""
        raw = _RAW_SECTIONS.decode(body)
        for key in _TYPE_KEYS:
            raw.pop(key, None)
        return cls({}, raw)

    @classmethod
    def from_encoded(cls, encoded: EncodedObject) -> ObjectDocument:
        """Create a document from a stored object."""
        metadata = encoded.body[encoded.metadata_start : encoded.metadata_end]
        document = cls({}, {"metadata": msgspec.Raw(metadata)})
        document._whole = encoded
        return document

    @classmethod
    def from_object(cls, obj: Mapping[str, Any]) -> ObjectDocument:
        """Create a document from a client's object, which is not modified."""
        return cls({key: value for key, value in obj.items() if key not in _TYPE_KEYS}, {})

    def copy(self) -> ObjectDocument:
        """Return a copy whose sections can be changed without changing this document."""
        copied = ObjectDocument(self._values, self._raw)
        copied._whole = self._whole
        return copied

    def _split(self) -> dict[str, msgspec.Raw]:
        """Return all sections that are still bytes."""
        if self._whole is not None:
            raw = _RAW_SECTIONS.decode(self._whole.body)
            self._whole = None
            for key in ("metadata", *_TYPE_KEYS):
                raw.pop(key, None)
            self._raw |= raw
        return self._raw

    @property
    def sections(self) -> list[str]:
        raw = self._split()
        return [*self._values, *(key for key in raw if key not in self._values)]

    def __contains__(self, section: str) -> bool:
        return section in self._values or section in self._split()

    def read(self, section: str) -> Any:
        """Return the value of a section, which must not be modified; ``None`` if absent."""
        if section in self._values:
            return self._values[section]
        if section == "metadata":
            if section in self._raw:
                self._values[section] = decode_metadata(self._raw[section])
        elif (raw := self._split().get(section)) is not None:
            self._values[section] = msgspec.json.decode(raw)
        return self._values.get(section)

    def edit(self, section: str) -> Json:
        """Return a section to change in place: a copy if it may be shared, empty if absent."""
        value = self.read(section)
        fresh = _copied(value) if isinstance(value, dict) else {}
        self.set(section, fresh)
        return fresh

    def touched(self, section: str) -> bool:
        """Whether the bytes of a section may differ from the original ones."""
        return section in self._values and section not in self._raw

    def set(self, section: str, value: Any) -> None:
        if section != "metadata":
            self._split()
        self._values[section] = value
        self._raw.pop(section, None)

    def remove(self, section: str) -> None:
        self._split().pop(section, None)
        self._values.pop(section, None)

    def take(self, section: str, other: ObjectDocument) -> None:
        """Set a section to that of another document; absent if it is absent there."""
        self.remove(section)
        if section in (raw := other._split()):
            self._raw[section] = raw[section]
        elif section in other._values:
            self._values[section] = other._values[section]

    @property
    def metadata(self) -> Json:
        """The metadata, to change in place. The first access decodes or creates it."""
        if "metadata" in self._raw or not isinstance(self._values.get("metadata"), dict):
            return self.own_metadata()
        found: Json = self._values["metadata"]
        return found

    def own_metadata(self) -> Json:
        """Like ``metadata``, for a document whose metadata may be shared with another.

        The values of its members stay shared; replace them instead of modifying them.
        """
        value = self.read("metadata")
        own = dict(value) if isinstance(value, dict) else {}
        self.set("metadata", own)
        return own

    def differs_in_metadata_alone(self, other: ObjectDocument) -> bool:
        """Whether the other sections are the same, as far as known without decoding them."""
        return self._whole is not None and self._whole is other._whole

    def shares(self, other: ObjectDocument, section: str) -> bool:
        """Whether a section has the same bytes as in the document this one was copied from."""
        if self.differs_in_metadata_alone(other):
            return True
        return self._split().get(section) is other._split().get(section) and not (
            self.touched(section) or other.touched(section)
        )

    def same(self, other: ObjectDocument, sections: Iterable[str]) -> bool:
        """Whether these sections are equal in both documents, in any order of keys."""
        return all(self._same_section(other, section) for section in sections)

    def _same_section(self, other: ObjectDocument, section: str) -> bool:
        mine, theirs = self._split().get(section), other._split().get(section)
        if mine is not None and theirs is not None and (mine is theirs or mine == theirs):
            return True
        return bool(self.read(section) == other.read(section))

    def to_object(self, kind: StoredKind) -> Json:
        """Return the whole object, decoded."""
        body: Json = {"kind": kind.gvk.kind, "apiVersion": kind.gvk.api_version}
        for section in ["metadata", *self.sections]:
            body[section] = self.read(section)
        metadata = dict(body["metadata"])
        if "managedFields" in metadata:
            metadata["managedFields"] = msgspec.json.decode(
                msgspec.json.encode(metadata["managedFields"])
            )
        return {**body, "metadata": metadata}

    def encode(self, kind: StoredKind) -> EncodedObject:
        """Encode the object as the server stores and sends it, in its storage version.

        An object stored in another version keeps that version if only its metadata changes.
        """
        encoder = _SORTED if kind.custom else _PLAIN
        metadata = self.metadata if kind.custom else _ordered(self.metadata)
        if (whole := self._whole) is not None:
            start, text = whole.metadata_start, encoder.encode(metadata)
            body = b"%b%b%b" % (whole.body[:start], text, whole.body[whole.metadata_end :])
            return EncodedObject(body, whole.type_end, start, start + len(text))
        names = self.sections
        if kind.custom:
            names = sorted(names)
        else:
            names.remove("metadata")
            names.insert(0, "metadata")
        parts = [type_prefix(kind.gvk.kind, kind.gvk.api_version, custom=kind.custom)]
        size = len(parts[0])
        span = (0, 0)
        for name in names:
            label = b"," + _PLAIN.encode(name) + b":"
            if name == "metadata":
                text = encoder.encode(metadata)
                span = (size + len(label), size + len(label) + len(text))
            elif name in self._raw:
                text = bytes(self._raw[name])
            else:
                text = encoder.encode(self._values[name])
            parts += (label, text)
            size += len(label) + len(text)
        parts.append(b"}")
        return EncodedObject(b"".join(parts), len(parts[0]), *span)


def type_prefix(kind: str, api_version: str, *, custom: bool) -> bytes:
    """Return the first bytes of the JSON of all objects of a kind."""
    named, versioned = _PLAIN.encode(kind), _PLAIN.encode(api_version)
    if custom:
        return b'{"apiVersion":%b,"kind":%b' % (versioned, named)
    return b'{"kind":%b,"apiVersion":%b' % (named, versioned)


def drop_nulls(value: Any) -> Any:
    """Return a copy without null members, which built-in kinds treat as absent."""
    if isinstance(value, dict):
        return {key: drop_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [drop_nulls(item) for item in value]
    return value


def _ordered(metadata: Json) -> Json:
    ordered = {key: metadata[key] for key in _METADATA_ORDER if key in metadata}
    if len(ordered) != len(metadata):
        ordered.update(metadata)
    return ordered


def _copied(value: Any) -> Any:
    """Return a deep copy of a JSON value."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value
