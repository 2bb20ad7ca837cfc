"""A server on loopback, a client of it, and engines that do not wait as long as real ones."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from kinform.client import Client
from kinform.testing import ApiServer


@pytest.fixture
async def api() -> AsyncIterator[ApiServer]:
    async with ApiServer() as api:
        yield api


@pytest.fixture
async def client(api: ApiServer) -> AsyncIterator[Client]:
    async with Client(api.config, timeout=0.2) as client:
        yield client


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds become hundredths: what is due within a minute is due at once."""
    monkeypatch.setattr("kinform.informers.reflector._streamed_list._FIRST_SILENCE", 0.2)
    monkeypatch.setattr("kinform.informers.reflector._streamed_list._NEXT_SILENCE", 0.2)
    monkeypatch.setattr("kinform.informers.reflector._recovery._LONGEST_RETRY_AFTER", 0.02)
    monkeypatch.setattr("kinform.informers.reflector._silence_limit.MEANINGFUL_SILENCE", 0.1)
