"""The paths other than resources: health, version and discovery."""

from __future__ import annotations

from typing import Any

import msgspec

from kinform.errors import ApiError
from kinform.testing import api_errors
from kinform.testing.interception import Call, Sink
from kinform.testing.requests import PageNotFoundError
from kinform.testing.resources import ResourceRegistry
from kinform.testing.responses import common_headers, requests_pretty, send_body
from kinform.testing.server._api_discovery import AGGREGATED_TYPE, ApiDiscovery

HEALTH_PATHS = frozenset({"/healthz", "/livez", "/readyz"})
_CHECKS = ("ping", "log", "etcd")


class Pages:
    """The pages of a server that are not resources."""

    def __init__(self, registry: ResourceRegistry) -> None:
        self._registry = registry
        self._discovery = ApiDiscovery(registry)

    async def send(self, call: Call, sink: Sink) -> None:
        """Send the page at the path of a call.

        Raises:
            PageNotFoundError: The page does not exist.
            ApiError: The method is not allowed, or the group-version is not served.
        """
        path = call.path.rstrip("/") or "/"
        if call.method != "GET" and self._is_page(path):
            raise api_errors.method_not_allowed()
        if path in HEALTH_PATHS:
            await send_text(sink, _health(path, verbose="verbose" in call.query))
        elif path.startswith(tuple(f"{page}/" for page in HEALTH_PATHS)):
            if path.rpartition("/")[2] not in _CHECKS:
                raise PageNotFoundError
            await send_text(sink, "ok")
        elif path == "/version":
            body = msgspec.json.format(msgspec.json.encode(self._discovery.version()), indent=2)
            await send_body(sink, 200, common_headers(), body)
        else:
            await self._send_discovery(call, path, sink)

    async def _send_discovery(self, call: Call, path: str, sink: Sink) -> None:
        discovery = self._discovery
        if path in ("/api", "/apis"):
            if discovery.requests_aggregated(call.headers.get("Accept", "")):
                await self._send_aggregated(call, path, sink)
                return
            address = call.headers.get("Host", "")
            core = path == "/api"
            document = discovery.core_versions(address) if core else discovery.group_list()
        else:
            document = self._discovery_document(path)
        await _send_json(sink, msgspec.json.encode(document), call)

    def _is_page(self, path: str) -> bool:
        if path in ("/", "/version", "/api", "/apis", *HEALTH_PATHS):
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
                registry = self._registry
                foreign = group not in registry.groups() or registry.serves_custom_group(group)
                if found is None and foreign:
                    raise PageNotFoundError
            case _:
                raise PageNotFoundError
        if found is None:
            raise api_errors.no_such_resource()
        return found

    async def _send_aggregated(self, call: Call, path: str, sink: Sink) -> None:
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


async def send_text(sink: Sink, text: str, *, status: int = 200) -> None:
    headers = common_headers("text/plain; charset=utf-8")
    headers["X-Content-Type-Options"] = "nosniff"
    await send_body(sink, status, headers, text.encode())


async def _send_json(sink: Sink, body: bytes, call: Call) -> None:
    if requests_pretty(call.query, call.headers):
        body = msgspec.json.format(body, indent=2)
    else:
        body += b"\n"
    await send_body(sink, 200, common_headers(), body)
