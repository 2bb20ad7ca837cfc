"""Sends requests, retries them after Retry-After, and raises refusals as exceptions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec

from kinform.client._reachability import Reachability
from kinform.client._status import error_from_response
from kinform.errors import (
    ApiError,
    ResponseTooLargeError,
    TransportError,
    TruncatedResponseError,
)
from kinform.transport import Request, Response, Transport

logger = logging.getLogger("kinform.client")

# An error response is small; anything beyond this size is not read.
_LONGEST_REFUSAL = 1 << 20
# For a longer Retry-After, raising the error is more useful than waiting.
_LONGEST_WAIT = 60.0


class RetryingSender:
    """Sends requests through the transport, retries them after Retry-After, and reads responses.

    Args:
        max_retries: How often a request is retried after a response with Retry-After.
        max_body_size: The maximum size in bytes of a response, and of a single watch event.
        timeout: Seconds for a request with its complete response; for a watch, until it is open.

    Attributes:
        reachability: The connection state of the server, shared by all informers of this client.
    """

    def __init__(
        self, transport: Transport, *, max_retries: int, max_body_size: int, timeout: float | None
    ) -> None:
        self._transport = transport
        self._max_retries = max_retries
        self.max_body_size = max_body_size
        self._timeout = timeout
        self.reachability = Reachability()

    async def fetch(
        self,
        request: Request,
        *,
        retry: bool = True,
        before_retry: Callable[[], None] | None = None,
    ) -> tuple[Response, bytes]:
        """Send a request and return the response with its complete body.

        With ``retry=False``, a response with Retry-After is raised like any other refusal.
        ``before_retry`` is called before each retry; an exception prevents it.

        Raises:
            ApiError: The server refused the request.
            TruncatedResponseError: The response ended too early.
            TransportError: The server did not respond.
        """
        request = msgspec.structs.replace(request, total_timeout=self._timeout)
        response = await self.open(request, retry=retry, before_retry=before_retry)
        try:
            return response, await response.read(self.max_body_size)
        except ResponseTooLargeError as error:
            raise ResponseTooLargeError(
                f"{error}; list in pages, or raise max_body_size"
            ) from error
        except TransportError as error:
            raise TruncatedResponseError(str(error)) from error.__cause__
        finally:
            await response.close()

    async def open(
        self,
        request: Request,
        *,
        retry: bool = True,
        before_retry: Callable[[], None] | None = None,
    ) -> Response:
        """Send a request and return the response before its body. The caller closes it.

        Raises:
            ApiError: The server refused the request.
            TransportError: The server did not respond.
        """
        retries = 0
        max_retries = self._max_retries if retry else 0
        while True:
            try:
                return await self._attempt(request)
            except ApiError as refusal:
                wait = _wait_asked_for(refusal)
                if wait is None or retries == max_retries:
                    raise
                what, code = f"{request.method} {request.path}", refusal.code
            retries += 1
            logger.debug("%s: %s, retrying in %.1f s", what, code, wait)
            await asyncio.sleep(wait)
            if before_retry is not None:
                before_retry()

    async def _attempt(self, request: Request) -> Response:
        try:
            # The transport limits the time of a whole response; this one only limits the opening.
            async with asyncio.timeout(self._timeout):
                response = await self._transport.send(request)
                if response.status < 300 or response.status == 304:
                    return response
                what = f"{request.method} {request.path}"
                if response.status == 401:
                    what += f" with {self._transport.describe_credentials()}"
                raise await _read_refusal(what, response)
        except TimeoutError as error:
            raise TransportError(
                f"{request.method} {request.path}: no answer within {self._timeout:g} s"
            ) from error


async def _read_refusal(what: str, response: Response) -> ApiError:
    cause: TransportError | None = None
    try:
        # Read to the end, so that the connection can be reused.
        body = await response.read(_LONGEST_REFUSAL)
    except TransportError as error:
        # The status code alone is sufficient.
        body, cause = b"", error
    finally:
        await response.close()
    refusal = error_from_response(what, response.status, response.headers, body)
    refusal.__cause__ = cause
    return refusal


def _wait_asked_for(refusal: ApiError) -> float | None:
    """Return the seconds to wait if this response may be retried."""
    if refusal.code != 429 and refusal.code < 500:
        return None
    wait = refusal.retry_after
    return wait if wait is not None and wait <= _LONGEST_WAIT else None
