"""An object's JSON in; its sections, decoded one by one as they are touched, and JSON again out.

A write that changes the status of a large object never decodes its spec: the bytes of a
section nobody touched are carried over as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from kinform.testing._resources import StoredKind

Json = dict[str, Any]

_RAW_SECTIONS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_PLAIN = msgspec.json.Encoder()
_SORTED = msgspec.json.Encoder(order="sorted")
_TYPE_KEYS = ("kind", "apiVersion")

# The order in which the server writes metadata of built-in kinds.
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
    """Metadata that the server wrote. ``managedFields`` stay bytes: they are large, and opaque."""
    view = _METADATA.decode(text)
    return {
        name: value
        for name in _METADATA_ORDER
        if (value := getattr(view, name)) is not msgspec.UNSET
    }


@dataclass(frozen=True, slots=True)
class Encoded:
    """An object as it is kept: its JSON, how long its type is, and where the metadata is."""

    body: bytes
    type_end: int
    metadata_start: int
    metadata_end: int


class Document:
    """One object under the pen: top-level members by name, without ``kind`` and ``apiVersion``.

    What was made from stored bytes is taken apart in two steps: first the metadata, whose
    place is known, and the rest only when somebody asks for it.
    """

    __slots__ = ("_raw", "_values", "_whole")

    def __init__(self, values: Mapping[str, Any], raw: Mapping[str, msgspec.Raw]) -> None:
        self._values: Json = dict(values)
        self._raw: dict[str, msgspec.Raw] = dict(raw)
        # What the sections besides metadata are still in.
        self._whole: Encoded | None = None

    @classmethod
    def from_body(cls, body: bytes) -> Document:
        """From compact JSON, such as the server writes itself."""
        raw = _RAW_SECTIONS.decode(body)
        for key in _TYPE_KEYS:
            raw.pop(key, None)
        return cls({}, raw)

    @classmethod
    def from_encoded(cls, encoded: Encoded) -> Document:
        """From what the server wrote itself."""
        metadata = encoded.body[encoded.metadata_start : encoded.metadata_end]
        document = cls({}, {"metadata": msgspec.Raw(metadata)})
        document._whole = encoded
        return document

    @classmethod
    def from_object(cls, obj: Mapping[str, Any]) -> Document:
        """From what somebody sent; it is not changed."""
        return cls({key: value for key, value in obj.items() if key not in _TYPE_KEYS}, {})

    def copy(self) -> Document:
        """A document that can be changed section by section without changing this one."""
        copied = Document(self._values, self._raw)
        copied._whole = self._whole
        return copied

    def _split(self) -> dict[str, msgspec.Raw]:
        """All sections that are still bytes."""
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
        """A section's value, which must not be changed; ``None`` if it is not there."""
        if section in self._values:
            return self._values[section]
        if section == "metadata":
            if section in self._raw:
                self._values[section] = decode_metadata(self._raw[section])
        elif (raw := self._split().get(section)) is not None:
            self._values[section] = msgspec.json.decode(raw)
        return self._values.get(section)

    def edit(self, section: str) -> Json:
        """A section to change in place: a copy, if it can be shared. An empty one if absent."""
        value = self.read(section)
        fresh = _copied(value) if isinstance(value, dict) else {}
        self.set(section, fresh)
        return fresh

    def touched(self, section: str) -> bool:
        """Whether a section is other bytes than those it came with."""
        return section in self._values and section not in self._raw

    def set(self, section: str, value: Any) -> None:
        if section != "metadata":
            self._split()
        self._values[section] = value
        self._raw.pop(section, None)

    def remove(self, section: str) -> None:
        self._split().pop(section, None)
        self._values.pop(section, None)

    def take(self, section: str, other: Document) -> None:
        """Make a section what it is in another document, absent if it is absent there."""
        self.remove(section)
        if section in (raw := other._split()):
            self._raw[section] = raw[section]
        elif section in other._values:
            self._values[section] = other._values[section]

    @property
    def metadata(self) -> Json:
        """The metadata to change in place. The first touch makes it this document's own."""
        if "metadata" in self._raw or not isinstance(self._values.get("metadata"), dict):
            return self.own_metadata()
        found: Json = self._values["metadata"]
        return found

    def own_metadata(self) -> Json:
        """As ``metadata``, for a document whose metadata may be somebody else's.

        What is below its members stays shared, and is to be replaced, not changed.
        """
        value = self.read("metadata")
        own = dict(value) if isinstance(value, dict) else {}
        self.set("metadata", own)
        return own

    def differs_in_metadata_alone(self, other: Document) -> bool:
        """Whether the rest is the same, as can be told without looking at it."""
        return self._whole is not None and self._whole is other._whole

    def shares(self, other: Document, section: str) -> bool:
        """Whether a section is, to the byte, what it is in the document this one was made from."""
        if self.differs_in_metadata_alone(other):
            return True
        return self._split().get(section) is other._split().get(section) and not (
            self.touched(section) or other.touched(section)
        )

    def same(self, other: Document, sections: Iterable[str]) -> bool:
        """Whether these sections say the same in both, whatever the order of their keys."""
        return all(self._same_section(other, section) for section in sections)

    def _same_section(self, other: Document, section: str) -> bool:
        mine, theirs = self._split().get(section), other._split().get(section)
        if mine is not None and theirs is not None and (mine is theirs or mine == theirs):
            return True
        return bool(self.read(section) == other.read(section))

    def to_object(self, kind: StoredKind) -> Json:
        """Everything, decoded."""
        body: Json = {"kind": kind.gvk.kind, "apiVersion": kind.gvk.api_version}
        for section in ["metadata", *self.sections]:
            body[section] = self.read(section)
        metadata = dict(body["metadata"])
        if "managedFields" in metadata:
            metadata["managedFields"] = msgspec.json.decode(
                msgspec.json.encode(metadata["managedFields"])
            )
        return {**body, "metadata": metadata}

    def encode(self, kind: StoredKind) -> Encoded:
        """As the server keeps it and sends it, in the version it is stored in.

        What is stored in another version, and only changes its metadata, stays in it.
        """
        encoder = _SORTED if kind.custom else _PLAIN
        metadata = self.metadata if kind.custom else _ordered(self.metadata)
        if (whole := self._whole) is not None:
            start, text = whole.metadata_start, encoder.encode(metadata)
            body = b"%b%b%b" % (whole.body[:start], text, whole.body[whole.metadata_end :])
            return Encoded(body, whole.type_end, start, start + len(text))
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
        return Encoded(b"".join(parts), len(parts[0]), *span)


def type_prefix(kind: str, api_version: str, *, custom: bool) -> bytes:
    """How the JSON of every object of a kind begins."""
    named, versioned = _PLAIN.encode(kind), _PLAIN.encode(api_version)
    if custom:
        return b'{"apiVersion":%b,"kind":%b' % (versioned, named)
    return b'{"kind":%b,"apiVersion":%b' % (named, versioned)


def without_nulls(value: Any) -> Any:
    """A copy without the members that are null: to a built-in kind they are not there."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def _ordered(metadata: Json) -> Json:
    ordered = {key: metadata[key] for key in _METADATA_ORDER if key in metadata}
    if len(ordered) != len(metadata):
        ordered.update(metadata)
    return ordered


def _copied(value: Any) -> Any:
    """A deep copy of JSON."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value
