"""Parses, authenticates and answers all HTTP requests.

All requests pass through here, so fault injection and the request log are called here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from aiohttp import web

from kinform.errors import ApiError
from kinform.testing import api_errors
from kinform.testing.api_errors import QualifiedName
from kinform.testing.formats import Encodings
from kinform.testing.interception import Call, Interception, Interceptor, Sink
from kinform.testing.requests import PageNotFoundError, RequestTarget, find_target
from kinform.testing.responses import common_headers, requests_pretty, send_body
from kinform.testing.server._discovery_pages import AGGREGATED_TYPE, DiscoveryPages
from kinform.testing.server._http_sink import HttpSink
from kinform.testing.storage import ClusterState
from kinform.testing.verbs import Caller, VerbHandlers

_log = logging.getLogger("kinform.testing")

ANONYMOUS = "system:anonymous"
REQUEST_LIMIT = 3 * 1024 * 1024
_HEALTH = frozenset({"/healthz", "/livez", "/readyz"})
_CHECKS = ("ping", "log", "etcd")
# The paths that anonymous users may access.
_OPEN = frozenset({*_HEALTH, "/version"})


class Frontend:
    """Handles requests. ``tokens`` maps tokens to users; ``None`` disables authentication."""

    def __init__(
        self,
        cluster: ClusterState,
        verbs: VerbHandlers,
        interceptor: Interceptor,
        tokens: Mapping[str, str] | None,
    ) -> None:
        self.tokens = None if tokens is None else dict(tokens)
        self._cluster = cluster
        self._verbs = verbs
        self._interceptor = interceptor
        self._discovery = DiscoveryPages(cluster.registry)
        self._encodings = Encodings()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Handle one request. Only raises on cancellation."""
        out = HttpSink(request)
        try:
            call, target = await self._parse(request)
        except web.HTTPRequestEntityTooLarge:
            await self._send_failure(out, api_errors.request_too_large(REQUEST_LIMIT))
        except ConnectionError:
            out.abort()
        else:
            await self._exchange(call, target, out)
        return out.response if out.response is not None else web.Response(status=500)

    async def _exchange(self, call: Call, target: RequestTarget, out: HttpSink) -> None:
        interception = self._interceptor.begin(call)
        try:
            sink = interception.sink(out)
            if not await interception.before(sink):
                await self._answer(interception, target, sink, out)
        except ConnectionError:
            out.abort()  # the client disconnected, or its connection was cut
        finally:
            interception.end()

    async def _parse(self, request: web.BaseRequest) -> tuple[Call, RequestTarget]:
        body = await request.read() if request.can_read_body else b""
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

    async def _answer(
        self, interception: Interception, target: RequestTarget, sink: Sink, out: HttpSink
    ) -> None:
        call = interception.call
        try:
            user = self._authenticate(call)
            interception.authenticated(user)
            self._authorize(call, target, user)
            if target.refusal is not None:
                raise target.refusal
            if target.served is not None:
                await self._verbs.answer(target, interception, sink, Caller(user, self._user_of))
            else:
                await self._answer_page(call, sink)
        except ApiError as error:
            await self._send_failure(sink, error, call)
        except PageNotFoundError:
            await _send_text(sink, "404 page not found\n", status=404)
        except (asyncio.CancelledError, ConnectionError):
            raise
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

    # Authentication and authorization

    def _authenticate(self, call: Call) -> str:
        """Return the user: anonymous without a token. An unknown token is refused."""
        if self.tokens is None:
            return ANONYMOUS
        scheme, _, token = call.headers.get("Authorization", "").partition(" ")
        if not scheme:
            return ANONYMOUS
        user = self._user_of(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise api_errors.unauthorized()
        return user

    def _user_of(self, token: str) -> str | None:
        return (self.tokens or {}).get(token)

    def _authorize(self, call: Call, target: RequestTarget, user: str) -> None:
        """Allow everything to authenticated users."""
        if self.tokens is None or user != ANONYMOUS:
            return
        if target.gvr is None:
            if call.path not in _OPEN:
                raise api_errors.forbidden_path(user, call.method.lower(), call.path)
            return
        scope = (
            f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
        )
        resource = target.gvr.resource
        if target.subresource:
            resource += f"/{target.subresource}"
        raise api_errors.forbidden(
            QualifiedName(target.gvr.group, target.gvr.resource),
            target.name,
            f'User "{user}" cannot {target.verb} resource "{resource}" '
            f'in API group "{target.gvr.group}" {scope}',
        )

    # Paths other than resources

    async def _answer_page(self, call: Call, sink: Sink) -> None:
        path = call.path.rstrip("/") or "/"
        if call.method != "GET" and self._is_page(path):
            raise api_errors.method_not_allowed()
        if path in _HEALTH:
            await _send_text(sink, _health(path, verbose="verbose" in call.query))
        elif path.startswith(tuple(f"{page}/" for page in _HEALTH)):
            if path.rpartition("/")[2] not in _CHECKS:
                raise PageNotFoundError
            await _send_text(sink, "ok")
        elif path == "/version":
            body = msgspec.json.format(msgspec.json.encode(self._discovery.version()), indent=2)
            await send_body(sink, 200, common_headers(), body)
        else:
            await self._answer_discovery(call, path, sink)

    async def _answer_discovery(self, call: Call, path: str, sink: Sink) -> None:
        discovery = self._discovery
        if path in ("/api", "/apis"):
            if discovery.requests_aggregated(call.headers.get("Accept", "")):
                await self._answer_aggregated(call, path, sink)
                return
            address = call.headers.get("Host", "")
            core = path == "/api"
            document = discovery.core_versions(address) if core else discovery.group_list()
        else:
            document = self._discovery_document(path)
        await _send_json(sink, msgspec.json.encode(document), call)

    def _is_page(self, path: str) -> bool:
        if path in ("/", "/version", "/api", "/apis", *_HEALTH):
            return True
        try:
            self._discovery_document(path)
        except (ApiError, PageNotFoundError):
            return False
        return True

    def _discovery_document(self, path: str) -> dict[str, Any]:
        segments = path.strip("/").split("/")
        match segments:
            case [""]:
                return self._discovery.paths()
            case ["api", version]:
                found = self._discovery.resource_list("", version)
            case ["apis", group]:
                found = self._discovery.group(group)
                if found is None:
                    raise PageNotFoundError
            case ["apis", group, version]:
                found = self._discovery.resource_list(group, version)
                registry = self._cluster.registry
                foreign = group not in registry.groups() or registry.serves_custom_group(group)
                if found is None and foreign:
                    raise PageNotFoundError
            case _:
                raise PageNotFoundError
        if found is None:
            raise api_errors.no_such_resource()
        return found

    async def _answer_aggregated(self, call: Call, path: str, sink: Sink) -> None:
        body, tag = self._discovery.aggregated(path)
        headers = {
            **common_headers(AGGREGATED_TYPE),
            "Cache-Control": "public",
            "Etag": tag,
            "Vary": "Accept",
        }
        if call.headers.get("If-None-Match") == tag:
            await sink.start(304, headers)
            await sink.finish()
            return
        await send_body(sink, 200, headers, body)


def _health(path: str, *, verbose: bool) -> str:
    if not verbose:
        return "ok"
    checks = "".join(f"[+]{check} ok\n" for check in _CHECKS)
    return f"{checks}{path.strip('/')} check passed\n"


async def _send_text(sink: Sink, text: str, *, status: int = 200) -> None:
    headers = common_headers("text/plain; charset=utf-8")
    headers["X-Content-Type-Options"] = "nosniff"
    await send_body(sink, status, headers, text.encode())


async def _send_json(sink: Sink, body: bytes, call: Call) -> None:
    if requests_pretty(call.query, call.headers):
        body = msgspec.json.format(body, indent=2)
    else:
        body += b"\n"
    await send_body(sink, 200, common_headers(), body)
