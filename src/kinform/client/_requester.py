"""Sends requests for objects of one form and returns the encoded responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from kinform.api import ListOptions
from kinform.client._negotiation import JSON_TYPE, Negotiation
from kinform.client._resolver import Resolver
from kinform.client._resources import Place
from kinform.client._retrying_sender import RetryingSender
from kinform.client._wire import PROTOBUF, Wire, wire_for
from kinform.errors import DecodeError, NotAcceptableError, NotFoundError
from kinform.objects import Handle, PartialObjectMetadata
from kinform.transport import Request, Response


class Answer(NamedTuple):
    """The body of a response and its wire format."""

    body: bytes
    wire: Wire


class Requester:
    """Requests whole objects or metadata, and explains why a resource was not found."""

    def __init__(
        self,
        sender: RetryingSender,
        resolver: Resolver,
        negotiation: Negotiation,
        form: type[Handle],
    ) -> None:
        self._sender = sender
        self._resolver = resolver
        self._negotiation = negotiation
        self._form = form
        self._only_metadata = issubclass(form, PartialObjectMetadata)

    async def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        *,
        resource: Place | None = None,
        body: bytes | None = None,
        media: str = JSON_TYPE,
        listing: bool = False,
        retry: bool = True,
        only_json: bool = False,
        before_retry: Callable[[], None] | None = None,
    ) -> Answer:
        """Send a request. Reads may return JSON or protobuf; writes use JSON.

        With ``only_json``, a read returns JSON, which has fields unknown to kinform.
        ``before_retry`` is called before a request is repeated; an exception prevents it.

        Raises:
            ApiError: The server refused the request.
            NoMatchError: The resource does not exist, or not in this scope.
            DecodeError: The response is neither JSON nor protobuf.
        """
        accept = JSON_TYPE if only_json else self._accept(method, resource, listing)
        headers = {"Accept": accept}
        if body is not None:
            headers["Content-Type"] = media
        request = Request(method, path, query, headers, body)
        try:
            response, answer = await self._fetch(request, retry, before_retry)
        except NotFoundError as error:
            await self._resolver.explain_not_found(resource, path, error)
            raise
        return Answer(answer, self._wire(headers, resource, response, answer, f"{method} {path}"))

    def _wire(
        self,
        headers: Mapping[str, str],
        resource: Place | None,
        response: Response,
        body: bytes,
        what: str,
    ) -> Wire:
        content_type = response.headers.get("Content-Type", "") if body else ""
        if PROTOBUF in headers["Accept"]:
            self._negotiation.learn(resource, content_type)
        return wire_for(content_type, what=what)

    async def _fetch(
        self, request: Request, retry: bool, before_retry: Callable[[], None] | None
    ) -> tuple[Response, bytes]:
        try:
            return await self._sender.fetch(request, retry=retry, before_retry=before_retry)
        except NotAcceptableError:
            if not self._only_metadata:
                raise
        return await self._sender.fetch(_asking_for_all(request), retry=retry)

    async def open_watch(
        self, path: str, options: ListOptions, resource: Place, *, retry: bool = True
    ) -> Response:
        """Open a stream of events; the caller closes it. Raises the same errors as ``ask``."""
        query = {"watch": "true", **options.to_query()}
        headers = {"Accept": self._accept("GET", resource, listing=False)}
        request = Request("GET", path, query, headers, is_stream=True)
        try:
            response = await self._open(request, retry)
        except NotFoundError as error:
            await self._resolver.explain_not_found(resource, path, error)
            raise
        try:
            self._wire(headers, resource, response, b"?", f"watch {path}")
        except DecodeError:
            await response.close()
            raise
        return response

    async def _open(self, request: Request, retry: bool) -> Response:
        try:
            return await self._sender.open(request, retry=retry)
        except NotAcceptableError:
            if not self._only_metadata:
                raise
        return await self._sender.open(_asking_for_all(request), retry=retry)

    def _accept(self, method: str, resource: Place | None, listing: bool) -> str:
        return self._negotiation.accept(
            self._form, resource, listing=listing, writing=method != "GET"
        )


def _asking_for_all(request: Request) -> Request:
    """Request whole objects, for servers without metadata support; they are stripped here."""
    return msgspec.structs.replace(request, headers={**request.headers, "Accept": JSON_TYPE})
