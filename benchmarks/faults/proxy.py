"""A TCP proxy with faults: one port per watcher, one API server behind them all.

    python benchmarks/faults/proxy.py <port of the API server> <number of ports>

Prints its ports as one line of JSON. Each line of JSON that it reads is a command, applied to all
ports at the same instant, and answered by one line: ``{"at": <CLOCK_MONOTONIC ns>}``.

    {"do": "reset", "share": 0.5, "seed": 7}   RST to that share of the connections
    {"do": "half_open"}                        silence the connections of the moment for ever
    {"do": "stall"}, {"do": "resume"}          forward nothing for a while
    {"do": "refuse"}, {"do": "accept"}         reset everything and close the ports; listen again
    {"do": "set", "cut_after": 65536}          change ``Conditions``
    {"do": "stats"}                            answers with the counters of each port as well
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from benchmarks.faults.link import Conditions, Counters, End, Link

_HOST = "127.0.0.1"
# Below the ephemeral ports: a client that tries again and again to connect to a closed port above
# connects to itself one day.
_FIRST_PORT, _LAST_PORT = 20_000, 32_000
_PORT_ATTEMPTS = 100

Command = dict[str, Any]


class Port:
    """The listening port of one watcher."""

    def __init__(self, server_port: int, conditions: Conditions) -> None:
        self.number = 0
        self.counters = Counters()
        self.links: set[Link] = set()
        self._server_port = server_port
        self._conditions = conditions
        self._listener: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self) -> None:
        """On the same port as before, if there was one."""
        if self._listener is not None:
            return
        loop = asyncio.get_running_loop()
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            number = self.number or random.randint(_FIRST_PORT, _LAST_PORT)
            try:
                self._listener = await loop.create_server(self._accept, _HOST, number)
            except OSError:
                if attempt == _PORT_ATTEMPTS:
                    raise
                await asyncio.sleep(0.01)
            else:
                self.number = number
                return

    def refuse(self) -> None:
        """Close the port, so that the kernel refuses connections."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _accept(self) -> End:
        link = Link(self._conditions, self.counters, self.links.discard)
        link.client.hold("connect", True)
        self.links.add(link)
        task = asyncio.ensure_future(self._connect(link))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return link.client

    async def _connect(self, link: Link) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: link.server, _HOST, self._server_port)
        except OSError:
            link.client.reset()
            return
        if not link.is_open:
            link.server.reset()  # the client is gone already
            return
        link.open()
        link.client.hold("connect", False)


class Proxy:
    """All ports, and the faults that they share."""

    def __init__(self, server_port: int, ports: int) -> None:
        self._conditions = Conditions()
        self.ports = [Port(server_port, self._conditions) for _ in range(ports)]

    async def start(self) -> list[int]:
        for port in self.ports:
            await port.listen()
        return [port.number for port in self.ports]

    async def obey(self, command: Command) -> dict[str, Any]:
        """Apply one command; the answer says when that was."""
        action = command["do"]
        at = time.monotonic_ns()
        if action == "stats":
            return {"at": at, "ports": [self._stats(port) for port in self.ports]}
        if action == "accept":
            for port in self.ports:
                await port.listen()
            return {"at": time.monotonic_ns()}
        self._ACTIONS[action](self, command)
        return {"at": at}

    def _reset(self, command: Command) -> None:
        for port in self.ports:
            for link in chosen(list(port.links), command["share"], command["seed"]):
                link.reset()

    def _half_open(self, command: Command) -> None:
        for port in self.ports:
            for link in port.links:
                link.silence()

    def _stall(self, command: Command) -> None:
        self._set({"stalled": True})

    def _resume(self, command: Command) -> None:
        self._set({"stalled": False})

    def _refuse(self, command: Command) -> None:
        for port in self.ports:
            port.refuse()
        self._reset({"share": 1.0, "seed": 0})

    def _set(self, command: Command) -> None:
        for name, value in command.items():
            if name != "do":
                setattr(self._conditions, name, value)
        for port in self.ports:
            for link in port.links:
                link.apply_conditions()

    _ACTIONS: ClassVar[dict[str, Callable[[Proxy, Command], None]]] = {
        "reset": _reset,
        "half_open": _half_open,
        "stall": _stall,
        "resume": _resume,
        "refuse": _refuse,
        "set": _set,
    }

    @staticmethod
    def _stats(port: Port) -> dict[str, int]:
        counters = port.counters
        return {
            "connections": counters.connections,
            "to_client": counters.to_client,
            "to_server": counters.to_server,
        }


def chosen(links: Sequence[Link], share: float, seed: int) -> list[Link]:
    """That share of the links, drawn with the same seed for every watcher.

    The n-th busiest link of one watcher is reset exactly if the n-th busiest of another is: an
    idle connection more or less changes nothing for the one that carries the watch.
    """
    coins = random.Random(seed)
    busiest = sorted(links, key=lambda link: link.last_data, reverse=True)
    return [link for link in busiest if coins.random() < share]


async def main(server_port: int, ports: int) -> None:
    proxy = Proxy(server_port, ports)
    print(json.dumps(await proxy.start()), flush=True)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        print(json.dumps(await proxy.obey(json.loads(line))), flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
