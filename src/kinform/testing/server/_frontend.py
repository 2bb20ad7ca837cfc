"""Parses and authenticates all HTTP requests, and passes them on to verbs and pages.

All requests pass through here, so fault injection and the request log are called here.
"""

from __future__ import annotations

import asyncio
import logging

from aiohttp import web

from kinform.errors import ApiError
from kinform.testing import api_errors
from kinform.testing.formats import Encodings
from kinform.testing.interception import Call, Interception, Interceptor, Sink
from kinform.testing.requests import PageNotFoundError, RequestTarget, find_target
from kinform.testing.responses import common_headers, requests_pretty, send_body
from kinform.testing.server._access_control import AccessControl
from kinform.testing.server._browser_checks import BrowserChecks
from kinform.testing.server._http_sink import HttpSink
from kinform.testing.server._pages import Pages, send_text
from kinform.testing.storage import ClusterState
from kinform.testing.verbs import Caller, VerbHandlers

_log = logging.getLogger("kinform.testing")

REQUEST_LIMIT = 3 * 1024 * 1024


class Frontend:
    """Handles all HTTP requests of a server."""

    def __init__(
        self,
        cluster: ClusterState,
        verbs: VerbHandlers,
        interceptor: Interceptor,
        access: AccessControl,
        browsers: BrowserChecks,
        body_timeout: float,
    ) -> None:
        self._cluster = cluster
        self._verbs = verbs
        self._interceptor = interceptor
        self._access = access
        self._browsers = browsers
        self._body_timeout = body_timeout
        self._pages = Pages(cluster.registry)
        self._encodings = Encodings()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Handle one request. Only raises on cancellation."""
        out = HttpSink(request)
        try:
            call, target = await self._parse(request)
        except web.HTTPRequestEntityTooLarge:
            await self._send_failure(out, api_errors.request_too_large(REQUEST_LIMIT))
        except TimeoutError:
            out.abort()  # a client that stopped in the middle of its request reads no response
        except ConnectionError:
            out.abort()
        else:
            await self._intercept(call, target, out)
        return out.response if out.response is not None else web.Response(status=500)

    async def _intercept(self, call: Call, target: RequestTarget, out: HttpSink) -> None:
        interception = self._interceptor.begin(call)
        try:
            sink = interception.sink(out)
            if not await interception.before(sink):
                await self._respond(interception, target, sink, out)
        except ConnectionError:
            out.abort()  # the client disconnected, or its connection was cut
        finally:
            interception.end()

    async def _parse(self, request: web.BaseRequest) -> tuple[Call, RequestTarget]:
        body = b""
        if request.can_read_body:
            async with asyncio.timeout(self._body_timeout):
                body = await request.read()
        query = {name: request.query.getall(name)[0] for name in request.query}
        watching = query.get("watch", "false").lower() not in ("false", "0")
        path = request.rel_url.raw_path
        target = find_target(self._cluster.registry, request.method, path, watch=watching)
        call = Call(
            method=request.method,
            path=request.path,
            query=query,
            headers=request.headers,
            verb=target.verb,
            gvr=target.gvr,
            namespace=target.namespace,
            name=target.name,
            subresource=target.subresource,
            custom=target.served is not None and target.served.custom,
            body=body,
        )
        return call, target

    async def _respond(
        self, interception: Interception, target: RequestTarget, sink: Sink, out: HttpSink
    ) -> None:
        call = interception.call
        try:
            self._browsers.check(call.method, call.headers)
            user = self._access.authenticate(call)
            interception.authenticated(user)
            self._access.authorize(call, target, user)
            if target.refusal is not None:
                raise target.refusal
            if target.served is not None:
                caller = Caller(user, self._access.user_of)
                await self._verbs.handle(target, interception, sink, caller)
            else:
                await self._pages.send(call, sink)
        except ApiError as error:
            await self._send_failure(sink, error, call)
        except PageNotFoundError:
            await send_text(sink, "404 page not found\n", status=404)
        except (asyncio.CancelledError, ConnectionError):
            raise
        except RecursionError:
            # Decoded bodies are bounded, but patches can nest an object deeper and deeper.
            await self._send_failure(sink, _too_deep(), call)
        except Exception as error:
            # An internal error. The client still gets a response, unless one has started.
            _log.exception("cannot handle %s %s", call.method, call.path)
            if out.response is not None:
                out.abort()
            else:
                failure = api_errors.internal(
                    f"Internal error occurred: {error!r}", reason="InternalError"
                )
                await self._send_failure(sink, failure)

    async def _send_failure(self, sink: Sink, error: ApiError, call: Call | None = None) -> None:
        accept = "" if call is None else call.headers.get("Accept", "")
        pretty = call is not None and requests_pretty(call.query, call.headers)
        encoding = self._encodings.errors(accept, pretty=pretty)
        headers = common_headers(encoding.content_type)
        if error.retry_after is not None:
            headers["Retry-After"] = str(int(error.retry_after))
        if error.code == 403:
            headers["X-Content-Type-Options"] = "nosniff"
        body = encoding.body(api_errors.failure_body(error))
        await send_body(sink, error.code, headers, body)


def _too_deep() -> ApiError:
    return api_errors.bad_request("the object is nested too deeply")
