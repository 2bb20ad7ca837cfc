"""The verbs of the API for objects of one form."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any, Generic, TypeVar

from kinform._checks import expect
from kinform.api import ListOptions, ResourceVersionMatch
from kinform.client._arguments import (
    Fields,
    Labels,
    PatchType,
    Propagation,
    as_field_selector,
    as_label_selector,
    encode_delete_options,
    encode_patch,
    patch_media_type,
    write_query,
)
from kinform.client._continue_guard import ContinueGuard
from kinform.client._discovery import Discovery
from kinform.client._lists import ObjectList, read_list
from kinform.client._object_decoding import confirms_success, read_answer
from kinform.client._reachability import Reachability
from kinform.client._requester import Answer, Requester
from kinform.client._resources import Place, Resource, place_of, resource_name
from kinform.client._shared_parts import SharedParts
from kinform.client._watch import Watch
from kinform.client._write_hooks import Write
from kinform.errors import (
    ConfigError,
    DecodeError,
    ExpiredError,
    MethodNotAllowedError,
)
from kinform.objects import JSON, Handle, PartialObjectMetadata
from kinform.transport import Response

T = TypeVar("T", bound=Handle)


class Verbs(Generic[T]):
    """Get, list, watch, patch and delete objects of one form.

    ``namespace=None`` means all namespaces for ``list`` and ``watch``, and the client's default
    namespace for verbs on a single object.
    """

    def __init__(self, form: type[T], state: SharedParts) -> None:
        self._form = form
        self._state = state
        self._resolver = state.resolver
        self._only_metadata = issubclass(form, PartialObjectMetadata)
        self._requester = Requester(state.sender, state.resolver, state.negotiation, form)
        self._codec = JSON

    @property
    def discovery(self) -> Discovery:
        """The resources of the server."""
        return self._state.discovery

    @property
    def namespace(self) -> str:
        """The default namespace of verbs on a single object."""
        return self._state.namespace

    @property
    def form(self) -> type[T]:
        """The class of the returned objects."""
        return self._form

    @property
    def reachability(self) -> Reachability:
        """The connection state of the server, shared by all informers of this client."""
        return self._state.sender.reachability

    # -- reading -----------------------------------------------------------------------------

    async def get(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        subresource: str = "",
        resource_version: str = "",
    ) -> T:
        """Return one object.

        Raises:
            NotFoundError: The object does not exist.
        """
        place = place_of(resource)
        path = (await self._resolver.locate(place, name, namespace, subresource)).path
        query = ListOptions(resource_version=resource_version).to_query()
        answer = await self._requester.ask("GET", path, query, resource=place)
        return read_answer(answer, self._form, what=f"GET {path}")

    async def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        labels: Labels = "",
        fields: Fields = "",
        resource_version: str = "",
        resource_version_match: ResourceVersionMatch = "",
        limit: int | None = None,
        continue_token: str = "",
    ) -> ObjectList[T]:
        """Return all objects that match, as of one resource version.

        The list is fetched in pages. If the version expires between pages, the list is fetched
        again in a single request, so the result is always consistent. With ``limit``, only one
        page is returned; pass its ``continue_token`` to get the next one.

        Raises:
            DecodeError: An object cannot be decoded. Use ``pages`` to read the others.
        """
        place = place_of(resource)
        options = ListOptions(
            label_selector=as_label_selector(labels),
            field_selector=as_field_selector(fields),
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            limit=limit,
            continue_token=continue_token,
        )
        if limit is not None or continue_token:
            found = await self.page(place, options, namespace=namespace)
        else:
            found = await self._list_all(place, options, namespace)
        if found.undecodable:
            first = found.undecodable[0].error
            bad = len(found.undecodable) + found.more_undecodable
            raise DecodeError(
                f"list of {resource_name(place)}: {bad} of {bad + len(found)} objects cannot "
                f"be decoded; the first is {first}; use pages() to read the others"
            ) from first
        return found

    async def pages(
        self,
        resource: Resource,
        options: ListOptions | None = None,
        *,
        namespace: str | None = None,
    ) -> AsyncGenerator[ObjectList[T], None]:
        """Iterate over the pages of a list.

        Raises:
            ExpiredError: The version expired between pages. Do not combine the pages received so
                far with those of a new list.
            DecodeError: The pages would never end: the server repeats tokens or objects.
        """
        place = place_of(resource)
        options = ListOptions() if options is None else options
        _require_options(options, "pages()")
        if not options.limit:
            options = _in_pages_of(self._state.page_size, options)
        guard = ContinueGuard(f"list of {resource_name(place)}")
        while True:
            page = await self.page(place, options, namespace=namespace)
            yield page
            if not page.continue_token:
                return
            guard.check(page)
            # The token contains the version; servers reject requests with both.
            options = options.replace(
                continue_token=page.continue_token, resource_version="", resource_version_match=""
            )

    async def page(
        self,
        resource: Resource,
        options: ListOptions,
        *,
        namespace: str | None = None,
        retry: bool = True,
    ) -> ObjectList[T]:
        """Request one page. Items that cannot be decoded are in ``undecodable``.

        With ``retry=False``, refusals of an overloaded server are raised immediately.
        """
        _require_options(options, "page()")
        place = place_of(resource)
        path = (await self._resolver.locate_collection(place, namespace)).path
        answer = await self._requester.ask(
            "GET", path, options.to_query(), resource=place, listing=True, retry=retry
        )
        return await read_list(
            answer.body,
            answer.wire,
            self._form,
            what=f"GET {path}",
            only_metadata=self._only_metadata,
        )

    def watch(
        self,
        resource: Resource,
        options: ListOptions | None = None,
        *,
        namespace: str | None = None,
        labels: Labels = "",
        fields: Fields = "",
        resource_version: str = "",
        bookmarks: bool = False,
        timeout_seconds: int | None = None,
        retry: bool = True,
    ) -> Watch[T]:
        """Watch changes after ``resource_version``. Without one, existing objects come first.

        ``bookmarks`` requests BOOKMARK events, which contain the resource version to resume from.
        ``options`` replaces the keywords. With ``retry=False``, refusals of an overloaded server
        are raised immediately.

        Raises:
            ConfigError: Both ``options`` and one of the keywords it replaces were given.
        """
        place = place_of(resource)
        given = ListOptions(
            label_selector=as_label_selector(labels),
            field_selector=as_field_selector(fields),
            resource_version=resource_version,
            allow_watch_bookmarks=bookmarks,
            timeout_seconds=timeout_seconds,
        )
        if options is None:
            options = given
        _require_options(options, "watch()")
        if options is not given and given.to_query():
            raise ConfigError(
                f"watch of {resource_name(place)}: pass {', '.join(given.to_query())} in "
                "options, not beside it"
            )

        async def open_stream() -> Response:
            path = (await self._resolver.locate_collection(place, namespace)).path
            return await self._requester.open_watch(path, options, place, retry=retry)

        return Watch(
            open_stream,
            what=f"watch of {resource_name(place)}",
            form=self._form,
            only_metadata=self._only_metadata,
            max_line=self._state.sender.max_body_size,
        )

    # -- writing -----------------------------------------------------------------------------

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Any,
        *,
        type: PatchType = "merge",
        namespace: str | None = None,
        subresource: str = "",
        field_manager: str = "",
        field_validation: str = "",
        force: bool | None = None,
        dry_run: bool = False,
    ) -> T:
        """Patch an object with a dict to merge or a list of JSON patch operations."""
        media = patch_media_type(type)
        body = encode_patch(patch, self._codec)
        place = place_of(resource)
        location = await self._resolver.locate(place, name, namespace, subresource)
        path = location.path
        query = write_query(
            field_manager=field_manager,
            field_validation=field_validation,
            force=force,
            dry_run=dry_run,
        )
        write = Write(
            verb="patch",
            resource=location.gvr,
            namespace=location.namespace,
            name=name,
            subresource=subresource,
            patch=patch,
            patch_type=type,
            dry_run=dry_run,
        )

        async def send(before_retry: Callable[[], None] | None) -> Answer:
            return await self._requester.ask(
                "PATCH",
                path,
                query,
                resource=place,
                body=body,
                media=media,
                before_retry=before_retry,
            )

        def read(answer: Answer) -> T:
            return read_answer(answer, self._form, what=f"PATCH {path}")

        return await self._state.writes.run(write, send, read)

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        grace_period: int | None = None,
        propagation: Propagation | None = None,
        uid: str = "",
        resource_version: str = "",
        dry_run: bool = False,
    ) -> T | None:
        """Delete an object. Returns it if finalizers or a grace period delay this, else ``None``.

        ``uid`` and ``resource_version`` are preconditions: an object that differs is not deleted.
        """
        place = place_of(resource)
        location = await self._resolver.locate(place, name, namespace)
        path = location.path
        body = encode_delete_options(
            self._codec,
            grace_period=grace_period,
            propagation=propagation,
            dry_run=dry_run,
            uid=uid,
            resource_version=resource_version,
        )
        write = Write(
            verb="delete",
            resource=location.gvr,
            namespace=location.namespace,
            name=name,
            dry_run=dry_run,
        )

        async def send(before_retry: Callable[[], None] | None) -> Answer:
            return await self._requester.ask(
                "DELETE", path, {}, resource=place, body=body, before_retry=before_retry
            )

        def read(answer: Answer) -> T | None:
            if confirms_success(answer):
                return None
            return read_answer(answer, self._form, what=f"DELETE {path}")

        return await self._state.writes.run(write, send, read)

    async def delete_collection(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        labels: Labels = "",
        fields: Fields = "",
        grace_period: int | None = None,
        propagation: Propagation | None = None,
        dry_run: bool = False,
    ) -> None:
        """Delete all matching objects. The server deletes them one by one, not atomically.

        Raises:
            MethodNotAllowedError: No namespace was given for a namespaced resource. Servers delete
                collections in one namespace at a time.
        """
        place = place_of(resource)
        location = await self._resolver.locate_collection(place, namespace)
        path = location.path
        label_selector, field_selector = as_label_selector(labels), as_field_selector(fields)
        query = ListOptions(label_selector=label_selector, field_selector=field_selector).to_query()
        body = encode_delete_options(
            self._codec, grace_period=grace_period, propagation=propagation, dry_run=dry_run
        )
        write = Write(
            verb="delete_collection",
            resource=location.gvr,
            namespace=location.namespace,
            labels=label_selector,
            fields=field_selector,
            dry_run=dry_run,
        )

        async def send(before_retry: Callable[[], None] | None) -> Answer:
            try:
                return await self._requester.ask(
                    "DELETE",
                    path,
                    query,
                    resource=place,
                    body=body,
                    listing=True,
                    before_retry=before_retry,
                )
            except MethodNotAllowedError as error:
                if not namespace:
                    error.message += (
                        "; servers delete collections in one namespace at a time: pass namespace="
                    )
                raise

        await self._state.writes.run(write, send, lambda _: None)

    # -- private -----------------------------------------------------------------------------

    async def _list_all(
        self, place: Place, options: ListOptions, namespace: str | None
    ) -> ObjectList[T]:
        pages = await self._consistent_pages(place, options, namespace)
        if pages is None:
            # The version expired. A single request is always consistent.
            return await self.page(place, options, namespace=namespace)
        return ObjectList(
            self._form,
            [record for page in pages for record in page.records],
            resource_version=pages[0].resource_version,
            undecodable=[bad for page in pages for bad in page.undecodable],
            more_undecodable=sum(page.more_undecodable for page in pages),
        )

    async def _consistent_pages(
        self, place: Place, options: ListOptions, namespace: str | None
    ) -> Sequence[ObjectList[T]] | None:
        """Return all pages of one version; ``None`` if the version expired or changed."""
        found = []
        try:
            async with aclosing(self.pages(place, options, namespace=namespace)) as pages:
                async for page in pages:
                    found.append(page)
                    if page.resource_version != found[0].resource_version:
                        return None
        except ExpiredError:
            if not found:
                raise
            return None
        return found


def _require_options(options: object, verb: str) -> None:
    expect(options, ListOptions, receiver=verb, expected="kinform.ListOptions")


def _in_pages_of(size: int, options: ListOptions) -> ListOptions:
    """Return options for the same list in pages."""
    if options.resource_version and not options.resource_version_match:
        # With a limit, a version would mean "exactly" instead of "not older than".
        options = options.replace(resource_version_match="NotOlderThan")
    return options.replace(limit=size)
