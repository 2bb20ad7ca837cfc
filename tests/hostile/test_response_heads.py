"""Response heads of any content raise only errors of this library."""

from __future__ import annotations

import asyncio
import random

import pytest

from kinform import Client
from kinform.api import GVR, ListOptions
from kinform.client._status import error_from_response, parse_retry_after
from kinform.errors import KinformError, TooManyRequestsError
from kinform.transport import ClusterConfig
from tests.hostile.raw_server import RawServer, always

PODS = GVR("", "v1", "pods")
POD = b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"b"}}'

VALUES = {
    b"Location": (
        b"mailto:a@b",
        b"data:,x",
        b"file:///etc/passwd",
        b"javascript:1",
        b"//",
        b"///",
        b"http://",
        b"http://[",
        b"http://[::1",
        b"http://a:99999999/",
        b"http://a:b/",
        b"http:\\\\x",
        b"?",
        b"#",
        b"%",
        b"\xff\xfe",
        b"/" * 4000,
        b"http://xn--/",
        b"http://\xe4\xf6/",
        b"",
    ),
    b"Retry-After": (
        b"9" * 400,
        b"-1",
        b"nan",
        b"inf",
        b"1e999",
        b"Fri, 99 Foo 99999 99:99:99 GMT",
        b"Mon, 01 Jan 0001 00:00:00 +9999",
        b"Mon, 01 Jan 9999 00:00:00 -9999",
        b"\xff",
        b",",
        b": : :",
    ),
    b"Content-Type": (
        b"",
        b";",
        b"application/json;charset=\xff",
        b"text/html",
        b"application/vnd.kubernetes.protobuf",
        b"x" * 9000,
        b"\xff\xff",
    ),
    b"Content-Length": (b"-1", b"+5", b"9" * 30, b"9" * 5000, b"1,2", b"0x10", b"", b"3", b"1 1"),
    b"Content-Encoding": (b"gzip", b"br", b"deflate", b"gzip, gzip", b"\xff", b",", b"identity"),
    b"Transfer-Encoding": (b"chunked", b"gzip", b"chunked, chunked", b"\xff", b"", b"identity"),
    b"Connection": (b"upgrade", b"close", b"\xff", b"keep-alive"),
    b"Upgrade": (b"h2c", b"websocket"),
    b"Set-Cookie": (b"=", b";;;", b"a=b; expires=x", b"\xff=\xff", b"a=" + b"x" * 9000),
    b"Warning": (b"299 - x", b"\xff", b"," * 100),
    b"Link": (b"<", b"<http://[>; rel=x"),
    b"ETag": (b'"',),
}
STATUSES: tuple[bytes, ...] = (
    b"200",
    b"204",
    b"301",
    b"302",
    b"303",
    b"307",
    b"308",
    b"304",
    b"400",
    b"401",
    b"406",
)
STATUSES += (b"410", b"429", b"500", b"503", b"599", b"999", b"100", b"101", b"099", b"2000", b"x")
VERSIONS = (b"HTTP/1.1", b"HTTP/1.0", b"HTTP/1.9", b"HTTP/2", b"HTTP/1.", b"ICY", b"", b"\x00")
BODIES = (POD, b"", b"{}", b"0\r\n\r\n", b"5\r\nabcde\r\n0\r\n\r\n", b"\x1f\x8b", b"k8s\x00", b"<")


def random_response(source: random.Random) -> bytes:
    """Return a response with a valid or an invalid head."""
    version = VERSIONS[0] if source.random() < 0.9 else source.choice(VERSIONS)
    lines = [b" ".join((version, source.choice(STATUSES), b"Text"))]
    for name in source.sample(sorted(VALUES), source.randrange(5)):
        lines.append(name + b": " + source.choice(VALUES[name]))
    if source.random() < 0.1:
        lines.append(bytes(source.randrange(256) for _ in range(source.randrange(20))))
    return b"\r\n".join(lines) + b"\r\n\r\n" + source.choice(BODIES)


async def ask_all(client: Client) -> None:
    """Get, list and watch; errors of this library are expected, and others are raised."""

    async def get() -> None:
        await client.get(PODS, "a", namespace="b")

    async def list_all() -> None:
        await client.list(PODS)

    async def watch() -> None:
        async with client.watch(PODS, ListOptions(resource_version="1"), namespace="b") as events:
            async for _ in events:
                pass

    for request in (get, list_all, watch):
        try:
            await asyncio.wait_for(request(), 5)
        except KinformError as error:
            str(error).encode()  # can be logged and printed


@pytest.mark.parametrize("seed", range(8))
async def test_only_own_errors_escape(seed: int) -> None:
    """18.15: no response head, however malformed, raises a foreign exception."""
    source = random.Random(seed)
    for _ in range(25):
        response = random_response(source)
        async with RawServer(always(response)) as server:
            config = ClusterConfig(server=server.url)
            async with Client(config, max_retries=0, timeout=2) as client:
                try:
                    await ask_all(client)
                except Exception as error:
                    error.add_note(f"for the response {response[:500]!r}")
                    raise


@pytest.mark.parametrize("location", VALUES[b"Location"], ids=lambda each: repr(each[:12]))
async def test_a_redirect_without_a_usable_target_is_refused(location: bytes) -> None:
    """18.15: ``Location: mailto:`` raised ValueError."""
    head = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: %b\r\n\r\n" % location
    async with (
        RawServer(always(head)) as server,
        Client(ClusterConfig(server=server.url), max_retries=0, timeout=5) as client,
    ):
        with pytest.raises(KinformError):
            await client.get(PODS, "a", namespace="b")


@pytest.mark.parametrize("digits", [30, 400, 5000])
def test_a_delay_of_many_digits_is_no_delay(digits: int) -> None:
    """18.15: a ``retryAfterSeconds`` of 400 digits raised OverflowError."""
    body = b'{"kind":"Status","code":429,"details":{"retryAfterSeconds":%b}}' % (b"9" * digits)
    error = error_from_response("GET /x", 429, {}, body)
    assert isinstance(error, TooManyRequestsError)
    assert error.retry_after is None or error.retry_after > 1e9


def test_a_status_code_of_many_digits_is_ignored() -> None:
    """18.15: the code of the response counts instead."""
    body = b'{"kind":"Status","message":"slow down","code":%b}' % (b"9" * 400)
    assert error_from_response("GET /x", 429, {}, body).code == 429


@pytest.mark.parametrize("value", VALUES[b"Retry-After"], ids=lambda each: repr(each[:12]))
def test_an_invalid_retry_after_is_ignored(value: bytes) -> None:
    """18.15: dates and numbers out of range."""
    seconds = parse_retry_after(value.decode("utf-8", "surrogateescape"))
    assert seconds is None or seconds >= 0
