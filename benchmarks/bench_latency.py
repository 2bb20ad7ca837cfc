"""Measures how late a handler receives a change, over TLS, from a server with little other work.

    python benchmarks/bench_latency.py [--rate 500] [--seconds 20]

Prints figures, which depend on the machine, and asserts nothing. The server is the embedded one, in
its own process: with a kube-apiserver, its etcd and a writer on the same two cores, the result
would show how long they wait for each other (benchmarks/run.py --only steady). A label of each
change has the time at which it was written. A bare reader on a blocking socket only searches its
input for that label; its delay is that of the server and the system. The additional delay of an
informer that reads the same bytes is its own.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import re
import socket
import ssl
import statistics
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO, Any
from urllib.parse import urlsplit

import yaml

from kinform import GVR, Client, DynamicSharedInformerFactory, SharedInformerFactory
from kinform.testing import ApiServer
from kinform.testing.cluster_life import realistic_pod, realistic_pod_json

PODS = GVR("", "v1", "pods")
NAMESPACE = "default"
STAMP = "written-at"
_PODS = 2000
# In JSON a quoted text follows the label, in protobuf a text with its size in front.
_STAMPED = re.compile(rb'%s(?:":"|\x12.)(\d+)\D' % STAMP.encode(), re.DOTALL)
_JSON = "application/json"
_PROTOBUF = "application/vnd.kubernetes.protobuf;stream=watch"

# Where in a thousand parts of the sorted delays.
_RANKS = {"p50": 499, "p90": 899, "p99": 989}

Delays = list[int]
"""Nanoseconds."""


# -- the server's process --------------------------------------------------------------------


async def serve(rate: int, changes: int) -> None:
    async with ApiServer(tls=True) as api:
        api.load(realistic_pod_json(index, namespace=NAMESPACE) for index in range(_PODS))
        names = [realistic_pod(index)["metadata"]["name"] for index in range(_PODS)]
        print(api.kubeconfig(), flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        began = time.monotonic()
        for number in range(changes):
            await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
            stamp = {"metadata": {"labels": {STAMP: str(time.monotonic_ns())}}}
            api.patch(PODS, names[number % _PODS], stamp, NAMESPACE)
        print(time.monotonic() - began, flush=True)
        await asyncio.to_thread(sys.stdin.readline)


@contextmanager
def server(rate: int, changes: int) -> Iterator[tuple[str, IO[str]]]:
    """Its kubeconfig, and where to say when to begin and to end."""
    command = [sys.executable, __file__, "--serve", f"--rate={rate}", f"--changes={changes}"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process.stdin
        finally:
            process.terminate()


# -- who hears of it -------------------------------------------------------------------------


def informed(
    kubeconfig: str, begin: Callable[[], None], changes: int, factory_of: Callable[[Client], Any]
) -> Delays:
    return asyncio.run(_informed(kubeconfig, begin, changes, factory_of))


async def _informed(
    kubeconfig: str, begin: Callable[[], None], changes: int, factory_of: Callable[[Client], Any]
) -> Delays:
    delays: Delays = []
    done = asyncio.Event()

    async def on_update(old: Any, new: Any) -> None:
        delays.append(time.monotonic_ns() - int(new.labels[STAMP]))
        if len(delays) == changes:
            done.set()

    async with Client.from_kubeconfig(kubeconfig) as client:
        factory = factory_of(client)
        heard = factory.for_resource(PODS).informer.add_event_handler(on_update=on_update)
        async with factory:
            await heard.has_synced
            begin()
            await done.wait()
    return delays


def bare(kubeconfig: str, begin: Callable[[], None], changes: int, accept: str) -> Delays:
    with open(kubeconfig, encoding="utf-8") as file:
        cluster = yaml.safe_load(file)["clusters"][0]["cluster"]
    address = urlsplit(cluster["server"])
    authority = b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    version = _version(address.netloc, context)
    target = f"/api/v1/pods?watch=1&resourceVersion={version}"
    request = f"GET {target} HTTP/1.1\r\nHost: bench\r\nAccept: {accept}\r\n\r\n"
    delays: Delays = []
    with context.wrap_socket(
        socket.create_connection((address.hostname, address.port)), server_hostname=address.hostname
    ) as connection:
        connection.sendall(request.encode())
        begin()
        text = b""
        while len(delays) < changes:
            text += connection.recv(1 << 16)
            now, end = time.monotonic_ns(), 0
            for found in _STAMPED.finditer(text):
                delays.append(now - int(found[1]))
                end = found.end()
            text = text[max(end, len(text) - 100) :]
    return delays


def _version(address: str, context: ssl.SSLContext) -> str:
    connection = http.client.HTTPSConnection(address, context=context)
    connection.request("GET", "/api/v1/pods?limit=1")
    version: str = json.loads(connection.getresponse().read())["metadata"]["resourceVersion"]
    connection.close()
    return version


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--changes", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve(arguments.rate, arguments.changes))
        return
    changes = arguments.rate * arguments.seconds
    forms: dict[str, tuple[str, Callable[[Client], Any]]] = {
        "protobuf, typed": (_PROTOBUF, SharedInformerFactory),
        "JSON, dynamic": (_JSON, DynamicSharedInformerFactory),
    }
    print(f"{arguments.rate} changes a second for {arguments.seconds} s, milliseconds late")
    for form, (accept, factory_of) in forms.items():
        reader = partial(bare, accept=accept)
        alone = listen(f"bare reader, {form.partition(',')[0]}", arguments.rate, changes, reader)
        informer = partial(informed, factory_of=factory_of)
        late = listen(f"informer, {form}", arguments.rate, changes, informer)
        added = ", ".join(f"{rank} {late[rank] - alone[rank]:.1f}" for rank in _RANKS)
        print(f"{'added by the informer':30} {added}", flush=True)


def listen(
    name: str,
    rate: int,
    changes: int,
    hear: Callable[[str, Callable[[], None], int], Delays],
) -> dict[str, float]:
    """Print how late it hears of the changes of a server of its own, and return that."""
    with server(rate, changes) as (kubeconfig, stdin):

        def begin() -> None:
            stdin.write("go\n")
            stdin.flush()

        delays = hear(kubeconfig, begin, changes)
    ranks = statistics.quantiles([delay / 1e6 for delay in delays], n=1000)
    late = {rank: ranks[place] for rank, place in _RANKS.items()}
    late["worst"] = max(delays) / 1e6
    figures = ", ".join(f"{rank} {value:.1f}" for rank, value in late.items())
    print(f"{name:30} {figures}", flush=True)
    return late


if __name__ == "__main__":
    main()
