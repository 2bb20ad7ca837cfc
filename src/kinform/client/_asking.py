"""A request for objects in one form in; the server's answer out, in that form or a fuller one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kinform.api import ListOptions
from kinform.client._decoding import require_json
from kinform.client._exchange import Exchange
from kinform.client._resolver import Resolver, Resource
from kinform.errors import DecodeError, NotAcceptableError, NotFoundError
from kinform.transport import Request, Response

_PLAIN = "application/json"
_METADATA = f"{_PLAIN};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = f"{_PLAIN};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class Asking:
    """Asks for whole objects or for their metadata, and explains what is not there."""

    def __init__(self, exchange: Exchange, resolver: Resolver, *, only_metadata: bool) -> None:
        self._exchange = exchange
        self._resolver = resolver
        self._only_metadata = only_metadata

    async def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        *,
        resource: Resource | None = None,
        body: bytes | None = None,
        media: str = _PLAIN,
        listing: bool = False,
        retry: bool = True,
    ) -> bytes:
        """The body of the answer.

        Raises:
            ApiError: The server refused.
            NoMatchError: It has no such resource, or not there.
            DecodeError: The answer is no JSON.
        """
        headers = {"Accept": self._accept(listing)}
        if body is not None:
            headers["Content-Type"] = media
        request = Request(method, path, query, headers, body)
        try:
            response, answer = await self._fetch(request, retry)
        except NotFoundError as error:
            await self._resolver.explain_not_found(resource, path, error)
            raise
        if answer:
            require_json(response.headers.get("Content-Type", ""), what=f"{method} {path}")
        return answer

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
        request = Request(
            "GET", path, query, {"Accept": self._accept(listing=False)}, is_stream=True
        )
        try:
            response = await self._open(request, retry)
        except NotFoundError as error:
            await self._resolver.explain_not_found(resource, path, error)
            raise
        try:
            require_json(response.headers.get("Content-Type", ""), what=f"watch {path}")
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

    def _accept(self, listing: bool) -> str:
        if not self._only_metadata:
            return _PLAIN
        return f"{_METADATA_LIST if listing else _METADATA},{_PLAIN}"


def _asking_for_all(request: Request) -> Request:
    """For a server that knows no metadata form; what it sends instead is pruned here."""
    return dataclasses.replace(request, headers={**request.headers, "Accept": _PLAIN})
