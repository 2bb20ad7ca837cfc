"""What client-go's RetryWatcher guarantees, and where a resuming watch differs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kinform.client import EventType
from kinform.controllers.helpers import ResumingWatch
from kinform.errors import (
    BadRequestError,
    ConfigError,
    DecodeError,
    ExpiredError,
    ForbiddenError,
    NotFoundError,
    ServerError,
    ServerTimeoutError,
    ServiceUnavailableError,
    StateError,
    TooManyRequestsError,
    TransportError,
    TruncatedResponseError,
    UnauthorizedError,
    WatchError,
)
from kinform.objects import Unstructured
from kinform.testing import virtual_time
from tests.contract.scripted_watcher import ScriptedWatcher, added, bookmark, event

Seen = list[tuple[str, str]]
GONE = ExpiredError("too old", code=410)


def watch_of(watcher: ScriptedWatcher, version: str = "10") -> ResumingWatch[Unstructured]:
    client: Any = watcher
    return ResumingWatch(client, "v1/pods", version)


async def read(watcher: ScriptedWatcher, *, events: int = 99) -> tuple[Seen, Exception | None]:
    """Return the events, and the error that ended the watch, if there was one within a day."""
    seen: Seen = []
    try:
        async with asyncio.timeout(86_400), watch_of(watcher) as watch:
            async for each in watch:
                seen.append((each.type.value, each.object.resource_version))
                if len(seen) == events:
                    break
    except TimeoutError:
        return seen, None
    except Exception as error:
        return seen, error
    return seen, None


def versions(seen: Seen) -> list[str]:
    return [version for _, version in seen]


@pytest.mark.parametrize("version", ["", "0"])
def test_version_to_continue_from_is_required(version: str) -> None:
    """C-68: such a watch would begin anew with each connection."""
    with pytest.raises(ConfigError, match="needs the version to continue from"):
        watch_of(ScriptedWatcher(), version)


@virtual_time
async def test_watch_continues_after_the_last_event() -> None:
    """C-68: each event once, in order, whatever its type."""
    watcher = ScriptedWatcher(
        added(11, 12),
        [event(EventType.MODIFIED, 13), event(EventType.DELETED, 14)],
        added(15),
    )
    seen, _ = await read(watcher, events=5)
    assert seen == [
        ("ADDED", "11"),
        ("ADDED", "12"),
        ("MODIFIED", "13"),
        ("DELETED", "14"),
        ("ADDED", "15"),
    ]
    assert watcher.versions == ["10", "12", "14"]
    assert watcher.closed == 3


@virtual_time
async def test_bookmarks_move_the_version_and_are_not_returned() -> None:
    """C-68: so that a quiet watch does not expire."""
    watcher = ScriptedWatcher([*added(11), bookmark(50)], added(51))
    seen, _ = await read(watcher, events=2)
    assert versions(seen) == ["11", "51"]
    assert watcher.versions == ["10", "50"]
    assert all(options["bookmarks"] for options in watcher.options)


@pytest.mark.parametrize(
    "error",
    [
        GONE,
        UnauthorizedError("no", code=401),
        ForbiddenError("no", code=403),
        NotFoundError("no such resource", code=404),
        BadRequestError("no", code=400),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("place", ["open", "stream"])
@virtual_time
async def test_final_errors_end_the_watch(error: Exception, place: str) -> None:
    """C-68: a 410 also when the watch is opened, which client-go retries forever."""
    first = [*added(11), error] if place == "stream" else added(11)
    watcher = ScriptedWatcher(first, error)
    seen, found = await read(watcher)
    assert versions(seen) == ["11"]
    assert found is error
    assert len(watcher.opened) == (1 if place == "stream" else 2)


@pytest.mark.parametrize(
    "error",
    [
        TransportError("refused"),
        TruncatedResponseError("cut"),
        WatchError("ended within an event"),
        ServerError("internal", code=500),
        ServiceUnavailableError("busy", code=503),
        ServerTimeoutError("slow", code=504),
        TooManyRequestsError("busy", code=429),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("place", ["open", "stream"])
@virtual_time
async def test_passing_troubles_are_retried(error: Exception, place: str) -> None:
    """C-68: as often as necessary, without a lost or repeated event."""
    trouble: Any = error if place == "open" else [error]
    watcher = ScriptedWatcher(added(11), *[trouble] * 20, added(12))
    seen, _ = await read(watcher, events=2)
    assert versions(seen) == ["11", "12"]
    assert watcher.versions == ["10", *["11"] * 21]


@virtual_time
async def test_delays_grow_only_while_nothing_works() -> None:
    """C-68: client-go starts watches a second apart, also after progress."""
    refused = TransportError("refused")
    watcher = ScriptedWatcher(*[refused] * 6, added(11), added(12), added(13), refused, added(14))
    seen, _ = await read(watcher, events=4)
    assert versions(seen) == ["11", "12", "13", "14"]
    # Before the first connection there is nothing that does not work yet.
    failing, working = watcher.gaps[1:6], watcher.gaps[6:9]
    assert failing[0] < 0.2
    assert max(failing) < 1.6
    assert failing[-1] > failing[0]
    assert all(gap < 0.03 for gap in working)
    assert watcher.gaps[9] < 0.2


@virtual_time
async def test_watches_that_end_at_once_are_not_reopened_in_a_loop() -> None:
    """C-68: a server that accepts and closes is not asked more than it can bear."""
    watcher = ScriptedWatcher(added(11), *[[]] * 10, [2.0], [2.0], added(12))
    seen, _ = await read(watcher, events=2)
    assert versions(seen) == ["11", "12"]
    assert all(gap > 0.099 for gap in watcher.gaps[1:11])
    assert all(1.99 < gap < 2.03 for gap in watcher.gaps[11:13])


@virtual_time
async def test_requested_delay_is_honoured() -> None:
    """C-68: retryAfterSeconds, when the watch is opened and inside the stream."""
    busy = TooManyRequestsError("busy", code=429, retry_after=42.0)
    watcher = ScriptedWatcher(added(11), busy, [busy], added(12))
    await read(watcher, events=2)
    assert watcher.gaps[1] >= 41.99
    assert watcher.gaps[2] >= 41.99


@virtual_time
async def test_connection_that_died_silently_is_replaced() -> None:
    """C-68: client-go relies on the pings of HTTP/2."""
    watcher = ScriptedWatcher([*added(11), 1e6], added(12))
    seen, _ = await read(watcher, events=2)
    assert versions(seen) == ["11", "12"]
    assert 330 <= watcher.gaps[0] <= 631
    assert all(300 <= options["timeout_seconds"] <= 600 for options in watcher.options)


@virtual_time
async def test_event_without_a_version_ends_the_watch() -> None:
    """C-68: it could not be resumed."""
    watcher = ScriptedWatcher([event(EventType.ADDED, "")])
    seen, found = await read(watcher)
    assert seen == []
    assert isinstance(found, WatchError)
    assert "no resource version to continue from" in str(found)


@virtual_time
async def test_iteration_goes_on_after_an_event_that_cannot_be_decoded() -> None:
    """C-68: the program is told, and a reconnect does not repeat the event."""
    watcher = ScriptedWatcher(
        [*added(11), DecodeError("broken", key="default/b", resource_version="12")], added(13)
    )
    async with watch_of(watcher) as watch:
        assert (await anext(watch)).object.resource_version == "11"
        with pytest.raises(DecodeError):
            await anext(watch)
        assert watch.resource_version == "12"
        assert (await anext(watch)).object.resource_version == "13"
    assert watcher.versions == ["10", "12"]


@virtual_time
async def test_cancelled_read_can_be_continued() -> None:
    """C-68: a timeout around one step loses nothing."""
    watcher = ScriptedWatcher([*added(11), 60.0, *added(12)], added(12))
    async with watch_of(watcher) as watch:
        await anext(watch)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(watch), 5)
        assert (await anext(watch)).object.resource_version == "12"
    assert watcher.versions == ["10", "11"]


@virtual_time
async def test_watch_is_open_inside_its_block_only() -> None:
    """C-68: nothing is left open."""
    watcher = ScriptedWatcher(added(11, 12))
    watch = watch_of(watcher)
    with pytest.raises(StateError, match="async with resuming_watch"):
        await anext(watch)
    async with watch:
        await anext(watch)
    assert watcher.closed == 1
    with pytest.raises(StateError):
        await anext(watch)
