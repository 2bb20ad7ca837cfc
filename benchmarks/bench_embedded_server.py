"""Measures the embedded API server as a load source: starting, filling, listing and watching it.

    python benchmarks/bench_embedded_server.py [--pods 100000] [--changes 100000]

Prints figures, which depend on the machine, and asserts nothing. The reader is another process that
only counts, so that the measured work is the server's.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import subprocess
import sys
import time
from urllib.parse import urlsplit

from kinform.api import GVR
from kinform.testing import ApiServer
from kinform.testing.cluster_life import realistic_pod, realistic_pod_json

PODS = GVR("", "v1", "pods")
NAMESPACE = "default"

# Reads an answer to its end, or until it has seen enough events; says how long that took.
_READER = r"""
import socket, sys, time
host, port, path, events = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
peer = socket.create_connection((host, port))
head = f"GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n"
peer.sendall(head.encode())
size = seen = 0
last = b""
data = peer.recv(1 << 20)
began = time.perf_counter()
print("begun", flush=True)
while data:
    size += len(data)
    # Only events end in a line feed after a brace; a chunk's own ends after a carriage return.
    seen += (last + data).count(b"}\n")
    last = data[-1:]
    if events and seen >= events:
        break
    data = peer.recv(1 << 20)
print(size, seen, time.perf_counter() - began, flush=True)
"""

_START = """
import time
began = time.perf_counter()
import asyncio
from kinform.testing import ApiServer
imported = time.perf_counter()
async def main():
    async with ApiServer():
        started = time.perf_counter()
    return started, time.perf_counter()
started, stopped = asyncio.run(main())
print(f"import {imported - began:.3f} s, start {started - imported:.3f} s, "
      f"stop {stopped - started:.3f} s")
"""


def measure_start() -> None:
    answer = subprocess.run([sys.executable, "-c", _START], capture_output=True, check=True)
    print(f"start-up             {answer.stdout.decode().strip()}")


async def start_reader(url: str, path: str, events: int = 0) -> asyncio.subprocess.Process:
    """A process that reads; the answer has begun when this returns."""
    address = urlsplit(url)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _READER, str(address.hostname), str(address.port)),
        *(path, str(events)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    await process.stdout.readline()
    return process


async def read_result(process: asyncio.subprocess.Process) -> tuple[int, int, float]:
    """Bytes, events, seconds."""
    assert process.stdout is not None
    size, seen, seconds = (await process.stdout.readline()).split()
    await process.wait()
    return int(size), int(seen), float(seconds)


def resident() -> float:
    """The memory in use now, in MB."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def measure_load(api: ApiServer, pods: int) -> None:
    before, began = resident(), time.process_time()
    api.load(realistic_pod_json(index, namespace=NAMESPACE) for index in range(pods))
    spent, grown = time.process_time() - began, resident() - before
    print(
        f"load                 {pods} pods of 13 kB: {spent / pods * 1e6:.0f} µs each, "
        f"{grown:.0f} MB in all, {grown * 1e3 / pods:.1f} kB each"
    )


async def measure_list(api: ApiServer) -> None:
    streaming = (
        "/api/v1/pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        "&allowWatchBookmarks=true&timeoutSeconds=1"
    )
    for label, path in (
        ("list, unpaged", "/api/v1/pods"),
        ("list, one page", "/api/v1/pods?limit=500"),
        ("streaming list", streaming),
    ):
        began = time.process_time()
        size, _, seconds = await read_result(await start_reader(api.url, path))
        spent = time.process_time() - began
        rate = size / 1e6 / max(seconds, 1e-9)
        print(
            f"{label:20} {size / 1e6:.0f} MB in {seconds:.2f} s ({rate:.0f} MB/s), "
            f"server CPU {spent:.2f} s"
        )


async def measure_watch(api: ApiServer, pods: int, changes: int, rate: int | None) -> None:
    """Change labels as fast as asked for, or as fast as it goes, while somebody watches."""
    names = [realistic_pod(index)["metadata"]["name"] for index in range(min(pods, 2000))]
    path = f"/api/v1/pods?watch=1&resourceVersion={api.resource_version}"
    reader = await start_reader(api.url, path, changes)
    began, cpu = time.perf_counter(), time.process_time()
    for number in range(changes):
        name = names[number % len(names)]
        api.patch(PODS, name, {"metadata": {"labels": {"round": str(number)}}}, NAMESPACE)
        if number % 50 == 0:
            due = 0.0 if rate is None else began + number / rate - time.perf_counter()
            await asyncio.sleep(max(0.0, due))
    wrote = time.perf_counter() - began
    size, seen, seconds = await read_result(reader)
    spent = time.process_time() - cpu
    label = "watch, flat out" if rate is None else f"watch, {rate}/s"
    print(
        f"{label:20} {seen} of {changes} changes seen, written in {wrote:.2f} s, read in "
        f"{seconds:.2f} s ({seen / seconds:.0f}/s, {size / 1e6 / seconds:.0f} MB/s), "
        f"server CPU {spent / changes * 1e6:.0f} µs a change "
        f"({spent / seconds * 100:.0f} % of a core)"
    )


async def measure(pods: int, changes: int) -> None:
    async with ApiServer() as api:
        measure_load(api, pods)
        await measure_list(api)
        await measure_watch(api, pods, changes, 10_000)
        await measure_watch(api, pods, changes, None)
        print(f"at the end           {resident():.0f} MB resident")
        began = time.perf_counter()
    print(f"stop                 {time.perf_counter() - began:.3f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--changes", type=int, default=50_000)
    arguments = parser.parse_args()
    measure_start()
    asyncio.run(measure(arguments.pods, arguments.changes))


if __name__ == "__main__":
    main()
