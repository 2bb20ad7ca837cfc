"""Creates, updates and deletes objects at a steady rate, straight at the API server.

Given JSON parameters, it creates the first objects and prints ``ready``; it writes from the line
``go`` to the line ``stop``, then creates one sentinel object per namespace and ends with one line
of JSON. A line of its log is a write:

    <sent ns> <answered ns> <A|U|D|?> <namespace>/<name> <resourceVersion, or - if unknown>

where ``?`` is a write of unknown outcome: the server went away before it answered. Times are
CLOCK_MONOTONIC. A failed write is not repeated.
"""

from __future__ import annotations

import base64
import http.client
import json
import random
import ssl
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

_WRITERS = 4
_DELETED_SHARE = 0.2
_TIMEOUT = 10.0
_PAUSE_AFTER_FAILURE = 0.05
# A writer that was held up goes on at its rate instead of making up for all that it missed.
_LONGEST_ARREARS = 0.1
# Text files are not safe to share among threads.
_LOG_LOCK = threading.Lock()


class Api:
    """One keep-alive connection to the API server."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._address = str(given["address"])
        self._tls = ssl.create_default_context(cafile=given["ca_file"])
        self._headers = {
            "Authorization": f"Bearer {given['token']}",
            "Content-Type": "application/json",
            "User-Agent": "faults-writer",
        }
        self._connection: http.client.HTTPSConnection | None = None

    def request(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """The status and the decoded answer.

        Raises:
            OSError: The connection failed; the outcome is unknown.
            http.client.HTTPException: Likewise.
        """
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(
                self._address, context=self._tls, timeout=_TIMEOUT
            )
        data = None if body is None else json.dumps(body).encode()
        try:
            self._connection.request(method, path, data, self._headers)
            answer = self._connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = None
            raise


class Writer:
    """Writes the objects of one thread; only it ever changes them."""

    def __init__(
        self, given: Mapping[str, Any], keys: list[tuple[str, str]], *, number: int, log: IO[str]
    ) -> None:
        self._api = Api(given)
        self._resource = str(given["resource"])
        self._size = int(given["size"])
        self._keys = keys
        self._random = random.Random(f"{given['seed']}-{number}")
        self._log = log
        self._existing: set[tuple[str, str]] = set()

    def fill(self) -> None:
        """Create every object."""
        for key in self._keys:
            self._write("A", key)

    def run(self, rate: float, stop: threading.Event) -> None:
        due = time.monotonic()
        while not stop.is_set():
            due = max(due + 1 / rate, time.monotonic() - _LONGEST_ARREARS)
            time.sleep(max(0.0, due - time.monotonic()))
            key = self._random.choice(self._keys)
            deleted = self._random.random() < _DELETED_SHARE
            kind = ("D" if deleted else "U") if key in self._existing else "A"
            if not self._write(kind, key):
                time.sleep(_PAUSE_AFTER_FAILURE)

    def _write(self, kind: str, key: tuple[str, str]) -> bool:
        namespace, name = key
        path = f"/api/v1/namespaces/{namespace}/{self._resource}"
        sent = time.monotonic_ns()
        body = None if kind == "D" else self._body(namespace, name)
        method = {"A": "POST", "U": "PUT", "D": "DELETE"}[kind]
        try:
            status, answer = self._api.request(
                method, path if kind == "A" else f"{path}/{name}", body
            )
        except (OSError, http.client.HTTPException):
            self._note(sent, "?", key, "-")
            return False
        if status == 404:
            self._existing.discard(key)
        elif status == 409:
            self._existing.add(key)
        if status not in (200, 201):
            return status in (404, 409)
        (self._existing.discard if kind == "D" else self._existing.add)(key)
        self._note(sent, kind, key, "-" if kind == "D" else answer["metadata"]["resourceVersion"])
        return True

    def _body(self, namespace: str, name: str) -> dict[str, Any]:
        # Random, because client-go asks for gzip and kinform does not: faults that count bytes
        # are to hit both about equally often.
        filler = base64.b64encode(self._random.randbytes(self._size * 3 // 4)).decode()
        return object_body(self._resource, namespace, name, filler)

    def _note(self, sent: int, kind: str, key: tuple[str, str], version: str) -> None:
        line = _line(sent, kind, key, version)
        with _LOG_LOCK:
            self._log.write(line)


def _line(sent: int, kind: str, key: tuple[str, str], version: str) -> str:
    return f"{sent} {time.monotonic_ns()} {kind} {key[0]}/{key[1]} {version}\n"


def object_body(resource: str, namespace: str, name: str, filler: str) -> dict[str, Any]:
    """A ConfigMap or an Event, stamped with the time of writing."""
    metadata = {
        "namespace": namespace,
        "name": name,
        "annotations": {"written-at": str(time.monotonic_ns())},
    }
    if resource == "configmaps":
        return {"metadata": metadata, "data": {"filler": filler}}
    involved = {"namespace": namespace, "kind": "Pod", "name": name}
    return {"metadata": metadata, "involvedObject": involved, "message": filler}


def create_sentinels(given: Mapping[str, Any], log: IO[str]) -> None:
    """One object per namespace; a watcher that has them all has everything before them."""
    api = Api(given)
    for namespace in given["namespaces"]:
        path = f"/api/v1/namespaces/{namespace}/{given['resource']}"
        body = object_body(given["resource"], namespace, given["sentinel"], "")
        sent = time.monotonic_ns()
        status, answer = api.request("POST", path, body)
        if status == 201:
            version = answer["metadata"]["resourceVersion"]
            log.write(_line(sent, "A", (namespace, given["sentinel"]), version))
        else:
            raise RuntimeError(f"sentinel in {namespace} was answered with {status}: {answer}")


@contextmanager
def _threads(works: list[Any]) -> Iterator[None]:
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join()


def main() -> None:
    given = json.loads(sys.argv[1])
    keys = [(ns, f"object-{n:04}") for n in range(given["objects"]) for ns in given["namespaces"]]
    with open(given["log"], "w") as log:
        writers = [
            Writer(given, keys[number::_WRITERS], number=number, log=log)
            for number in range(_WRITERS)
        ]
        with _threads([writer.fill for writer in writers]):
            pass
        print("ready", flush=True)
        sys.stdin.readline()
        stop = threading.Event()
        rate = given["rate"] / _WRITERS

        def run(writer: Writer) -> Any:
            return lambda: writer.run(rate, stop)

        with _threads([run(writer) for writer in writers]):
            sys.stdin.readline()
            stop.set()
        create_sentinels(given, log)
    print(json.dumps({"ended": time.monotonic_ns()}), flush=True)


if __name__ == "__main__":
    main()
