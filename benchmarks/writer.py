"""Writes pods to etcd at a given rate, each with the time of the change.

Prints ``ready``, starts when it reads a line, and prints one JSON line at the end.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

STAMP = "written-at"
"""The label that holds ``time.monotonic_ns()`` of the moment before a change was written."""

PLACE = "0" * 20
"""Its value in a body that is to be stamped; the stamp is as long, so that no length changes."""

_WRITERS = 4


class Writer:
    """Writes one of every few changes, at the moments that are its own."""

    def __init__(self, etcd: str, pods: list[tuple[str, bytes]], rate: float) -> None:
        self._address = urlsplit(etcd).netloc
        self._pods = pods
        self._rate = rate

    def write(self, begin: float, numbers: range) -> None:
        connection = http.client.HTTPConnection(self._address, timeout=30)
        for number in numbers:
            key, body = self._pods[number % len(self._pods)]
            time.sleep(max(0.0, begin + number / self._rate - time.monotonic()))
            stamped = body.replace(PLACE.encode(), b"%020d" % time.monotonic_ns())
            put = {"key": _base64(f"/registry/pods/{key}".encode()), "value": _base64(stamped)}
            connection.request("POST", "/v3/kv/put", json.dumps(put))
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"etcd refused a change: {text.decode()[:500]}")
        connection.close()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--etcd", required=True)
    parser.add_argument("--pods", type=Path, required=True, help="a file of keys and bodies")
    for option in ("events", "rate"):
        parser.add_argument(f"--{option}", type=int, required=True)
    options = parser.parse_args()
    pods = msgspec.msgpack.decode(options.pods.read_bytes(), type=list[tuple[str, bytes]])
    writer = Writer(options.etcd, pods, options.rate)
    print("ready", flush=True)
    sys.stdin.readline()
    begin = time.monotonic()
    with ThreadPoolExecutor(_WRITERS) as threads:
        shares = (range(first, options.events, _WRITERS) for first in range(_WRITERS))
        # The results are asked for, so that a failure is raised.
        for _ in threads.map(lambda share: writer.write(begin, share), shares):
            pass
    print(json.dumps({"events": options.events, "seconds": time.monotonic() - begin}))


if __name__ == "__main__":
    main()
