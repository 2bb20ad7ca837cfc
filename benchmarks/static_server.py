"""Serves lists and watches of pods that were encoded beforehand, as fast as a socket accepts them.

Supports two requests: a list of pods (``limit``, ``continue``) and a watch of pods. Uses plain
HTTP on loopback, and prints its port when it is ready.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from benchmarks.pods import list_items, watch_lines

_ITEMS_AT_ONCE = 500
_DISTINCT_EVENTS = 2000
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@dataclass(frozen=True, slots=True)
class StaticServer:
    """What it sends: the items of the list, and the chunks of a watch in HTTP's framing."""

    items: list[bytes]
    chunks: list[bytes]
    events: int

    @classmethod
    def prepare(cls, *, objects: int, events: int) -> StaticServer:
        # A server flushes after every event, so each one is a chunk of its own.
        lines = watch_lines(min(events, _DISTINCT_EVENTS))
        chunks = [b"%x\r\n%s\r\n" % (len(line), line) for line in lines]
        return cls(list(list_items(objects)), chunks, events)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                target = urlsplit(request.split(b" ", 2)[1].decode())
                query = {key: values[0] for key, values in parse_qs(target.query).items()}
                watching = query.get("watch", "").lower() == "true"
                answer = self._watch() if watching else self._list(query)
                for piece in answer:
                    writer.write(piece)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has left
        finally:
            writer.close()

    def _list(self, query: dict[str, str]) -> Iterator[bytes]:
        start = int(query.get("continue", 0))
        limit = int(query.get("limit", 0)) or len(self.items)
        page = self.items[start : start + limit]
        left = len(self.items) - start - len(page)
        more = b',"continue":"%d","remainingItemCount":%d' % (start + limit, left) if left else b""
        opening = (
            b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"999999"%s},'
            b'"items":[' % more
        )
        size = len(opening) + sum(map(len, page)) + max(len(page) - 1, 0) + len(b"]}")
        yield _HEAD + b"Content-Length: %d\r\n\r\n" % size + opening
        for first in range(0, len(page), _ITEMS_AT_ONCE):
            comma = b"," if first else b""
            yield comma + b",".join(page[first : first + _ITEMS_AT_ONCE])
        yield b"]}"

    def _watch(self) -> Iterator[bytes]:
        yield _HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
        yield from itertools.islice(itertools.cycle(self.chunks), self.events)
        yield b"0\r\n\r\n"


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("objects", "events"):
        parser.add_argument(f"--{option}", type=int, required=True)
    prepared = StaticServer.prepare(**vars(parser.parse_args()))
    server = await asyncio.start_server(prepared.serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
