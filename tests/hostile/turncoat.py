"""A script that is hostile to some requests at first, and good to all of them later."""

from __future__ import annotations

import asyncio

from tests.hostile.hostile_answers import POD, Answer, TlsAnswer, event, pod
from tests.hostile.raw_server import TlsConnection, Writer

STAGES = ("streamed", "paged", "watched")
"""Namespaces in which only one kind of request gets the hostile answer; elsewhere all do."""

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
_LIST = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[%b]}'
_REFUSAL = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
_LATE = event(b"ADDED", pod(name="late", resourceVersion="2"))


class Turncoat:
    """Sends the hostile answer until ``is_good`` is set; then a pod ``a``, and a pod ``late``.

    Attributes:
        is_good: Set it to make the server good.
        hostile: The stages that received a hostile answer.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.is_good = asyncio.Event()
        self.hostile: set[str] = set()

    def greeting(self) -> bytes:
        """Return what to send instead of a TLS handshake."""
        if self.is_good.is_set() or not isinstance(self._answer, TlsAnswer):
            return b""
        if self._answer.greeting:
            self.hostile.update(STAGES)
        return self._answer.greeting

    async def __call__(self, head: bytes, writer: Writer) -> None:
        stage = _stage_of(head)
        if self.is_good.is_set() or not _is_concerned(stage, head):
            await self._answer_well(head, writer)
            return
        self.hostile.add(stage)
        if isinstance(self._answer, TlsAnswer):
            assert isinstance(writer, TlsConnection)
            await self._answer_below_tls(self._answer, writer)
        else:
            writer.write(self._answer.first)
            await self._repeat(self._answer.then, writer)

    async def _answer_below_tls(self, answer: TlsAnswer, connection: TlsConnection) -> None:
        connection.notifies = False
        if answer.single_bytes:
            records = b"".join(connection.encrypt(bytes([each])) for each in answer.first)
        else:
            records = connection.encrypt(answer.first) if answer.first else b""
        sent = records[: len(records) - answer.missing]
        connection.tcp.write(sent * (2 if answer.repeats_records else 1) + answer.bare)
        await self._repeat(answer.bare_then, connection.tcp)

    async def _repeat(self, data: bytes, writer: Writer) -> None:
        while data and not self.is_good.is_set():
            writer.write(data)
            await writer.drain()
            await asyncio.sleep(0.001)

    async def _answer_well(self, head: bytes, writer: Writer) -> None:
        if b"sendInitialEvents" in head:
            writer.write(_REFUSAL)
            return
        writer.write(_HEAD)
        if b"watch=true" not in head:
            writer.write(_LIST % POD)
            return
        await writer.drain()
        if not self.is_good.is_set():
            await self.is_good.wait()  # then the client has to watch again
            return
        writer.write(_LATE)
        await writer.drain()
        await asyncio.sleep(60)


def _stage_of(head: bytes) -> str:
    return next((each for each in STAGES if b"/namespaces/%b/" % each.encode() in head), "")


def _is_concerned(stage: str, head: bytes) -> bool:
    streams = b"sendInitialEvents" in head
    watches = b"watch=true" in head and not streams
    concerned = {"streamed": streams, "paged": not (streams or watches), "watched": watches}
    return concerned.get(stage, True)
