"""A test in, a fresh embedded API server out: the fixtures ``kinform_server`` and ``kinform_api``.

Installed with kinform, so it loads in every pytest run of its users: the server and all it
needs are imported by the first test that asks for a fixture, never before.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kinform.testing import ApiServer, BlockingApiServer


def _async_fixture() -> Callable[[Any], Any]:
    """How the async plugin at hand wants its fixtures marked."""
    try:
        # In its strict mode it takes no other; it is a pytest plugin, so it is loaded anyway.
        import pytest_asyncio
    except ImportError:
        return pytest.fixture
    return pytest_asyncio.fixture


@pytest.fixture
def kinform_server() -> Iterator[BlockingApiServer]:
    """A fresh embedded API server on a thread of its own, for a plain ``def`` test."""
    from kinform.testing import ApiServer

    with ApiServer.blocking() as api:
        yield api


@_async_fixture()
async def kinform_api() -> AsyncIterator[ApiServer]:
    """A fresh embedded API server on the test's own event loop, for an ``async def`` test."""
    from kinform.testing import ApiServer

    async with ApiServer() as api:
        yield api
