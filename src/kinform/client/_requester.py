"""A request for objects in one form in; the server's answer out, in that form or a fuller one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from kinform.api import ListOptions
from kinform.client._exchange import Exchange
from kinform.client._negotiation import JSON_TYPE, Negotiation
from kinform.client._resolver import Resolver, Resource
from kinform.client._wire import PROTOBUF, Wire, wire_for
from kinform.errors import DecodeError, NotAcceptableError, NotFoundError
from kinform.objects import Handle, PartialObjectMetadata
from kinform.transport import Request, Response


class Answer(NamedTuple):
    """The body of an answer, and how to read it."""

    body: bytes
    wire: Wire


class Requester:
    """Asks for whole objects or for their metadata, and explains what is not there."""

    def __init__(
        self,
        exchange: Exchange,
        resolver: Resolver,
        negotiation: Negotiation,
        form: type[Handle],
    ) -> None:
        self._exchange = exchange
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
        resource: Resource | None = None,
        body: bytes | None = None,
        media: str = JSON_TYPE,
        listing: bool = False,
        retry: bool = True,
    ) -> Answer:
        """The answer. Reads may come in either form; writes go and come in JSON.

        Raises:
            ApiError: The server refused.
            NoMatchError: It has no such resource, or not there.
            DecodeError: The answer is neither JSON nor protobuf.
        """
        headers = {"Accept": self._accept(method, resource, listing)}
        if body is not None:
            headers["Content-Type"] = media
        request = Request(method, path, query, headers, body)
        try:
            response, answer = await self._fetch(request, retry)
        except NotFoundError as error:
            await self._resolver.explain_not_found(resource, path, error)
            raise
        return Answer(answer, self._wire(headers, resource, response, answer, f"{method} {path}"))

    def _wire(
        self,
        headers: Mapping[str, str],
        resource: Resource | None,
        response: Response,
        body: bytes,
        what: str,
    ) -> Wire:
        content_type = response.headers.get("Content-Type", "") if body else ""
        if PROTOBUF in headers["Accept"]:
            self._negotiation.learn(resource, content_type)
        return wire_for(content_type, what=what)

    async def _fetch(self, request: Request, retry: bool) -> tuple[Response, bytes]:
        try:
            return await self._exchange.fetch(request, retry=retry)
        except NotAcceptableError:
            if not self._only_metadata:
                raise
        return await self._exchange.fetch(_asking_for_all(request), retry=retry)

    async def open_watch(
        self, path: str, options: ListOptions, resource: Resource, *, retry: bool = True
    ) -> Response:
        """A stream of events that has begun; the caller closes it. Raises as ``ask`` does."""
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
            return await self._exchange.open(request, retry=retry)
        except NotAcceptableError:
            if not self._only_metadata:
                raise
        return await self._exchange.open(_asking_for_all(request), retry=retry)

    def _accept(self, method: str, resource: Resource | None, listing: bool) -> str:
        return self._negotiation.accept(
            self._form, resource, listing=listing, writing=method != "GET"
        )


def _asking_for_all(request: Request) -> Request:
    """For a server that knows no metadata form; what it sends instead is pruned here."""
    return msgspec.structs.replace(request, headers={**request.headers, "Accept": JSON_TYPE})
