"""Discovery: the resources of a server, cached, and refreshed when one is missing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import msgspec

from kinform.api import GVK, GVR, ApiResource
from kinform.client._discovery_documents import (
    AGGREGATED,
    parse_aggregated,
    parse_group_versions,
    parse_resource_list,
)
from kinform.client._paths import group_version_path
from kinform.client._retrying_sender import RetryingSender
from kinform.client._suggestions import suggest_kind, suggest_resource
from kinform.errors import (
    ApiError,
    DecodeError,
    DiscoveryError,
    InvalidNameError,
    KinformError,
    NoMatchError,
    NotFoundError,
    StateError,
    TransportError,
)
from kinform.transport import Request

logger = logging.getLogger("kinform.client")

_PLAIN = {"Accept": "application/json"}

Name = TypeVar("Name", GVR, GVK)


class Discovery:
    """Maps kinds to resources and scopes, for all resources of the server.

    Read at first use, with one request per API root if the server supports aggregated discovery,
    otherwise with one per group-version. Then served from memory; a miss triggers one refresh,
    since a CRD may be new.
    """

    def __init__(self, sender: RetryingSender) -> None:
        self._sender = sender
        self._roots = {"/api": _Root(), "/apis": _Root()}
        self._resources: dict[GVR, ApiResource] = {}
        self._kinds: dict[GVK, ApiResource] = {}
        self._reading: asyncio.Future[None] | None = None
        self._read_once = False
        self._closed = False

    async def resources(self) -> tuple[ApiResource, ...]:
        """Return all resources, in the server's order of preference.

        Raises:
            DiscoveryError: Discovery failed.
        """
        if not self._read_once:
            await self.refresh()
        return tuple(self._resources.values())

    async def for_resource(self, gvr: GVR) -> ApiResource:
        """Return the kind, scope and verbs of a resource.

        Raises:
            NoMatchError: The resource does not exist; the message suggests similar ones.
        """
        if not isinstance(gvr, GVR):
            raise InvalidNameError(f"{gvr!r} is not a GVR; pass GVR.parse('apps/v1/deployments')")
        found = await self._look_up(gvr, lambda: self._resources)
        if found is None:
            hint = suggest_resource(gvr, self._resources.values())
            raise NoMatchError(f"the server has no resource {gvr}{hint}")
        return found

    async def for_kind(self, gvk: GVK) -> ApiResource:
        """Return the resource of a kind.

        Raises:
            NoMatchError: The kind does not exist; the message suggests similar ones.
        """
        if not isinstance(gvk, GVK):
            raise InvalidNameError(f"{gvk!r} is not a GVK; pass GVK('apps', 'v1', 'Deployment')")
        found = await self._look_up(gvk, lambda: self._kinds)
        if found is None:
            hint = suggest_kind(gvk, self._resources.values())
            raise NoMatchError(f"the server has no kind {gvk}{hint}")
        return found

    async def _look_up(
        self, name: Name, known: Callable[[], Mapping[Name, ApiResource]]
    ) -> ApiResource | None:
        if name not in known():
            joined = self._reading is not None
            await self.refresh()
            if joined and name not in known():
                # The joined refresh may have started before the resource was created.
                await self.refresh()
        return known().get(name)

    async def refresh(self) -> None:
        """Read discovery again. Concurrent callers share one refresh.

        Raises:
            DiscoveryError: The response is not valid discovery; the cached resources are kept.
            TransportError: The server did not respond; the cached resources are kept.
        """
        if self._closed:
            raise StateError("the client is closed")
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._read())
            self._reading.add_done_callback(self._reading_done)
        reading = self._reading
        try:
            # Cancelling one caller must not cancel the refresh for the others.
            await asyncio.shield(reading)
        except asyncio.CancelledError:
            if reading.cancelled() and not _is_being_cancelled():
                raise StateError("the client was closed during discovery") from None
            raise

    def _reading_done(self, reading: asyncio.Future[None]) -> None:
        self._reading = None
        if not reading.cancelled():
            reading.exception()  # mark as retrieved: there may be no caller left to raise it in

    async def close(self) -> None:
        """Stop reading; waiting callers get a StateError. Idempotent."""
        self._closed = True
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self) -> None:
        try:
            answered = [await self._read_root(path, root) for path, root in self._roots.items()]
        except (ApiError, DecodeError) as error:
            raise DiscoveryError(f"discovery failed: {error}") from error
        if not any(answered):
            raise DiscoveryError(
                f"the server has neither {' nor '.join(self._roots)}; is the address correct?"
            )
        found = [resource for root in self._roots.values() for resource in root.resources]
        self._resources = {resource.gvr: resource for resource in found}
        self._kinds = {}
        for resource in found:
            self._kinds.setdefault(resource.gvk, resource)
        self._read_once = True

    async def _read_root(self, path: str, root: _Root) -> bool:
        """Read one root; return false if it does not exist: extension servers have no ``/api``."""
        headers = {"Accept": f"{AGGREGATED},application/json"}
        if root.etag:
            headers["If-None-Match"] = root.etag
        try:
            response, body = await self._sender.fetch(Request("GET", path, headers=headers))
        except NotFoundError:
            root.resources, root.etag = [], ""
            return False
        if response.status == 304:
            return True
        aggregated = parse_aggregated(body, known=root.resources)
        if aggregated is not None:
            root.resources, root.etag = aggregated, response.headers.get("ETag", "")
        else:
            root.resources = await self._read_group_versions(parse_group_versions(body))
            root.etag = ""
        return True

    async def _read_group_versions(
        self, group_versions: Iterable[tuple[str, str]]
    ) -> list[ApiResource]:
        """Read legacy discovery, by group-version. One failure must not hide the others."""
        found: list[ApiResource] = []
        failures: list[KinformError] = []
        wanted = list(group_versions)
        for group, version in wanted:
            request = Request("GET", group_version_path(group, version), headers=_PLAIN)
            try:
                _, body = await self._sender.fetch(request)
                found.extend(parse_resource_list(group, version, body))
            except (ApiError, DecodeError, TransportError) as error:
                failures.append(error)
                logger.warning("discovery: skipping %s/%s: %s", group or "core", version, error)
                found.extend(
                    known
                    for known in self._resources.values()
                    if (known.gvr.group, known.gvr.version) == (group, version)
                )
        if failures and len(failures) == len(wanted):
            raise failures[-1]
        return found


class _Root(msgspec.Struct):
    """The last response of one of the two API roots."""

    resources: list[ApiResource] = []
    etag: str = ""


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
