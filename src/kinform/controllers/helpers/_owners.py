"""Owner references: which object owns another one, and which controller manages it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinform._checks import expect
from kinform.api import GVK
from kinform.controllers.helpers._objects import (
    AnyObject,
    EditableObject,
    Identity,
    edit_metadata_list,
    identity_of,
    read_metadata_list,
    require_editable,
)
from kinform.errors import AlreadyOwnedError, ConfigError, InvalidNameError
from kinform.models.meta.v1 import OwnerReference
from kinform.objects import TypedObject

_NAME = "ownerReferences"
_JSON_NAMES = {
    "api_version": "apiVersion",
    "kind": "kind",
    "name": "name",
    "uid": "uid",
    "controller": "controller",
    "block_owner_deletion": "blockOwnerDeletion",
}


def set_controller_reference(
    owner: AnyObject, obj: EditableObject, *, block_owner_deletion: bool = True
) -> bool:
    """Make ``owner`` the controller of an object, which is deleted together with it.

    Args:
        owner: The owner, as read from the server: its uid is needed.
        obj: The object to edit.
        block_owner_deletion: Whether a foreground deletion of the owner waits for the object.

    Returns:
        Whether the object was changed.

    Raises:
        AlreadyOwnedError: The object has another controller.
        ConfigError: The owner has no uid, or is in another namespace.
        ReadOnlyError: The object is read-only; edit a ``copy()``.
    """
    receiver = "set_controller_reference"
    identity = _checked_owner(owner, obj, receiver)
    found = controller_of(obj)
    if found is not None and not _is_same(found, identity):
        target = identity_of(obj, receiver=receiver)
        raise AlreadyOwnedError(
            f"{target} is already controlled by {found.kind} {found.name}, so {identity} cannot "
            "become its controller; choose another name, or delete the object"
        )
    return _set(identity, obj, receiver, controller=True, block=block_owner_deletion)


def set_owner_reference(
    owner: AnyObject, obj: EditableObject, *, block_owner_deletion: bool | None = None
) -> bool:
    """Add ``owner`` to the owners of an object, which is deleted together with its last owner.

    If it is an owner already, its uid and version are updated, and it stays the controller if it
    was.

    Args:
        owner: The owner, as read from the server: its uid is needed.
        obj: The object to edit.
        block_owner_deletion: Whether a foreground deletion of the owner waits for the object;
            ``None`` keeps what is set.

    Returns:
        Whether the object was changed.

    Raises:
        ConfigError: The owner has no uid, or is in another namespace.
        ReadOnlyError: The object is read-only; edit a ``copy()``.
    """
    receiver = "set_owner_reference"
    identity = _checked_owner(owner, obj, receiver)
    return _set(identity, obj, receiver, controller=None, block=block_owner_deletion)


def remove_owner_reference(owner: AnyObject, obj: EditableObject) -> bool:
    """Remove ``owner`` from the owners of an object, whatever its uid. Report a change.

    Raises:
        ReadOnlyError: The object is read-only; edit a ``copy()``.
    """
    receiver = "remove_owner_reference"
    require_editable(obj, receiver=receiver)
    identity = identity_of(owner, receiver=receiver)
    given = read_metadata_list(obj, _NAME, receiver=receiver)
    kept = [each for each in given if not _is_same(_reference(each), identity)]
    if len(kept) == len(given):
        return False
    edit_metadata_list(obj, _NAME, receiver=receiver)[:] = kept
    return True


def has_owner_reference(owner: AnyObject, obj: AnyObject) -> bool:
    """Whether ``owner`` owns an object.

    Owners are compared by uid. An owner without one is compared by group, kind and name.
    """
    identity = identity_of(owner, receiver="has_owner_reference")
    return any(_is_owner(each, identity) for each in owners_of(obj))


def is_controlled_by(owner: AnyObject, obj: AnyObject) -> bool:
    """Whether ``owner`` is the controller of an object; compared like ``has_owner_reference``."""
    found = controller_of(obj)
    identity = identity_of(owner, receiver="is_controlled_by")
    return found is not None and _is_owner(found, identity)


def owners_of(obj: AnyObject) -> list[OwnerReference]:
    """Return all owner references of an object."""
    return [_reference(each) for each in read_metadata_list(obj, _NAME, receiver="owners_of")]


def controller_of(obj: AnyObject) -> OwnerReference | None:
    """Return the reference to the controller of an object; ``None`` if it has none."""
    for each in read_metadata_list(obj, _NAME, receiver="controller_of"):
        if _get(each, "controller"):
            return _reference(each)
    return None


def _checked_owner(owner: AnyObject, obj: EditableObject, receiver: str) -> Identity:
    require_editable(obj, receiver=receiver)
    identity = identity_of(owner, receiver=receiver)
    if not identity.uid or not identity.name:
        raise ConfigError(
            f"{receiver}: the owner {identity} has no uid; pass the object that the server returned"
        )
    if not identity.namespace:  # a cluster-scoped object may own anything
        return identity
    target = identity_of(obj, receiver=receiver)
    if target.namespace == identity.namespace:
        return identity
    if target.namespace:
        raise ConfigError(
            f"{receiver}: {identity} cannot own {target}, which is in another namespace; the "
            "garbage collector would delete it"
        )
    if isinstance(obj, TypedObject) and obj.resource is not None and obj.resource.namespaced:
        remedy = f"set its namespace to {identity.namespace!r} first"
    else:
        remedy = "set its namespace first; a cluster-scoped object needs a cluster-scoped owner"
    raise ConfigError(f"{receiver}: {identity} cannot own {target}, without a namespace; {remedy}")


def _set(
    owner: Identity,
    obj: EditableObject,
    receiver: str,
    *,
    controller: bool | None,
    block: bool | None,
) -> bool:
    """Add the reference, or update the one to this owner; report whether that is a change."""
    if block is not None:
        expect(block, bool, receiver="block_owner_deletion=", expected="a bool")
    before = owners_of(obj)
    own = [each for each in before if _is_same(each, owner)]
    wanted = OwnerReference(
        api_version=owner.gvk.api_version,
        kind=owner.gvk.kind,
        name=owner.name,
        uid=owner.uid,
        controller=controller or (own[0].controller if own else None),
        block_owner_deletion=(
            block if block is not None else own[0].block_owner_deletion if own else None
        ),
    )
    if own == [wanted]:
        return False
    items = edit_metadata_list(obj, _NAME, receiver=receiver)
    new = wanted if isinstance(obj, TypedObject) else wanted.to_dict()
    # In its old place, and once, if there were several.
    place = next((at for at, each in enumerate(before) if _is_same(each, owner)), len(items))
    kept = [each for each in items[place:] if not _is_same(_reference(each), owner)]
    items[place:] = [new, *kept]
    return True


def _is_same(reference: OwnerReference, owner: Identity) -> bool:
    """Compare by group, kind and name: an owner that was created again has another uid."""
    return (
        reference.name == owner.name
        and reference.kind == owner.gvk.kind
        and _group(reference) == owner.gvk.group
    )


def _is_owner(reference: OwnerReference, owner: Identity) -> bool:
    if owner.uid:
        return reference.uid == owner.uid
    return _is_same(reference, owner)


def _group(reference: OwnerReference) -> str | None:
    try:
        return GVK.of(reference.api_version, reference.kind).group
    except InvalidNameError:  # written by somebody else
        return None


def _reference(item: Any) -> OwnerReference:
    fields = {name: value for name in _JSON_NAMES if (value := _get(item, name)) is not None}
    return OwnerReference(**fields)


def _get(item: Any, name: str) -> Any:
    if isinstance(item, Mapping):
        return item.get(_JSON_NAMES[name])
    return getattr(item, name)
