"""Older or unusual servers: parameters they ignore, and other forms of resource versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from kinform.testing.faults._fault import (
    WATCH,
    Fault,
    Hooks,
    starts_with_initial_events,
)
from kinform.testing.faults._json_edits import with_resource_versions
from kinform.testing.interception import Call, ListResponse, Sink, SinkWrapper, WatchFrame

_HUGE = 2**64


def ignore_parameters(*names: str) -> Fault:
    """Ignore these parameters, like a server that does not know them."""

    def without(call: Call) -> Call:
        query = {name: value for name, value in call.query.items() if name not in names}
        return replace(call, query=query)

    return Fault(f"ignore {' '.join(names)}", lambda call, hits: Hooks(call=without))


def ignore_shard_selector() -> Fault:
    """Ignore the shard selector, and respond to a sharded request with all objects."""
    return replace(ignore_parameters("shardSelector"), name="ignore shard selector")


def ignore_initial_events() -> Fault:
    """Behave like a server before WatchList: ADDED for all objects, and no bookmark after them."""
    ignored = ignore_parameters("sendInitialEvents", "resourceVersionMatch", "allowWatchBookmarks")
    return replace(
        ignored,
        name="ignore initial events",
        verbs=WATCH,
        applies_to=starts_with_initial_events,
    )


def ignore_metadata_accept() -> Fault:
    """Send whole objects to clients that request metadata only."""

    def plain(call: Call) -> Call:
        headers = {name: call.headers[name] for name in call.headers if name.lower() != "accept"}
        return replace(call, headers={**headers, "Accept": "application/json"})

    return Fault("ignore metadata accept", lambda call, hits: Hooks(call=plain))


def opaque_resource_versions(prefix: str = "rv-") -> Fault:
    """Use resource versions that are not numbers and can only be compared for equality.

    Inject it with ``times=None``, so that the client can use the versions it received.
    """
    return _renumbered(
        "opaque resource versions",
        to_client=lambda version: prefix + version,
        from_client=lambda version: version.removeprefix(prefix),
    )


def huge_resource_versions() -> Fault:
    """Use resource versions above 2^64. Inject it with ``times=None``."""
    return _renumbered(
        "huge resource versions",
        to_client=lambda version: str(int(version) + _HUGE),
        # The server reports a better error for versions that are not numbers.
        from_client=lambda version: (
            str(max(0, int(version) - _HUGE)) if version.isdecimal() else version
        ),
    )


def _renumbered(
    name: str, *, to_client: Callable[[str], str], from_client: Callable[[str], str]
) -> Fault:
    def outward(body: bytes) -> bytes:
        return with_resource_versions(body, to_client)

    def asked(call: Call) -> Call:
        query = dict(call.query)
        if query.get("resourceVersion", "") not in ("", "0"):
            query["resourceVersion"] = from_client(query["resourceVersion"])
        return replace(call, query=query, body=with_resource_versions(call.body, from_client))

    def frames(frame: WatchFrame) -> tuple[WatchFrame]:
        return (replace(frame, object=outward(frame.object)),)

    def listing(response: ListResponse) -> ListResponse:
        metadata = dict(response.metadata)
        metadata["resourceVersion"] = to_client(metadata["resourceVersion"])
        return replace(response, metadata=metadata, items=map(outward, response.items))

    def hooks(call: Call, hits: int) -> Hooks:
        if call.verb == "watch":
            return Hooks(call=asked, frames=frames)
        if call.verb == "list":
            return Hooks(call=asked, listing=listing)
        return Hooks(call=asked, sink=lambda sink: _RewrittenBody(sink, outward))

    return Fault(name, hooks)


class _RewrittenBody(SinkWrapper):
    """Buffers a short response until it is complete, and sends a changed one."""

    def __init__(self, sink: Sink, rewrite: Callable[[bytes], bytes]) -> None:
        super().__init__(sink)
        self._rewrite = rewrite
        self._head: tuple[int, Mapping[str, str]] = (0, {})
        self._body = bytearray()

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        self._head = (status, headers)

    async def write(self, data: bytes) -> None:
        self._body += data

    async def finish(self) -> None:
        status, headers = self._head
        body = self._rewrite(bytes(self._body))
        kept = {name: headers[name] for name in headers if name.lower() != "content-length"}
        await super().start(status, {**kept, "Content-Length": str(len(body))})
        await super().write(body)
        await super().finish()
