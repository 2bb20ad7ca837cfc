"""The table of hostile answers: each is sent to every request of a client.

To add one, add a line to a dict below. ``Answer.then`` is repeated until the client leaves.
"""

from __future__ import annotations

import gzip
import json
import zlib
from struct import pack

import msgspec

POD = (
    b'{"kind":"Pod","apiVersion":"v1",'
    b'"metadata":{"name":"a","namespace":"b","resourceVersion":"1"}}'
)
EVENT = b'{"type":"ADDED","object":%b}\n' % POD
JSON = b"Content-Type: application/json\r\n"
PROTOBUF = b"Content-Type: application/vnd.kubernetes.protobuf\r\n"
CHUNKED = JSON + b"Transfer-Encoding: chunked\r\n"
GZIP = JSON + b"Content-Encoding: gzip\r\n"


class Answer(msgspec.Struct, frozen=True):
    """Bytes to send once, then bytes to repeat; the connection is closed at the end."""

    first: bytes
    then: bytes = b""


def ok(headers: bytes = JSON, body: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n" + body


def refusal(status: bytes, headers: bytes = b"", body: bytes = b"") -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Length: %d\r\n%b\r\n%b" % (status, len(body), headers, body)


def chunked(body: bytes) -> bytes:
    return ok(CHUNKED, body)


def redirect(location: bytes, code: bytes = b"302 Found") -> bytes:
    return refusal(code, b"Location: %b\r\n" % location)


def status(**fields: object) -> bytes:
    return json.dumps({"kind": "Status", "apiVersion": "v1", **fields}).encode()


STATUS_LINES = {
    "nothing": b"",
    "line feeds": b"\n" * 100,
    "zeros": bytes(1000),
    "noise": bytes(range(256)) * 8,
    "tls alert": b"\x15\x03\x01\x00\x02\x02\x50",
    "ssh": b"SSH-2.0-OpenSSH_9.0\r\n",
    "http 0.9": b"<html>hello</html>",
    "http 2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "http 2": b"HTTP/2 200 OK\r\n\r\n",
    "no status": b"HTTP/1.1\r\n\r\n",
    "status of letters": b"HTTP/1.1 abc OK\r\n\r\n",
    "status of 2 digits": b"HTTP/1.1 20 OK\r\n\r\n",
    "status of 4 digits": b"HTTP/1.1 2000 OK\r\n\r\n",
    "negative status": b"HTTP/1.1 -200 OK\r\n\r\n",
    "status 000": b"HTTP/1.1 000 OK\r\n\r\n",
    "status 999": b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n",
    "switching protocols": b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "cut status line": b"HTTP/1.1 20",
    "cut head": b"HTTP/1.1 200 OK\r\nContent-Type: app",
    "bare line feeds": b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
    "bare carriage returns": b"HTTP/1.1 200 OK\rContent-Length: 2\r\r{}",
}

HEADERS = {
    "without a colon": ok(b"Nonsense\r\n"),
    "without a name": ok(b": x\r\n"),
    "with a space in its name": ok(b"Content Type: x\r\n"),
    "with a zero": ok(b"X: a\0b\r\n"),
    "not UTF-8": ok(b"Content-Type: \xff\xfe\r\n", b"{}"),
    "folded": ok(b"X: a\r\n b\r\n", b"{}"),
    "giant": ok(b"X: " + b"x" * 200_000 + b"\r\n"),
    "thousands": ok(b"X-A: b\r\n" * 20_000),
    "two lengths": ok(b"Content-Length: 2\r\nContent-Length: 3\r\n", b"{}"),
    "negative length": ok(b"Content-Length: -1\r\n", b"{}"),
    "length of letters": ok(b"Content-Length: x\r\n", b"{}"),
    "length of 5000 digits": ok(b"Content-Length: " + b"9" * 5000 + b"\r\n", b"{}"),
    "petabytes": ok(b"Content-Length: 999999999999999\r\n", b"{}"),
    "chunks and length": ok(CHUNKED + b"Content-Length: 5\r\n", b"5\r\nhello\r\n0\r\n\r\n"),
    "unknown transfer encoding": ok(b"Transfer-Encoding: gzip\r\n", b"{}"),
    "html": ok(b"Content-Type: text/html\r\n", b"<title>Sign in</title>"),
    "image": ok(b"Content-Type: image/png\r\n", b"\x89PNG"),
    "yaml": ok(b"Content-Type: application/yaml\r\n", b"kind: Pod"),
    "brotli": ok(JSON + b"Content-Encoding: br\r\n", b"{}"),
    "gzip twice": ok(JSON + b"Content-Encoding: gzip, gzip\r\n", b"{}"),
    "cookies": ok(JSON + b"Set-Cookie: =;;;\xff\r\n", b"{}"),
}

BODIES = {
    "empty": ok(),
    "null": ok(body=b"null"),
    "number": ok(body=b"1e999"),
    "string": ok(body=b'"x"'),
    "deep": ok(body=b"[" * 100_000),
    "deep object": ok(body=b'{"a":' * 100_000),
    "cut": ok(body=POD[:30]),
    "shorter than its length": ok(JSON + b"Content-Length: 100\r\n", POD[:30]),
    "not UTF-8": ok(body=b'{"kind":"\xff"}'),
    "lone surrogate": ok(body=b'{"kind":"\\ud800","apiVersion":"v1","metadata":{"name":"a"}}'),
    "items of numbers": ok(body=b'{"kind":"PodList","apiVersion":"v1","items":[1,2,3]}'),
    "items is a string": ok(body=b'{"kind":"PodList","apiVersion":"v1","items":"x"}'),
    "metadata is a list": ok(body=b'{"kind":"Pod","apiVersion":"v1","metadata":[]}'),
    "name is a number": ok(body=b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":1}}'),
    "strange version": ok(body=b'{"kind":"Pod","apiVersion":"a/b/c","metadata":{"name":"a"}}'),
    "status instead": ok(body=status(code=500, message="no")),
    "table instead": ok(body=b'{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}'),
    "protobuf": ok(PROTOBUF, b"k8s\x00"),
    "protobuf noise": ok(PROTOBUF, b"k8s\x00" + bytes(range(256)) * 20),
    "protobuf frame of 4 GB": ok(PROTOBUF, b"\xff\xff\xff\xff" + b"x" * 100),
    "protobuf empty frames": ok(PROTOBUF, pack(">I", 0) * 5000),
    "json as protobuf": ok(PROTOBUF, POD),
    "not gzip": ok(GZIP, POD),
    "cut gzip": ok(GZIP, gzip.compress(EVENT * 50)[:40]),
    "gzip with a wrong checksum": ok(GZIP, gzip.compress(EVENT)[:-8] + bytes(8)),
    "gzip and noise": ok(GZIP, gzip.compress(EVENT) + b"noise"),
    "deflate as gzip": ok(GZIP, zlib.compress(EVENT)),
    "gzip bomb": ok(GZIP, gzip.compress(bytes(8 << 20))),
    "unknown event": ok(body=b'{"type":"X","object":%b}\n' % POD),
    "event without an object": ok(body=b'{"type":"ADDED"}\n'),
    "error event of nothing": ok(body=b'{"type":"ERROR","object":{}}\n'),
    "error event of odd types": ok(
        body=b'{"type":"ERROR","object":{"kind":"Status","code":"x"}}\n'
    ),
    "half an event": ok(body=EVENT + EVENT[:20]),
}

CHUNKS = {
    "size of letters": chunked(b"xyz\r\n{}\r\n0\r\n\r\n"),
    "negative size": chunked(b"-1\r\n{}\r\n"),
    "size of 17 digits": chunked(b"1" * 17 + b"\r\n{}"),
    "size of 0x": chunked(b"0x2\r\n{}\r\n0\r\n\r\n"),
    "giant size": chunked(b"ffffffffffffff\r\n{}"),
    "chunk too long": chunked(b"1\r\n{}\r\n0\r\n\r\n"),
    "chunk too short": chunked(b"5\r\n{}\r\n0\r\n\r\n"),
    "no end": chunked(b"2\r\n{}\r\n"),
    "bare line feeds": chunked(b"2\n{}\n0\n\n"),
    "long extension": chunked(b"2;" + b"x" * 100_000 + b"\r\n{}\r\n0\r\n\r\n"),
    "long trailer": chunked(b"0\r\nX: " + b"x" * 100_000 + b"\r\n\r\n"),
    "single bytes": chunked(b"".join(b"1\r\n%c\r\n" % each for each in POD) + b"0\r\n\r\n"),
}

REFUSALS = {
    "redirect to itself": redirect(b"?"),
    "redirect to a mail": redirect(b"mailto:a@b"),
    "redirect to data": redirect(b"data:,x"),
    "redirect to a file": redirect(b"file:///etc/passwd"),
    "redirect to another server": redirect(b"http://127.0.0.2:1/"),
    "redirect to a bad port": redirect(b"http://127.0.0.1:99999/"),
    "redirect without a target": refusal(b"301 Moved"),
    "permanent redirect": redirect(b"/elsewhere", b"308 Permanent Redirect"),
    "not modified": refusal(b"304 Not Modified"),
    "no content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "unauthorized": refusal(b"401 Unauthorized", b"WWW-Authenticate: \xff\r\n"),
    "proxy authentication": refusal(b"407 Proxy", b"Proxy-Authenticate: Basic\r\n"),
    "not acceptable": refusal(b"406 Not Acceptable"),
    "retry after 400 digits": refusal(b"429 Slow", b"Retry-After: " + b"9" * 400 + b"\r\n"),
    "retry after nan": refusal(b"503 Busy", b"Retry-After: nan\r\n"),
    "retry after -1": refusal(b"429 Slow", b"Retry-After: -1\r\n"),
    "retry after year 99999": refusal(b"503 Busy", b"Retry-After: Fri, 1 Jan 99999 0:0:0 GMT\r\n"),
    "status of odd types": refusal(b"500 Error", JSON, b'{"kind":1,"code":"x","details":[]}'),
    "status of 400 digits": refusal(b"500 Error", JSON, status(code=10**400, details={})),
    "delay of 400 digits": refusal(
        b"429 Slow", JSON, status(code=429, details={"retryAfterSeconds": 10**400})
    ),
    "status 200 in an error": refusal(b"500 Error", JSON, status(code=200, message="fine")),
    "causes of odd types": refusal(
        b"504 Late", JSON, status(code=504, details={"causes": [1, None, {"reason": []}]})
    ),
    "html page": refusal(b"502 Bad", b"Content-Type: text/html\r\n", b"<" * 5000),
    "megabytes": refusal(b"500 Error", b"", b"x" * (3 << 20)),
    "protobuf noise": refusal(b"500 Error", PROTOBUF, b"k8s\x00" + bytes(range(256))),
    "gzip noise": refusal(b"500 Error", b"Content-Encoding: gzip\r\n", b"noise"),
}

ENDLESS = {
    "status line": Answer(b"HTTP/1.1 200 ", b"x" * 4096),
    "headers": Answer(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n" * 500),
    "informational": Answer(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 500),
    "spaces": Answer(ok(), b" " * 65536),
    "blank lines": Answer(ok(), b"\n" * 65536),
    "brackets": Answer(ok(), b"[" * 65536),
    "a string": Answer(ok(body=b'{"kind":"'), b"x" * 65536),
    "garbage lines": Answer(ok(), b"{}\n" * 20_000),
    "nameless events": Answer(ok(), b'{"type":"ADDED","object":{}}\n' * 2000),
    "the same event": Answer(ok(), EVENT * 500),
    "chunks of one byte": Answer(chunked(b""), b"1\r\n \r\n" * 5000),
    "chunk extension": Answer(chunked(b"1;"), b"x" * 4096),
    "trailers": Answer(chunked(b"0\r\n"), b"X-A: b\r\n" * 500),
    "empty gzip members": Answer(ok(GZIP), gzip.compress(b"") * 2000),
    "gzip bombs": Answer(ok(GZIP), gzip.compress(bytes(1 << 20))),
    "protobuf frames": Answer(ok(PROTOBUF), pack(">I", 1) * 5000),
    "refusal": Answer(b"HTTP/1.1 500 Error\r\n\r\n", b"x" * 65536),
}

_TABLES = {
    "status line": STATUS_LINES,
    "header": HEADERS,
    "body": BODIES,
    "chunks": CHUNKS,
    "refusal": REFUSALS,
}

ANSWERS: dict[str, Answer] = {
    **{
        f"{table}: {name}": Answer(answer)
        for table, answers in _TABLES.items()
        for name, answer in answers.items()
    },
    **{f"endless: {name}": answer for name, answer in ENDLESS.items()},
}
