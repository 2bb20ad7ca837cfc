"""One change of an object: read it, let the caller edit a copy, write what is different."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Generic, Literal, Protocol, TypeVar

from kinform._checks import check_callable, expect_client
from kinform.client import Reader, Writer
from kinform.controllers.helpers._merge_patch import merge_patch
from kinform.controllers.helpers._objects import AnyObject, identity_of
from kinform.errors import ConfigError, NotFoundError
from kinform.objects import Handle, TypedObject, Unstructured

H = TypeVar("H", bound=Handle)

_OWN_FIELDS = ("apiVersion", "kind")


class ReaderWriter(Reader, Writer, Protocol):
    """Reads and writes objects: a client, or the client of a cache."""


class OperationResult(StrEnum):
    """What ``create_or_update`` or ``create_or_patch`` did."""

    CREATED = "created"
    UPDATED = "updated"
    UPDATED_STATUS = "updated status"
    """Both the object and its status were updated."""
    UPDATED_STATUS_ONLY = "updated status only"
    UNCHANGED = "unchanged"
    """Nothing was written."""


class ObjectChange(Generic[H]):
    """Reads an object and writes an edited copy, if it was changed.

    Call ``load``, edit the returned object, then call ``store``.

    Args:
        client: Reads and writes the object.
        obj: Names the object, and is what to create if it does not exist.
        verb: How to write the changes of an existing object.
        receiver: The name of the calling function, for errors.
        optimistic_lock: Whether a patch fails if the object was modified since it was read.

    Raises:
        ConfigError: ``client`` is not a client, or ``obj`` has no name.
    """

    def __init__(
        self,
        client: ReaderWriter,
        obj: AnyObject,
        *,
        verb: Literal["update", "patch"],
        receiver: str,
        optimistic_lock: bool = False,
    ) -> None:
        expect_client(client, Reader, receiver=receiver)
        expect_client(client, Writer, receiver=receiver)
        self._client = client
        self._given = obj
        self._verb = verb
        self._receiver = receiver
        self._optimistic_lock = optimistic_lock
        self._identity = identity_of(obj, receiver=receiver)
        if not self._identity.name:
            raise ConfigError(f"{receiver}: the {self._identity.gvk.kind} needs a name")
        self._current: Handle | None = None
        self._key = ""

    async def load(self) -> H:
        """Read the object; return an editable copy of it, or of the given one.

        Raises:
            ApiError: The object could not be read.
        """
        identity = self._identity
        resource: Any = type(self._given) if isinstance(self._given, TypedObject) else identity.gvk
        try:
            self._current = await self._client.get(
                resource, identity.name, namespace=identity.namespace or None
            )
        except NotFoundError as error:
            if error.details.get("name") in (None, "", identity.name):
                self._current = None
            else:
                raise  # the namespace, for example
        source: Any = self._given if self._current is None else self._current
        edited: Any = source.copy() if isinstance(source, Handle) else Unstructured(source)
        self._key = edited.key
        return edited  # type: ignore[no-any-return]  # of the class of the given object

    def check(self, edited: H, answer: object) -> None:
        """Check what the caller's function did.

        Raises:
            ConfigError: It changed the name or namespace, or returned another object.
        """
        if isinstance(answer, Handle | Mapping) and answer is not edited:
            raise ConfigError(
                f"mutate of {self._receiver} returned another object, which would be ignored; "
                "edit the object that it receives"
            )
        found = identity_of(edited, receiver=self._receiver)
        if found.key != self._key or found.gvk != self._identity.gvk:
            raise ConfigError(
                f"mutate of {self._receiver} changed {self._identity.gvk.kind} {self._key} to "
                f"{found}; it must not change the kind, the name or the namespace"
            )

    async def store(self, edited: H) -> tuple[H, OperationResult]:
        """Write the changes; return the object as stored by the server.

        Raises:
            AlreadyExistsError: Somebody else created the object meanwhile.
            ConflictError: Somebody else modified the object meanwhile.
            ApiError: The server refused a write.
        """
        if self._current is None:
            return await self._create(edited), OperationResult.CREATED
        before, after = self._current.to_dict(), edited.to_dict()
        changed = _changed_parts(self._current, edited, before, after)
        if not changed:
            return self._unchanged(), OperationResult.UNCHANGED
        if changed == {"status"}:
            return await self._write_status_only(edited, before, after)
        stored = await self._write(edited, before, after)
        if "status" not in changed:
            return stored, OperationResult.UPDATED
        if _status(stored.to_dict()) != _status(after):
            # The kind has a status subresource, so that the first write ignored the status.
            stored = await self._write_status(edited, stored, before, after)
        return stored, OperationResult.UPDATED_STATUS

    def _unchanged(self) -> H:
        return self._current  # type: ignore[return-value]  # of the class of the given object

    async def _create(self, edited: H) -> H:
        stored = await self._client.create(_sendable(edited))
        wanted = _status(edited.to_dict())
        if wanted and _status(stored.to_dict()) != wanted:
            edited.resource_version = stored.resource_version
            stored = await self._update_status(edited)
        return stored  # type: ignore[no-any-return]

    async def _write_status_only(
        self, edited: H, before: dict[str, Any], after: dict[str, Any]
    ) -> tuple[H, OperationResult]:
        assert self._current is not None
        try:
            stored = await self._write_status(edited, self._current, before, after)
        except NotFoundError:
            # The kind has no status subresource; if the object is gone, this says so, too.
            stored = await self._write(edited, before, after)
        return stored, OperationResult.UPDATED_STATUS_ONLY

    async def _write(self, edited: H, before: dict[str, Any], after: dict[str, Any]) -> H:
        if self._verb == "update":
            return await self._client.update(_sendable(edited))  # type: ignore[no-any-return]
        return await self._patch(merge_patch(before, after), before, subresource="")

    async def _write_status(
        self, edited: H, stored: Handle, before: dict[str, Any], after: dict[str, Any]
    ) -> H:
        if self._verb == "update":
            edited.resource_version = stored.resource_version
            return await self._update_status(edited)
        patch = merge_patch({"status": before.get("status")}, {"status": after.get("status")})
        return await self._patch(patch, stored.to_dict(), subresource="status")

    async def _update_status(self, edited: H) -> H:
        return await self._client.update(  # type: ignore[no-any-return]
            _sendable(edited), subresource="status"
        )

    async def _patch(self, patch: dict[str, Any], base: dict[str, Any], *, subresource: str) -> H:
        assert self._current is not None
        if self._optimistic_lock:
            version = base["metadata"].get("resourceVersion")
            patch = {**patch, "metadata": {**patch.get("metadata", {}), "resourceVersion": version}}
        form = type(self._current)
        resource: Any = form if issubclass(form, TypedObject) else self._identity.gvk
        return await self._client.patch(  # type: ignore[no-any-return]
            resource,
            self._identity.name,
            patch,
            type="merge",
            namespace=self._current.namespace or None,
            subresource=subresource,
        )


def check_mutate(mutate: object, *, receiver: str) -> None:
    """Check that ``mutate`` is a function.

    Raises:
        ConfigError: It is not.
    """
    check_callable(f"mutate of {receiver}", mutate)


def _changed_parts(
    current: Handle, edited: Handle, before: dict[str, Any], after: dict[str, Any]
) -> set[str]:
    """Return the names of the parts that differ.

    Parts of models are compared as structs, in which quantities such as 1 and 1000m are equal.
    """
    names = (before.keys() | after.keys()) - {*_OWN_FIELDS}
    changed = {name for name in names if before.get(name) != after.get(name)}
    if isinstance(current, TypedObject) and isinstance(edited, TypedObject):
        known = {name: part.attribute for name, part in edited.parts.items()}
        for name in changed & known.keys():
            if getattr(edited, known[name]) == getattr(current, known[name]):
                changed.discard(name)
    return changed


def _status(tree: dict[str, Any]) -> Any:
    return tree.get("status") or {}


def _sendable(edited: Handle) -> Any:
    """Return the object for verbs that are typed by models and mappings."""
    return edited
