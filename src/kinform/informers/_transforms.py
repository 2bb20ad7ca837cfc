"""Transforms that remove metadata fields from the encoded bytes of objects."""

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
    """A transform of encoded bytes, which saves copying, decoding and encoding the object.

    It is accepted wherever a transform is, and must also be callable with an object.
    """

    def transform_record(self, record: Record) -> Record:
        """Return the record to store instead. Its identity must be unchanged."""
        ...


class StripMetadata:
    """A transform that removes metadata fields without decoding the rest of the object.

    Informers apply it to bytes. Called with an object, it edits an editable one in place and
    returns a modified copy of any other.
    """

    def __init__(self, fields: frozenset[str]) -> None:
        self.fields = fields
        self._is_head_changed = not fields.isdisjoint(_IN_HEAD)

    def transform_record(self, record: Record) -> Record:
        """Remove the fields. Raises DecodeError for an invalid payload."""
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
        """Reset fields of a model to their defaults."""
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
    """Return the attribute names by JSON name."""
    return {field.encode_name: field.name for field in msgspec.structs.fields(model)}


def strip_metadata(*fields: str) -> StripMetadata:
    """Return a transform that removes metadata fields, given by their JSON names.

    Raises:
        ConfigError: A field does not exist, or is part of the object's identity.
    """
    if not fields:
        raise ConfigError("strip_metadata requires at least one field, such as 'managedFields'")
    for field in fields:
        if field in _IDENTITY:
            raise ConfigError(f"{field!r} identifies the object and cannot be stripped")
        if field not in _STRIPPABLE:
            known = ", ".join(sorted(_STRIPPABLE))
            raise ConfigError(
                f"metadata has no field {field!r} that can be stripped; use one of {known}"
            )
    return StripMetadata(frozenset(fields))


strip_managed_fields = strip_metadata("managedFields")
"""Removes ``managedFields``, which is often half of an object and rarely read."""


class _Chain(Generic[T]):
    """Several transforms in sequence."""

    def __init__(self, steps: Sequence[Callable[[T], T | None]]) -> None:
        self.steps = steps

    def __call__(self, obj: T) -> T:
        for step in self.steps:
            result = step(obj)
            obj = obj if result is None else result
        return obj


def chain(*transforms: Callable[[T], T | None]) -> Callable[[T], T | None]:
    """Combine transforms into one that runs them in order.

    Byte-level transforms stay byte-level: in ``chain(strip_managed_fields, mine)``, only ``mine``
    requires a copy, of the object that is already stripped.

    Raises:
        ConfigError: A transform is not callable, or is async.
    """
    for each in transforms:
        check_plain("chain: each transform", each)
    return _Chain([step for each in transforms for step in steps_of(each)])


class NamespaceTransform(msgspec.Struct, frozen=True):
    """A transform for each namespace. Equal if all of them are, so that informers are shared.

    Attributes:
        by_namespace: The transforms by namespace; ``None`` for no transform.
        other: The transform of all other namespaces.
    """

    by_namespace: tuple[tuple[str, Callable[[Any], Any] | None], ...]
    other: Callable[[Any], Any] | None

    def __call__(self, obj: Any) -> Any:
        transform = dict(self.by_namespace).get(obj.namespace, self.other)
        return obj if transform is None else transform(obj)


def steps_of(
    transform: Callable[[T], T | None] | None,
) -> Sequence[Callable[[T], T | None]]:
    """Return the steps of a transform; empty for ``None``."""
    if transform is None:
        return ()
    return transform.steps if isinstance(transform, _Chain) else (transform,)
