"""What a reflector and its informer report while a server refuses them, and afterwards."""

from __future__ import annotations

import asyncio
import logging

import pytest

from kinform.errors import ForbiddenError, NoMatchError, NotFoundError, TransportError
from kinform.informers import PastError, SharedIndexInformer
from kinform.testing import virtual_time
from tests.support.answers import pod, pod_list
from tests.support.scripted_source import STAY, ScriptedSource, reflecting

GONE = NoMatchError("the server has no pods")
DENIED = ForbiddenError("no role", code=403, reason="Forbidden")


def lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno == level]


@virtual_time
async def test_a_broken_informer_says_that_it_is_not_updated_and_why() -> None:
    """18.11: "synced" alone hides that the cache is out of date."""
    script = ScriptedSource().lists(pod_list(pod("a"))).watches([GONE]).lists(*[GONE] * 90)
    informer = SharedIndexInformer(script.listwatch)
    async with informer:
        await informer.has_synced
        await asyncio.sleep(32)
        status = informer.status()
        assert status.sync.synced
        assert str(status.sync) == "synced, but not updated for 32 s: the server has no pods"
        assert status.last_error is GONE


@virtual_time
async def test_first_sync_and_recovery_are_logged_and_errors_become_history(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """18.11: a log that reports a failure also reports its end."""
    caplog.set_level(logging.INFO)
    script = ScriptedSource().lists(pod_list(pod("a"))).watches(DENIED, [STAY])
    informer = SharedIndexInformer(script.listwatch, name="pods")
    async with informer:
        await asyncio.sleep(1)
        assert str(informer.sync_status()).startswith("synced, but not updated for 1 s: no role")
        await asyncio.sleep(20)
        status = informer.status()
    assert str(status.sync) == "synced"
    assert status.last_error is None
    [past] = status.recent_errors
    assert isinstance(past, PastError)
    assert (past.kind, past.message) == ("Forbidden", str(DENIED))
    assert past.age > 20
    synced, recovered = lines(caplog, logging.INFO)
    assert synced.startswith("pods has synced: 1 objects after 0.")
    assert recovered.startswith("pods: recovered after ")


@virtual_time
async def test_the_history_is_short() -> None:
    """18.11: the newest ten errors are kept."""
    script = ScriptedSource().lists(*[TransportError(str(number)) for number in range(15)])
    async with reflecting(script) as reflector:
        await asyncio.sleep(300)
        recent = reflector.status().recent_errors
    assert [each.message for each in recent] == [str(number) for number in range(5, 15)]


@pytest.mark.parametrize("refusal", [GONE, DENIED, NotFoundError("gone", code=404)], ids=repr)
@virtual_time
async def test_the_first_refusal_is_a_warning_even_after_a_lost_connection(
    caplog: pytest.LogCaptureFixture, refusal: Exception
) -> None:
    """18.11: it was a warning only as the first failure, and never for NoMatchError."""
    script = ScriptedSource().lists(TransportError("cut"), refusal, pod_list())
    async with reflecting(script):
        await asyncio.sleep(60)
    (warning,) = lines(caplog, logging.WARNING)
    assert "listing failed (attempt 2, " in warning


@virtual_time
async def test_the_log_says_that_a_plain_list_follows(caplog: pytest.LogCaptureFixture) -> None:
    """18.11: "next attempt now" does not say that another request is tried."""
    script = ScriptedSource(streaming=True).watches(DENIED, [STAY]).lists(pod_list(pod("a")))
    async with reflecting(script):
        await asyncio.sleep(5)
    (warning,) = lines(caplog, logging.WARNING)
    assert warning.endswith("; trying a plain list now")
