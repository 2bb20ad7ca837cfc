"""What the server says it has, kept, and asked again when something is missing from it."""

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
from kinform.client._exchange import Exchange
from kinform.client._paths import group_version_path
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
    """Kind ↔ resource ↔ scope, for everything the server has.

    Read on first use, in one request per root where the server aggregates, else group by
    group. Looked up from memory after that; a miss reads it again, once, for a CRD may be new.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._roots = {"/api": _Root(), "/apis": _Root()}
        self._resources: dict[GVR, ApiResource] = {}
        self._kinds: dict[GVK, ApiResource] = {}
        self._reading: asyncio.Future[None] | None = None
        self._read_once = False
        self._closed = False

    async def resources(self) -> tuple[ApiResource, ...]:
        """Everything the server has, in its own order of preference.

        Raises:
            DiscoveryError: It could not be read.
        """
        if not self._read_once:
            await self.refresh()
        return tuple(self._resources.values())

    async def for_resource(self, gvr: GVR) -> ApiResource:
        """Kind, scope and verbs of a resource.

        Raises:
            NoMatchError: The server has no such resource; the message suggests near ones.
        """
        if not isinstance(gvr, GVR):
            raise InvalidNameError(f"{gvr!r} is no GVR; GVR.parse('apps/v1/deployments') makes one")
        found = await self._look_up(gvr, lambda: self._resources)
        if found is None:
            hint = suggest_resource(gvr, self._resources.values())
            raise NoMatchError(f"the server has no resource {gvr}{hint}")
        return found

    async def for_kind(self, gvk: GVK) -> ApiResource:
        """The resource whose objects are of this kind.

        Raises:
            NoMatchError: The server has no such kind; the message suggests near ones.
        """
        if not isinstance(gvk, GVK):
            raise InvalidNameError(f"{gvk!r} is no GVK; GVK('apps', 'v1', 'Deployment') is one")
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
                # A reading that began before us may have missed what was new before us.
                await self.refresh()
        return known().get(name)

    async def refresh(self) -> None:
        """Ask the server again. Concurrent callers share one reading.

        Raises:
            DiscoveryError: The server did not answer with it; what was known before stays.
            TransportError: The server did not answer; what was known before stays.
        """
        if self._closed:
            raise StateError("the client is closed")
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._read())
            self._reading.add_done_callback(self._reading_done)
        reading = self._reading
        try:
            # One caller's cancellation must not cancel the others' reading.
            await asyncio.shield(reading)
        except asyncio.CancelledError:
            if reading.cancelled() and not _is_being_cancelled():
                raise StateError("the client was closed while it read what there is") from None
            raise

    def _reading_done(self, reading: asyncio.Future[None]) -> None:
        self._reading = None
        if not reading.cancelled():
            reading.exception()  # every waiter may be gone; it is not lost, the next one asks again

    async def close(self) -> None:
        """Stop reading; callers that wait for it get a StateError. Idempotent."""
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
                f"the server has neither {' nor '.join(self._roots)}; is its address right?"
            )
        found = [resource for root in self._roots.values() for resource in root.resources]
        self._resources = {resource.gvr: resource for resource in found}
        self._kinds = {}
        for resource in found:
            self._kinds.setdefault(resource.gvk, resource)
        self._read_once = True

    async def _read_root(self, path: str, root: _Root) -> bool:
        """Whether there is such a root: a server of extensions alone has no ``/api``."""
        headers = {"Accept": f"{AGGREGATED},application/json"}
        if root.etag:
            headers["If-None-Match"] = root.etag
        try:
            response, body = await self._exchange.fetch(Request("GET", path, headers=headers))
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
        """The old way: one request a group-version. A failing one must not hide the others."""
        found: list[ApiResource] = []
        failures: list[KinformError] = []
        wanted = list(group_versions)
        for group, version in wanted:
            request = Request("GET", group_version_path(group, version), headers=_PLAIN)
            try:
                _, body = await self._exchange.fetch(request)
                found.extend(parse_resource_list(group, version, body))
            except (ApiError, DecodeError, TransportError) as error:
                failures.append(error)
                logger.warning("discovery: %s/%s is left out: %s", group or "core", version, error)
                found.extend(
                    known
                    for known in self._resources.values()
                    if (known.gvr.group, known.gvr.version) == (group, version)
                )
        if failures and len(failures) == len(wanted):
            raise failures[-1]
        return found


class _Root(msgspec.Struct):
    """What one of the two roots of the API said last."""

    resources: list[ApiResource] = []
    etag: str = ""


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
