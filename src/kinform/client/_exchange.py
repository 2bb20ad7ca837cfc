"""One request in; a good answer, or the exception for a bad one, out. Waits when told to."""

from __future__ import annotations

import asyncio
import logging

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

# A refusal is a page at most; whatever is behind it is not worth holding.
_LONGEST_REFUSAL = 1 << 20
# Who is told to come back later than this is better told so than kept waiting.
_LONGEST_WAIT = 60.0


class Exchange:
    """What every verb does with the transport: retry when the server says when, and read.

    Args:
        max_retries: How often a request is sent again after an answer that says when.
        max_body_size: The largest body, and the longest line of a watch, that is accepted.
        timeout: Seconds for one request and its whole answer; for a watch until it is open.

    Attributes:
        reachability: What the informers of this client know together about its server.
    """

    def __init__(
        self, transport: Transport, *, max_retries: int, max_body_size: int, timeout: float | None
    ) -> None:
        self._transport = transport
        self._max_retries = max_retries
        self.max_body_size = max_body_size
        self._timeout = timeout
        self.reachability = Reachability()

    async def fetch(self, request: Request, *, retry: bool = True) -> tuple[Response, bytes]:
        """The answer and its whole body.

        Without ``retry`` an answer that says when to come back is raised like any other refusal.

        Raises:
            ApiError: The server refused.
            TruncatedResponseError: The answer broke off before its end.
            TransportError: No answer.
        """
        request = msgspec.structs.replace(request, total_timeout=self._timeout)
        response = await self.open(request, retry=retry)
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

    async def open(self, request: Request, *, retry: bool = True) -> Response:
        """The answer with its body still on the wire. The caller closes it; ``retry`` as above.

        Raises:
            ApiError: The server refused.
            TransportError: No answer.
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
            logger.debug("%s: %s, again in %.1f s", what, code, wait)
            await asyncio.sleep(wait)

    async def _attempt(self, request: Request) -> Response:
        try:
            # The transport minds the time of a whole answer; a watch has one only until it is open.
            async with asyncio.timeout(self._timeout):
                response = await self._transport.send(request)
                if response.status < 300 or response.status == 304:
                    return response
                raise await _read_refusal(request, response)
        except TimeoutError as error:
            raise TransportError(
                f"{request.method} {request.path}: no answer within {self._timeout:g} s"
            ) from error


async def _read_refusal(request: Request, response: Response) -> ApiError:
    cause: TransportError | None = None
    try:
        # To its end, so that the connection can serve again.
        body = await response.read(_LONGEST_REFUSAL)
    except TransportError as error:
        # The status alone is an answer, whatever became of its body.
        body, cause = b"", error
    finally:
        await response.close()
    what = f"{request.method} {request.path}"
    refusal = error_from_response(what, response.status, response.headers, body)
    refusal.__cause__ = cause
    return refusal


def _wait_asked_for(refusal: ApiError) -> float | None:
    """Seconds, if this answer is one to be asked for again after a while."""
    if refusal.code != 429 and refusal.code < 500:
        return None
    wait = refusal.retry_after
    return wait if wait is not None and wait <= _LONGEST_WAIT else None
