"""The verbs that write whole objects: create, update and apply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, Unpack, overload

from kinform.client._answers import read_answer, says_done
from kinform.client._arguments import patch_media_type, write_query
from kinform.client._json_wire import JSON_WIRE
from kinform.client._keywords import ApplyKeywords, WriteKeywords
from kinform.client._paths import resource_path
from kinform.client._requester import Answer
from kinform.client._resolver import ResourceOrModel, place_of
from kinform.client._typed_verbs import TypedVerbs, checked_form, form_of
from kinform.errors import EncodeError, InvalidNameError
from kinform.objects import (
    JSON,
    Handle,
    PartialObjectMetadata,
    TypedObject,
    Unstructured,
    request_body,
)

M = TypeVar("M", bound=TypedObject)
H = TypeVar("H", bound=Handle)

Body = Handle | Mapping[str, Any]
"""An object to send: a handle, or a dict with apiVersion and kind."""


class Writing(TypedVerbs):
    """The verbs that send whole objects. They return objects of the class that was sent.

    Args, of each verb:
        form: The class of the returned object, if the response is of another kind.
        resource: The resource to send to, if it differs from that of the object's kind.
        namespace: The namespace; defaults to that of the object, then to that of the client.
        name: The name of the object whose subresource is written, if the body has none.
        subresource: A subresource such as ``status``, ``scale`` or ``eviction``.
        field_manager: The name under which the server records the ownership of fields.
        field_validation: ``Strict``, ``Warn`` or ``Ignore`` for unknown fields.
        dry_run: Process the request without storing the result.

    Raises, from each verb:
        EncodeError: A value cannot be encoded, or does not match its model.
    """

    @overload
    async def create(self, obj: M, **options: Unpack[WriteKeywords]) -> M: ...
    @overload
    async def create(
        self, obj: Mapping[str, Any], **options: Unpack[WriteKeywords]
    ) -> Unstructured: ...
    @overload
    async def create(self, obj: Body, *, form: type[H], **options: Unpack[WriteKeywords]) -> H: ...
    async def create(
        self, obj: Body, *, form: type[Handle] | None = None, **options: Unpack[WriteKeywords]
    ) -> Handle:
        """Create an object, or a subresource of the object ``name``: ``subresource="eviction"``.

        If the server only confirms success, as for an eviction, the object that was sent is
        returned. Pass ``form=Status`` to get the confirmation itself.

        Raises:
            AlreadyExistsError: An object of this name exists.
        """
        name, subresource = options.get("name"), options.get("subresource")
        if subresource and not name:
            raise InvalidNameError(f"which object's {subresource!r}? pass name=")
        if name and not subresource:
            raise InvalidNameError(
                f"name={name!r} is for subresources; a new object's name stands in its metadata"
            )
        return await self._send("POST", obj, form, **options)

    @overload
    async def update(self, obj: M, **options: Unpack[WriteKeywords]) -> M: ...
    @overload
    async def update(
        self, obj: Mapping[str, Any], **options: Unpack[WriteKeywords]
    ) -> Unstructured: ...
    @overload
    async def update(self, obj: Body, *, form: type[H], **options: Unpack[WriteKeywords]) -> H: ...
    async def update(
        self, obj: Body, *, form: type[Handle] | None = None, **options: Unpack[WriteKeywords]
    ) -> Handle:
        """Replace an object, or a subresource of it such as ``status``.

        If the object was read with fields that its model does not know, the update is sent as a
        patch of the edits, so that these fields are kept.

        Raises:
            ConflictError: The object changed since it was read. Read, edit and update it again.
        """
        return await self._send("PUT", obj, form, **options)

    @overload
    async def apply(self, obj: M, **options: Unpack[ApplyKeywords]) -> M: ...
    @overload
    async def apply(
        self, obj: Mapping[str, Any], **options: Unpack[ApplyKeywords]
    ) -> Unstructured: ...
    @overload
    async def apply(self, obj: Body, *, form: type[H], **options: Unpack[ApplyKeywords]) -> H: ...
    async def apply(
        self, obj: Body, *, form: type[Handle] | None = None, **options: Unpack[ApplyKeywords]
    ) -> Handle:
        """Server-side apply: create the object, or set the given fields and own them.

        Raises:
            ConflictError: Another manager owns one of the fields; ``force`` takes ownership.
        """
        return await self._send("PATCH", obj, form, **options)

    async def _send(
        self,
        method: str,
        obj: Body,
        form: type[Handle] | None,
        *,
        resource: ResourceOrModel | None = None,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str = "",
        field_manager: str = "",
        field_validation: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> Handle:
        form = checked_form(form or form_of(obj))
        handle = _as_handle(obj)
        place = None if resource is None else place_of(resource)
        found = await self._resolver.resolve_body(handle, place, subresource)
        home = self._resolver.home(found, namespace, handle.namespace)
        if method != "POST":
            name = name or handle.name
        path = resource_path(found.gvr, namespace=home, name=name, subresource=subresource)
        query = write_query(
            field_manager=field_manager,
            field_validation=field_validation,
            force=force or None,
            dry_run=dry_run,
        )
        media = patch_media_type("apply") if method == "PATCH" else "application/json"
        body = whole = request_body(handle)
        if method == "PUT" and (edits := handle.edits()) is not None:
            method, media, body = "PATCH", patch_media_type("json"), JSON.encode(edits)
        answer = await self._requester.ask(
            method, path, query, resource=found, body=body, media=media
        )
        if form is type(obj) and issubclass(form, TypedObject) and says_done(answer):
            answer = Answer(whole, JSON_WIRE)
        return read_answer(answer, form, what=f"{method} {path}")


def _as_handle(obj: Body) -> Handle:
    if isinstance(obj, PartialObjectMetadata):
        raise EncodeError(
            f"{obj!r} has metadata only, and would erase the rest; change it with a patch"
        )
    if isinstance(obj, Handle):
        return obj
    if isinstance(obj, Mapping):
        return Unstructured(obj)
    raise EncodeError(
        f"a {type(obj).__name__} is no object; pass an Unstructured or a dict, or a model"
    )
