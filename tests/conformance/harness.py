"""Requests in, answers and watch events out: plain HTTP, so that it can judge any server."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from kinform.api import GVK
from kinform.protobuf import UnwrappedBody, codec_for, read_event, read_kind, unwrap, wrap

JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

# For tests of what a server says, in whichever form it says it.
IN_BOTH_FORMS = pytest.mark.parametrize("wire_format", ["json", "protobuf"], indirect=True)

# No answer of ours takes longer: the slowest is the 3 s wait for a version of the future.
PATIENCE = 10.0

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """One complete answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    asked_for: str = JSON

    def json(self) -> Any:
        if self.headers["Content-Type"] == PROTOBUF:
            return decoded(unwrap(self.body))
        return json.loads(self.body)

    def object(self, status: int = 200) -> Json:
        """The body, after checking that the request went well."""
        assert self.status == status, self.body
        found = self.json()
        assert isinstance(found, dict)
        return found


class Watch:
    """An open watch, one event at a time."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._content = response.content
        self._buffer = b""

    async def event(self) -> Json:
        """The next event; fails when the stream ends instead."""
        found = await self._next()
        assert found, "the server ended the watch"
        return found

    async def events(self, count: int) -> list[Json]:
        return [await self.event() for _ in range(count)]

    async def rest(self) -> list[Json]:
        """Every event until the server ends the watch."""
        found = []
        while event := await self._next():
            found.append(event)
        return found

    async def _next(self) -> Json | None:
        if self.headers["Content-Type"] == f"{PROTOBUF};stream=watch":
            if not (frame := await self._framed()):
                return None
            type_, kind, raw = read_event(frame)
            return {"type": type_, "object": decoded(UnwrappedBody(*read_kind(kind), raw))}
        line = await self._until(lambda: self._buffer.find(b"\n") + 1)
        found: Json | None = json.loads(line) if line else None
        return found

    async def _framed(self) -> bytes:
        length = await self._until(lambda: 4 if len(self._buffer) >= 4 else 0)
        size = int.from_bytes(length, "big")
        return await self._until(lambda: size if len(self._buffer) >= size else 0) if size else b""

    async def _until(self, end: Callable[[], int]) -> bytes:
        """What has been read up to there, once it has; nothing if the stream ends."""
        async with asyncio.timeout(PATIENCE):
            while not (size := end()):
                chunk = await self._content.readany()
                if not chunk:
                    assert not self._buffer, "the watch ended inside an event"
                    return b""
                self._buffer += chunk
        found, self._buffer = self._buffer[:size], self._buffer[size:]
        return found


class Server:
    """The server on trial, seen through one session with an admin's token."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        *,
        token: str,
        forget_history: Callable[[], Awaitable[None]],
        wire_format: str = "json",
    ) -> None:
        self._binary = wire_format == "protobuf"
        self._session = session
        self._token = token
        self._forget_history = forget_history

    async def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        params: Mapping[str, Any] | None = None,
        accept: str = "",
        content_type: str = JSON,
        token: str | None = "",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send bytes as they are, objects in the server's form. ``token=None`` sends none."""
        accept = accept or self._accept
        if self._binary and content_type == JSON and (packed := _as_protobuf(body)):
            body, content_type = packed, PROTOBUF
        async with (
            asyncio.timeout(PATIENCE),
            self._session.request(
                method,
                path,
                data=None if body is None else _encoded(body),
                params=params,
                headers={
                    "Accept": accept,
                    **({} if body is None else {"Content-Type": content_type}),
                    **self._authorization(token),
                    **(headers or {}),
                },
            ) as response,
        ):
            form = PROTOBUF if accept.startswith(f"{PROTOBUF},") else JSON
            return Answer(response.status, response.headers, await response.read(), form)

    async def get(self, path: str, *, accept: str = "", **params: Any) -> Answer:
        return await self.request("GET", path, params=params, accept=accept)

    async def post(self, path: str, body: object, **params: Any) -> Answer:
        return await self.request("POST", path, body, params=params)

    async def put(self, path: str, body: object, **params: Any) -> Answer:
        return await self.request("PUT", path, body, params=params)

    async def patch(
        self, path: str, body: object, *, content_type: str = MERGE_PATCH, **params: Any
    ) -> Answer:
        return await self.request("PATCH", path, body, params=params, content_type=content_type)

    async def delete(self, path: str, body: object = None, **params: Any) -> Answer:
        return await self.request("DELETE", path, body, params=params)

    async def create(self, path: str, body: Json) -> Json:
        """Create it or fail; the object as stored."""
        return (await self.post(path, body)).object(201)

    async def read(self, path: str, **params: Any) -> Json:
        """Get or list it or fail."""
        return (await self.get(path, **params)).object()

    async def edit(self, path: str, change: Json) -> Json:
        """Merge-patch it or fail; the object as stored."""
        return (await self.patch(path, change)).object()

    @asynccontextmanager
    async def watch(
        self,
        path: str,
        *,
        accept: str = "",
        headers: Mapping[str, str] | None = None,
        **params: Any,
    ) -> AsyncIterator[Watch]:
        async with self._session.get(
            path,
            params={"watch": "true", **params},
            headers={
                "Accept": accept or self._accept,
                **self._authorization(""),
                **(headers or {}),
            },
        ) as response:
            assert response.status == 200, await response.read()
            try:
                yield Watch(response)
            finally:
                await _hang_up(response)

    async def new_namespace(self) -> str:
        # Nobody removes them: without controllers a real server keeps them as Terminating,
        # and both servers are thrown away when their tests are done.
        name = f"conformance-{secrets.token_hex(4)}"
        await self.create("/api/v1/namespaces", {"metadata": {"name": name}})
        return name

    async def forget_history(self) -> None:
        """Make every resource version before now one that is too old, at least for events."""
        await self._forget_history()

    async def eventually(self, holds: Callable[[], Awaitable[bool]], *, what: str) -> None:
        """Poll until it holds: for what a real server does a moment after it has answered."""
        deadline = time.monotonic() + PATIENCE
        while not await holds():
            assert time.monotonic() < deadline, f"not within {PATIENCE:g} s: {what}"
            await asyncio.sleep(0.02)

    @property
    def _accept(self) -> str:
        return f"{PROTOBUF},{JSON}" if self._binary else JSON

    def _authorization(self, token: str | None) -> dict[str, str]:
        if token is None:
            return {}
        return {"Authorization": f"Bearer {token or self._token}"}


async def _hang_up(response: aiohttp.ClientResponse) -> None:
    """Cut an unfinished stream off now: a polite TLS farewell would outlive the event loop."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
        await asyncio.sleep(0)


def _encoded(body: object) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def decoded(found: UnwrappedBody) -> Json:
    """What was in protobuf, as the server's JSON has it."""
    kind = {"kind": found.kind, "apiVersion": found.api_version}
    codec = codec_for(GVK.of(found.api_version, found.kind))
    assert codec is not None, kind
    tree = {**kind, **codec.decode(found.raw)}
    if found.kind.endswith("List"):
        tree["items"] = tree["items"] or []
    return tree


def _as_protobuf(body: object) -> bytes:
    """An object that says that it is of a built-in kind, as protobuf."""
    if not isinstance(body, dict) or not (body.get("apiVersion") and body.get("kind")):
        return b""
    codec = codec_for(GVK.of(body["apiVersion"], body["kind"]))
    return wrap(body["apiVersion"], body["kind"], codec.encode(body)) if codec else b""


def names(listed: Json) -> list[str]:
    """The names in a list, in its order."""
    return [item["metadata"]["name"] for item in listed["items"]]


def version(found: Json) -> int:
    """The resource version of an object, a list or a watch event, for comparing."""
    return int(found.get("object", found)["metadata"]["resourceVersion"])


def told(event: Json) -> tuple[str, str]:
    """What an event says: its type and the object's name (empty in a bookmark)."""
    return event["type"], event["object"]["metadata"].get("name", "")


async def version_now(server: Server, path: str) -> str:
    """The resource version of a list, as a watch of the same path starts from it."""
    now: str = (await server.read(path))["metadata"]["resourceVersion"]
    return now


def assert_refused(
    answer: Answer,
    code: int,
    reason: str | None,
    message: str | None = None,
    *,
    details: Json | None = None,
) -> Json:
    """A failure says so with a complete ``Status``; give back its body."""
    assert answer.status == code, answer.body
    assert answer.headers["Content-Type"] == answer.asked_for
    body = answer.json()
    assert_failure(body, code, reason, message, details=details)
    assert isinstance(body, dict)
    return body


def assert_failure(
    status: Json,
    code: int,
    reason: str | None,
    message: str | None = None,
    *,
    details: Json | None = None,
) -> None:
    """Check a ``Status``, wherever it came from."""
    assert status["kind"] == "Status"
    assert status["apiVersion"] == "v1"
    assert isinstance(status["metadata"], dict)
    assert status["status"] == "Failure"
    assert status["code"] == code
    assert status.get("reason") == reason
    if message is None:
        assert status["message"]
    else:
        assert status["message"] == message
    if details is not None:
        assert status["details"] == details
