"""The number of Python calls between a socket and a handler, which decides the cost of an event."""

from __future__ import annotations

import sys

import pytest

from kinform._native import IS_COMPILED
from tests.support.call_recorder import calls_of_an_event

MOST_CALLS = 51
"""Of Python functions outside of asyncio, for one typed event over TLS, with the handler itself."""


@pytest.mark.skipif(not IS_COMPILED, reason="the fallbacks of compiled code are Python calls")
@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer changes what is called")
async def test_calls_from_socket_to_async_handler() -> None:
    functions = [call.function for call in await calls_of_an_event()]
    assert functions[0] == "TlsLine.get_buffer", "the count does not begin at the socket"
    assert "WatchEventApplier.take" in functions
    assert len(functions) <= MOST_CALLS, "\n".join(functions)
