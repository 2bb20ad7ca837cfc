"""Sends whole objects: the implementation of create, update and apply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from kinform.api import ApiResource
from kinform.client._arguments import patch_media_type, write_query
from kinform.client._forms import checked_form, form_of
from kinform.client._json_wire import JSON_WIRE
from kinform.client._object_decoding import confirms_success, read_answer
from kinform.client._requester import Answer, Requester
from kinform.client._resolver import Location
from kinform.client._resources import ResourceOrModel, place_of
from kinform.client._shared_parts import SharedParts
from kinform.client._write_hooks import Write
from kinform.errors import EncodeError, ForbiddenError
from kinform.objects import (
    JSON,
    Handle,
    PartialObjectMetadata,
    TypedObject,
    Unstructured,
    request_body,
)

ObjectOrMapping = Handle | Mapping[str, Any]
"""An object to send: a handle, or a dict with apiVersion and kind."""

_METHODS = {"create": "POST", "update": "PUT", "apply": "PATCH"}


class ObjectWriter:
    """Sends whole objects to their resources, or to subresources."""

    def __init__(self, state: SharedParts, requester: Requester) -> None:
        self._writes = state.writes
        self._resolver = state.resolver
        self._requester = requester

    async def write(
        self,
        verb: Literal["create", "update", "apply"],
        obj: ObjectOrMapping,
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
        """Send an object; return it as stored by the server, as ``form`` or in its own class."""
        form = checked_form(form or form_of(obj))
        handle = _as_handle(obj)
        given = None if resource is None else place_of(resource)
        found = await self._resolver.resolve_object(handle, given, subresource)
        home = self._resolver.namespace_for(found, namespace, handle.namespace)
        if verb != "create":
            name = name or handle.name
        path = Location(found.gvr, home, name, subresource).path
        query = write_query(
            field_manager=field_manager,
            field_validation=field_validation,
            force=force or None,
            dry_run=dry_run,
        )
        method = _METHODS[verb]
        media = patch_media_type("apply") if verb == "apply" else "application/json"
        body = request_body(handle)
        is_incomplete = verb == "update" and handle.is_incomplete
        write = Write(
            verb=verb,
            resource=found.gvr,
            namespace=home,
            name=name or handle.name,
            subresource=subresource,
            object=handle,
            dry_run=dry_run,
        )

        async def send(before_retry: Callable[[], None] | None) -> Answer:
            nonlocal body
            if is_incomplete:
                # Permission to write a subresource does not imply permission to read it.
                is_other_kind = handle.gvk != found.gvk
                source = Location(found.gvr, home, name, subresource if is_other_kind else "")
                body = await self._complete(handle, source, found)
            return await self._requester.ask(
                method,
                path,
                query,
                resource=found,
                body=body,
                media=media,
                before_retry=before_retry,
            )

        def read(answer: Answer) -> Handle:
            if form is type(obj) and issubclass(form, TypedObject) and confirms_success(answer):
                answer = Answer(body, JSON_WIRE)
            return read_answer(answer, form, what=f"{method} {path}")

        return await self._writes.run(write, send, read)

    async def _complete(self, handle: Handle, source: Location, resource: ApiResource) -> bytes:
        """Return the body for an incomplete copy: the object as JSON, with the edits of the copy.

        Raises:
            ConflictError: The object has changed since it was copied.
        """
        path = source.path
        try:
            answer = await self._requester.ask("GET", path, {}, resource=resource, only_json=True)
            current = read_answer(answer, Unstructured, what=f"GET {path}").to_dict()
        except ForbiddenError:
            # The object may come from an informer, which only needs permission to list and watch.
            found = None if source.subresource else await self._list_one(source, resource)
            if found is None:
                raise
            current = found
        return JSON.encode(handle.completed(current))

    async def _list_one(self, source: Location, resource: ApiResource) -> dict[str, Any] | None:
        """Return an object by a list of its resource; ``None`` if it is not possible."""
        path = Location(source.gvr, source.namespace).path
        query = {"fieldSelector": f"metadata.name={source.name}"}
        try:
            answer = await self._requester.ask(
                "GET", path, query, resource=resource, listing=True, only_json=True
            )
        except ForbiddenError:
            return None
        items = JSON.decode(answer.body).get("items") or [None]
        gvk = resource.gvk
        said = {"apiVersion": gvk.api_version, "kind": gvk.kind}
        return None if items[0] is None else {**said, **items[0]}


def _as_handle(obj: ObjectOrMapping) -> Handle:
    if isinstance(obj, PartialObjectMetadata):
        raise EncodeError(
            f"{obj!r} has only metadata, and writing it would erase the rest; use a patch"
        )
    if isinstance(obj, Handle):
        return obj
    if isinstance(obj, Mapping):
        return Unstructured(obj)
    raise EncodeError(
        f"{type(obj).__name__} is not a class of objects; pass a model, an Unstructured or a dict"
    )
