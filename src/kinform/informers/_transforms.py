"""Names of metadata fields in; transforms that cut them out of the bytes of objects out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import msgspec

from kinform._checks import check_plain
from kinform.errors import ConfigError
from kinform.objects import Handle, Record, TreeHandle, TypedObject

T = TypeVar("T", bound=Handle)
H = TypeVar("H", bound=Handle)

_IDENTITY = frozenset({"name", "namespace", "uid", "resourceVersion"})
_IN_HEAD = frozenset({"generation", "deletionTimestamp", "labels", "ownerReferences"})
_STRIPPABLE = _IN_HEAD | {
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "finalizers",
    "generateName",
    "managedFields",
    "selfLink",
}


@runtime_checkable
class RecordTransform(Protocol):
    """A transform that works on the bytes, and is spared the copy, the decoding and the encoding.

    Whoever takes a transform takes one of these: it must be callable on an object as well.
    """

    def transform_record(self, record: Record) -> Record:
        """What is to be kept instead. It is as much the same object as a transform leaves one."""
        ...


class StripMetadata:
    """A transform that takes fields of the metadata away, without decoding the rest.

    Admission gives it bytes. Called on an object, it edits that in place if it is editable, and
    returns another if not.
    """

    def __init__(self, fields: frozenset[str]) -> None:
        self.fields = fields
        self._is_head_changed = not fields.isdisjoint(_IN_HEAD)

    def transform_record(self, record: Record) -> Record:
        """Raises DecodeError if the payload is none."""
        payload = record.codec.drop_metadata(record.payload, self.fields)
        if payload is record.payload:
            return record
        if self._is_head_changed:
            return Record.read(payload, record.codec, default_gvk=record.gvk)
        return Record(payload, record.head, record.gvk, record.codec)

    def __call__(self, obj: H) -> H:
        record = obj.record
        if record is not None:
            return type(obj).over(self.transform_record(record))
        if isinstance(obj, TreeHandle):
            for field in self.fields:
                obj.remove_path(("metadata", field))
        elif isinstance(obj, TypedObject):
            self._clear(getattr(obj, "metadata", None))
        return obj

    def _clear(self, metadata: Any) -> None:
        """A model's fields as if they had never been there."""
        if not isinstance(metadata, msgspec.Struct):
            return
        fresh = type(metadata)()
        for name, attribute in _attributes(type(metadata)).items():
            if name in self.fields:
                setattr(metadata, attribute, getattr(fresh, attribute))

    def __repr__(self) -> str:
        return f"strip_metadata({', '.join(map(repr, sorted(self.fields)))})"


@cache
def _attributes(model: type[msgspec.Struct]) -> dict[str, str]:
    """By their names in JSON."""
    return {field.encode_name: field.name for field in msgspec.structs.fields(model)}


def strip_metadata(*fields: str) -> StripMetadata:
    """A transform that takes these fields of the metadata away; named as in JSON.

    Raises:
        ConfigError: Metadata has no such field, or it says who the object is.
    """
    if not fields:
        raise ConfigError("strip_metadata needs a field, such as 'managedFields'")
    for field in fields:
        if field in _IDENTITY:
            raise ConfigError(f"{field!r} says who an object is, and cannot be stripped")
        if field not in _STRIPPABLE:
            known = ", ".join(sorted(_STRIPPABLE))
            raise ConfigError(f"metadata has no field {field!r} to strip; it has {known}")
    return StripMetadata(frozenset(fields))


strip_managed_fields = strip_metadata("managedFields")
"""Takes away who set which field: often half of an object, and hardly ever read."""


class _Chain(Generic[T]):
    """Several transforms as one."""

    def __init__(self, steps: Sequence[Callable[[T], T | None]]) -> None:
        self.steps = steps

    def __call__(self, obj: T) -> T:
        for step in self.steps:
            result = step(obj)
            obj = obj if result is None else result
        return obj


def chain(*transforms: Callable[[T], T | None]) -> Callable[[T], T | None]:
    """One transform that runs these, in their order.

    Those that work on bytes still do: ``chain(strip_managed_fields, mine)`` copies for ``mine``
    what is left of the object.

    Raises:
        ConfigError: One of them is no function, or has to be awaited.
    """
    for each in transforms:
        check_plain("chain: each transform", each)
    return _Chain([step for each in transforms for step in steps_of(each)])


def steps_of(
    transform: Callable[[T], T | None] | None,
) -> Sequence[Callable[[T], T | None]]:
    """What a transform consists of; nothing, if it is ``None``."""
    if transform is None:
        return ()
    return transform.steps if isinstance(transform, _Chain) else (transform,)
