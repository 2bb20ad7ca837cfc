"""Access to objects of any form: models, ``Unstructured`` objects and plain dicts."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import msgspec

from kinform.api import GVK, namespace_key
from kinform.errors import ConfigError, ReadOnlyError
from kinform.objects import Handle, TreeHandle, TypedObject

AnyObject = Handle | Mapping[str, Any]
"""An object to read: a model, an ``Unstructured`` or a dict with apiVersion and kind."""

EditableObject = Handle | MutableMapping[str, Any]
"""An object to edit: one of your own, a ``copy()``, or a dict."""

_ATTRIBUTES = {"ownerReferences": "owner_references", "finalizers": "finalizers"}


class Identity(msgspec.Struct, frozen=True):
    """The kind and the name of an object."""

    gvk: GVK
    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        return namespace_key(self)

    def __str__(self) -> str:
        return f"{self.gvk.kind} {self.key or 'without a name'}"


def identity_of(obj: AnyObject, *, receiver: str) -> Identity:
    """Return the kind and the name of an object.

    Raises:
        ConfigError: It is not an object.
        InvalidNameError: It has no valid apiVersion and kind.
    """
    if isinstance(obj, Handle):
        return Identity(obj.gvk, obj.namespace, obj.name, obj.uid)
    _check_mapping(obj, receiver)
    metadata = obj.get("metadata") or {}
    return Identity(
        GVK.of(str(obj.get("apiVersion") or ""), str(obj.get("kind") or "")),
        str(metadata.get("namespace") or ""),
        str(metadata.get("name") or ""),
        str(metadata.get("uid") or ""),
    )


def require_editable(obj: EditableObject, *, receiver: str) -> None:
    """Check that an object can be edited.

    Raises:
        ReadOnlyError: It is a read-only object, as returned by caches and clients.
        ConfigError: It is not an object.
    """
    if isinstance(obj, Handle):
        if obj.record is not None:
            raise ReadOnlyError(f"{obj!r} is read-only; call copy() and edit the copy")
        return
    _check_mapping(obj, receiver)
    if not isinstance(obj, MutableMapping):
        raise ReadOnlyError(f"a {type(obj).__name__} is read-only; pass a dict")


def read_metadata_list(obj: AnyObject, name: str, *, receiver: str) -> Sequence[Any]:
    """Return ``ownerReferences`` or ``finalizers``, to read."""
    if isinstance(obj, TypedObject):
        found: Sequence[Any] = getattr(_typed_metadata(obj), _ATTRIBUTES[name])
        return found
    if isinstance(obj, TreeHandle):
        members: Sequence[Any] = getattr(obj, _ATTRIBUTES[name])
        return members
    assert not isinstance(obj, Handle)  # all other handles are trees
    _check_mapping(obj, receiver)
    return (obj.get("metadata") or {}).get(name) or ()


def edit_metadata_list(obj: EditableObject, name: str, *, receiver: str) -> list[Any]:
    """Return ``ownerReferences`` or ``finalizers``, to edit in place.

    Raises:
        ReadOnlyError: The object is read-only.
    """
    require_editable(obj, receiver=receiver)
    if isinstance(obj, Handle):
        found: Any = read_metadata_list(obj, name, receiver=receiver)
    else:
        metadata = obj.setdefault("metadata", {})
        if metadata.get(name) is None:
            metadata[name] = []
        found = metadata[name]
    if not isinstance(found, list):
        raise ConfigError(f"metadata.{name} is a {type(found).__name__}, not a list")
    return found


def _typed_metadata(obj: TypedObject) -> Any:
    metadata = getattr(obj, "metadata", None)
    if not hasattr(metadata, "owner_references"):
        raise ConfigError(f"a {type(obj).__name__} has no metadata of an object")
    return metadata


def _check_mapping(obj: object, receiver: str) -> None:
    if not isinstance(obj, Mapping):
        raise ConfigError(
            f"{receiver} takes an object, not a {type(obj).__name__}; pass a model, an "
            "Unstructured or a dict with apiVersion, kind and metadata"
        )
