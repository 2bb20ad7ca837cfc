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
    """Bytes to send once, then bytes to repeat; the connection is closed at the end.

    Attributes:
        first: Sent once.
        then: Repeated until the client leaves.
        delays: Whether the server asks for a delay that an informer respects.
    """

    first: bytes
    then: bytes = b""
    delays: bool = False


class TlsAnswer(Answer, frozen=True):
    """An answer with bytes below TLS.

    Attributes:
        greeting: Sent instead of a handshake.
        missing: The number of bytes missing at the end of the last record of ``first``.
        bare: Sent after ``first``, without encryption.
        bare_then: Repeated after that, without encryption.
        repeats_records: Whether the records of ``first`` are sent twice.
        single_bytes: Whether each byte of ``first`` has a record of its own.
    """

    greeting: bytes = b""
    missing: int = 0
    bare: bytes = b""
    bare_then: bytes = b""
    repeats_records: bool = False
    single_bytes: bool = False


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


def pod(**metadata: object) -> bytes:
    named = {"name": "a", "namespace": "b", "resourceVersion": "1", **metadata}
    return json.dumps({"kind": "Pod", "apiVersion": "v1", "metadata": named}).encode()


def pods(items: bytes, kind: bytes = b"PodList", version: bytes = b"1") -> bytes:
    return b'{"kind":"%b","apiVersion":"v1","metadata":{"resourceVersion":"%b"},"items":%b}' % (
        kind,
        version,
        items,
    )


def event(kind: bytes, obj: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (kind, obj)


def framed(message: bytes) -> bytes:
    """Return a frame of a protobuf watch."""
    return pack(">I", len(message)) + message


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
    "http 2 settings": b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64",
    "early hints only": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n",
    "web socket": b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n"
    b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n\x81\x05hello",
    "zero in the reason": b"HTTP/1.1 200 O\0K\r\nContent-Length: 2\r\n\r\n{}",
    "lower case": b"http/1.1 200 ok\r\nContent-Length: 2\r\n\r\n{}",
    "leading spaces": b"   HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "giant reason": b"HTTP/1.1 200 " + b"x" * 200_000 + b"\r\n\r\n",
    "two responses": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}" * 2,
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
    "folded length": ok(b"Content-Length:\r\n 2\r\n", b"{}"),
    "length with a plus": ok(b"Content-Length: +2\r\n", b"{}"),
    "length in base 16": ok(b"Content-Length: 0x2\r\n", b"{}"),
    "list of lengths": ok(b"Content-Length: 2, 2\r\n", b"{}"),
    "chunked twice": ok(JSON + b"Transfer-Encoding: chunked, chunked\r\n", b"2\r\n{}\r\n0\r\n\r\n"),
    "nearly chunked": ok(JSON + b"Transfer-Encoding: xchunked\r\n", b"2\r\n{}\r\n0\r\n\r\n"),
    "carriage return in a value": ok(b"X: a\rY: b\r\n", b"{}"),
    "offer of an upgrade": ok(JSON + b"Upgrade: h2c\r\nConnection: upgrade\r\n", POD),
    "utf-16": ok(
        b"Content-Type: application/json; charset=utf-16\r\n", POD.decode().encode("utf-16")
    ),
    "unknown charset": ok(b"Content-Type: application/json; charset=x\r\n", POD),
    "deflate": ok(JSON + b"Content-Encoding: deflate\r\n", zlib.compress(EVENT)),
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
    "byte order mark": ok(body=b"\xef\xbb\xbf" + POD),
    "nan": ok(body=POD[:-1] + b',"spec":{"x":NaN}}'),
    "infinity": ok(body=POD[:-1] + b',"spec":{"x":-Infinity}}'),
    "duplicate keys": ok(body=POD[:-1] + b',"kind":"Node","metadata":{"name":"c"}}'),
    "control characters": ok(body=POD.replace(b'"a"', b'"\x00\x1b[2J\n"')),
    "zero in the name": ok(body=pod(name="a\0b")),
    "name of a megabyte": ok(body=pod(name="x" * (1 << 20))),
    "labels of numbers": ok(body=pod(labels={"a": 1, "b": None, "c": []})),
    "version of 400 digits": ok(body=event(b"ADDED", pod(resourceVersion="9" * 400))),
    "negative version": ok(body=event(b"ADDED", pod(resourceVersion="-5"))),
    "version is a number": ok(body=event(b"ADDED", pod(resourceVersion=5))),
    "list version of 400 digits": ok(body=pods(b"[]", version=b"9" * 400)),
    "items of null": ok(body=pods(b"[null,null,%b]" % POD)),
    "items is null": ok(body=pods(b"null")),
    "another kind of list": ok(body=pods(b"[%b]" % POD, kind=b"NodeList")),
    "list of lists": ok(body=pods(b"[%b]" % pods(b"[%b]" % POD))),
    "another kind": ok(body=POD.replace(b"Pod", b"Node")),
    "another version": ok(body=POD.replace(b'"v1"', b'"v9"')),
    "two objects": ok(body=POD + POD),
    "bookmark without a version": ok(body=event(b"BOOKMARK", b'{"kind":"Pod","apiVersion":"v1"}')),
    "bookmark of nothing": ok(body=event(b"BOOKMARK", b"null")),
    "event of null": ok(body=event(b"ADDED", b"null")),
    "event in an event": ok(body=event(b"ADDED", EVENT.strip())),
    "type is a number": ok(body=b'{"type":1,"object":%b}\n' % POD),
    "event of another kind": ok(body=event(b"ADDED", POD.replace(b"Pod", b"Node"))),
    "error event of 400 digits": ok(body=event(b"ERROR", status(code=10**400))),
    "error event with a delay of 400 digits": ok(
        body=event(b"ERROR", status(code=429, details={"retryAfterSeconds": 10**400}))
    ),
    "protobuf declared as json": ok(body=b"k8s\x00\x0a\x04\x0a\x02v1"),
    "protobuf with an overlong varint": ok(PROTOBUF, b"k8s\x00\x0a" + b"\xff" * 11),
    "protobuf with a length beyond its end": ok(PROTOBUF, b"k8s\x00\x0a\x7f\x0a"),
    "protobuf with wrong wire types": ok(PROTOBUF, b"k8s\x00\x08\x01\x15\x00\x00\x00\x00"),
    "protobuf with groups": ok(PROTOBUF, b"k8s\x00" + b"\x0b" * 10_000),
    "protobuf with wire type 7": ok(PROTOBUF, b"k8s\x00\x0f\x17\x1f"),
    "protobuf frame with an overlong varint": ok(PROTOBUF, framed(b"k8s\x00\x0a" + b"\xff" * 11)),
    "protobuf frame of an object": ok(PROTOBUF, framed(b"k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pod")),
    "protobuf frame that is cut": ok(PROTOBUF, framed(b"k8s\x00" + bytes(100))[:50]),
    "gzip not declared": ok(body=gzip.compress(EVENT)),
    "gzip in gzip": ok(GZIP, gzip.compress(gzip.compress(EVENT))),
    "gzip with an endless name": ok(GZIP, b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * (1 << 20)),
    "gzip with an unknown method": ok(GZIP, b"\x1f\x8b\x07\x00" + bytes(100)),
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
    "size with an underscore": chunked(b"0_2\r\n{}\r\n0\r\n\r\n"),
    "size with a plus": chunked(b"+2\r\n{}\r\n0\r\n\r\n"),
    "size with a space": chunked(b" 2\r\n{}\r\n0\r\n\r\n"),
    "no size": chunked(b"\r\n{}\r\n0\r\n\r\n"),
    "size of foreign digits": chunked("\uff12\r\n{}\r\n0\r\n\r\n".encode()),
    "extension with a line feed": chunked(b"2;a\nb\r\n{}\r\n0\r\n\r\n"),
    "extension with a zero": chunked(b"2;a=\0\r\n{}\r\n0\r\n\r\n"),
    "data after the end": chunked(b"2\r\n{}\r\n0\r\n\r\n") + ok(body=POD),
    "trailer with a length": chunked(b"2\r\n{}\r\n0\r\nContent-Length: 99\r\n\r\n"),
    "trailer without a colon": chunked(b"2\r\n{}\r\n0\r\nNonsense\r\n\r\n"),
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
    "redirect with a login": redirect(b"http://user:word@127.0.0.2:1/"),
    "redirect to another path": redirect(b"/api/v1/pods", b"307 Temporary Redirect"),
    "two targets": refusal(b"302 Found", b"Location: /a\r\nLocation: /b\r\n"),
    "status of 0": refusal(b"500 Error", JSON, status(code=0, reason="Expired")),
    "negative status": refusal(b"500 Error", JSON, status(code=-1)),
    "status of a fraction": refusal(b"500 Error", JSON, b'{"kind":"Status","code":4.5}'),
    "deep status": refusal(b"500 Error", JSON, b'{"kind":"Status","details":' + b"[" * 100_000),
    "message of a megabyte": refusal(b"500 Error", JSON, status(code=500, message="x" * (1 << 20))),
    "message with controls": refusal(b"500 Error", JSON, status(code=500, message="\x1b[2J\r\n\0")),
    "gone as html": refusal(b"410 Gone", b"Content-Type: text/html\r\n", b"<h1>Gone</h1>"),
    "gone with a wrong reason": refusal(b"410 Gone", JSON, status(code=410, reason="Fine")),
    "request timeout": refusal(b"408 Request Timeout", b"Connection: close\r\n"),
    "length required": refusal(b"411 Length Required"),
    "teapot": refusal(b"418 Teapot", JSON, status(code=418)),
}

_DEFLATE = zlib.compressobj(wbits=-zlib.MAX_WBITS)
GZIP_HEAD = b"\x1f\x8b\x08\x00" + bytes(6)
# A block that refers to no other, so that it can be repeated.
GZIP_ZEROS = _DEFLATE.compress(bytes(1 << 16)) + _DEFLATE.flush(zlib.Z_FULL_FLUSH)

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
    "early hints": Answer(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 200),
    "folded header": Answer(b"HTTP/1.1 200 OK\r\nX: a\r\n", b" b\r\n" * 1000),
    "zeros of a chunk size": Answer(chunked(b""), b"0" * 4096),
    "digits": Answer(ok(), b"1" * 65536),
    "escapes": Answer(ok(body=b'{"kind":"'), b"\\u0000" * 10_000),
    "objects": Answer(ok(), b'{"a":' * 10_000),
    "bookmarks without a version": Answer(ok(), event(b"BOOKMARK", b'{"kind":"Pod"}') * 1000),
    "expired events": Answer(ok(), event(b"ERROR", status(code=410, reason="Expired")) * 500),
    "deletions of the unknown": Answer(ok(), event(b"DELETED", POD) * 500),
    "one gzip member": Answer(ok(GZIP, GZIP_HEAD), GZIP_ZEROS),
    "one protobuf frame": Answer(ok(PROTOBUF, b"\x00\xff\xff\xff"), bytes(65536)),
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
    "refusal: retry after a year": Answer(
        refusal(b"503 Busy", b"Retry-After: 31536000\r\n"), delays=True
    ),
}

_ALERT = b"\x15\x03\x03\x00\x02"
_TLS_ANSWERS = {
    "plain http instead": TlsAnswer(b"", greeting=ok(body=POD)),
    "ssh instead": TlsAnswer(b"", greeting=b"SSH-2.0-OpenSSH_9.0\r\n"),
    "noise instead": TlsAnswer(b"", greeting=bytes(range(256)) * 64),
    "alert instead": TlsAnswer(b"", greeting=_ALERT + b"\x02\x28"),
    "empty records instead": TlsAnswer(b"", greeting=b"\x16\x03\x03\x00\x00" * 1000),
    "record of 64 kB instead": TlsAnswer(b"", greeting=b"\x16\x03\x03\xff\xff" + bytes(65535)),
    "server hello that is cut": TlsAnswer(b"", greeting=b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76"),
    "no notice of the end": TlsAnswer(ok(body=pods(b"[]"))),
    "no notice within an event": TlsAnswer(ok(body=EVENT + EVENT[:20])),
    "record that is cut": TlsAnswer(ok(body=pods(b"[]")), missing=7),
    "record of nothing but its head": TlsAnswer(ok(CHUNKED), bare=b"\x17\x03\x03\x00\x20"),
    "records twice": TlsAnswer(ok(body=EVENT), repeats_records=True),
    "record for each byte": TlsAnswer(ok(body=EVENT * 3), single_bytes=True),
    "noise after the handshake": TlsAnswer(b"", bare=bytes(range(256)) * 4),
    "noise within the body": TlsAnswer(ok(CHUNKED, b"2\r\n{}"), bare=bytes(range(256)) * 4),
    "plain http after the handshake": TlsAnswer(b"", bare=ok(body=POD)),
    "alert after the handshake": TlsAnswer(b"", bare=_ALERT + b"\x02\x50"),
    "alert within the body": TlsAnswer(ok(CHUNKED, b"2\r\n{}"), bare=_ALERT + b"\x02\x50"),
    "warning within the body": TlsAnswer(ok(CHUNKED, b"2\r\n{}"), bare=_ALERT + b"\x01\x5a"),
    "renegotiation": TlsAnswer(ok(CHUNKED), bare=b"\x16\x03\x03\x00\x04\x00\x00\x00\x00"),
    "second hello": TlsAnswer(ok(CHUNKED), bare=b"\x16\x03\x03\x00\x04\x02\x00\x00\x00"),
    "record of 64 kB": TlsAnswer(ok(CHUNKED), bare=b"\x17\x03\x03\xff\xff" + bytes(65535)),
    "record of another version": TlsAnswer(ok(CHUNKED), bare=b"\x17\x09\x09\x00\x01x"),
    "endless changes of the cipher": TlsAnswer(
        ok(CHUNKED), bare_then=b"\x14\x03\x03\x00\x01\x01" * 1000
    ),
}

TLS_ANSWERS: dict[str, TlsAnswer] = {f"tls: {name}": each for name, each in _TLS_ANSWERS.items()}
