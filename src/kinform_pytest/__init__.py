"""The pytest fixtures ``kinform_server`` and ``kinform_api``: a new API server for each test.

The plugin is installed with kinform and loads in every pytest run of its users. It is outside the
package ``kinform``, which is only imported by the first test that uses a fixture.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kinform.testing import ApiServer, BlockingApiServer

__all__ = ["kinform_api", "kinform_server"]


def _async_fixture() -> Callable[[Any], Any]:
    """Return the fixture decorator of the installed async plugin."""
    try:
        # Its strict mode requires this decorator; as a pytest plugin, it is already imported.
        import pytest_asyncio
    except ImportError:
        return pytest.fixture
    return pytest_asyncio.fixture


@pytest.fixture
def kinform_server() -> Iterator[BlockingApiServer]:
    """A new embedded API server on its own thread, for a plain ``def`` test."""
    from kinform.testing import ApiServer

    with ApiServer.blocking() as api:
        yield api


@_async_fixture()
async def kinform_api() -> AsyncIterator[ApiServer]:
    """A new embedded API server on the event loop of the test, for an ``async def`` test."""
    from kinform.testing import ApiServer

    async with ApiServer() as api:
        yield api
