"""Listing: which version is asked for, in how many pages, and what a broken list leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from kinform.errors import (
    ApiError,
    DecodeError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    MethodNotAllowedError,
    NotFoundError,
    ResourceVersionTooLargeError,
    TransportError,
    UnauthorizedError,
)
from kinform.informers import (
    DeltaFIFO,
    Phase,
    ReflectorOptions,
    ServerCapabilities,
    Store,
    SyncMode,
    WatchFailure,
)
from kinform.informers.reflector._admission import Admission
from kinform.informers.reflector._quarantine import Quarantine
from kinform.objects import Unstructured
from kinform.testing import virtual_time
from tests.support.answers import pod, pod_list, status
from tests.support.scripted_source import STAY, ScriptedSource, bookmark, contents, reflecting

GONE = ("ERROR", status(410, "Expired"))
# A watch that moved on, was healthy, and then lost its place.
LOST: list[Any] = [10.0, bookmark("11"), GONE]
EXPIRED = ExpiredError("too old", code=410, reason="Expired")
TOO_LARGE = ResourceVersionTooLargeError("too large", code=504, retry_after=1)


def page(*items: Mapping[str, Any], rv: str = "10", token: str = "") -> dict[str, Any]:
    return pod_list(*items, rv=rv, continue_token=token)


# -- the version -----------------------------------------------------------------------------------


@virtual_time
async def test_the_first_list_may_be_any_and_the_watch_goes_on_from_it() -> None:
    script = ScriptedSource().lists(page(pod("a"))).watches([STAY])
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(1)
        assert contents(store) == {"a": "1"}
        assert store.resource_version == "10"
        found = reflector.status()
        assert (found.phase, found.mode, found.synced) == (Phase.WATCHING, SyncMode.LIST, True)
    assert script.trace == ["list 0", "watch 10"]
    listed, watched = (asked.options for asked in script.asked)
    assert (listed.limit, listed.resource_version_match) == (500, "")
    assert watched.allow_watch_bookmarks
    assert not watched.send_initial_events


@virtual_time
async def test_a_source_that_can_stream_is_listed_if_the_options_say_so() -> None:
    script = ScriptedSource(streaming=True).lists(page())
    async with reflecting(script, options=ReflectorOptions(streaming=False)):
        await asyncio.sleep(1)
    assert script.trace == ["list 0", "watch 10"]


@virtual_time
async def test_a_relist_asks_for_nothing_older_than_what_is_known_in_one_piece() -> None:
    script = ScriptedSource().lists(page(), page(rv="20")).watches(LOST)
    async with reflecting(script):
        await asyncio.sleep(20)
    assert script.trace == ["list 0", "watch 10", "list 11", "watch 20"]
    options = script.asked[2].options
    # A version without a limit is served from a cache, and means "at least".
    assert (options.limit, options.resource_version_match) == (None, "")


@virtual_time
async def test_with_pages_at_least_has_to_be_said() -> None:
    script = ScriptedSource().lists(page(), page(rv="20")).watches(LOST)
    async with reflecting(script, options=ReflectorOptions(page_size=7)):
        await asyncio.sleep(20)
    first, relist = script.asked[0].options, script.asked[2].options
    assert (first.limit, first.resource_version_match) == (7, "")
    assert (relist.limit, relist.resource_version_match) == (7, "NotOlderThan")


@virtual_time
async def test_a_server_that_pages_from_any_version_is_asked_for_pages_later() -> None:
    script = ScriptedSource().lists(page(token="t"), page(), page(rv="20")).watches(LOST)
    async with reflecting(script):
        await asyncio.sleep(20)
    assert script.trace == ["list 0", "page newest", "watch 10", "list 11", "watch 20"]
    options = script.asked[3].options
    assert (options.limit, options.resource_version_match) == (500, "NotOlderThan")


@pytest.mark.parametrize("refusal", [EXPIRED, TOO_LARGE], ids=["410", "too large"])
@virtual_time
async def test_a_list_whose_version_is_unusable_asks_for_the_newest_at_once(
    refusal: ApiError,
) -> None:
    script = ScriptedSource().lists(page(), refusal, page(rv="20")).watches(LOST)
    async with reflecting(script) as reflector:
        await asyncio.sleep(20)
        assert reflector.last_sync_resource_version == "20"
    assert script.trace == ["list 0", "watch 10", "list 11", "list newest", "watch 20"]
    assert script.gaps()[2] == 0
    assert script.asked[3].options.limit == 500


@virtual_time
async def test_even_any_version_can_be_refused() -> None:
    script = ScriptedSource().lists(EXPIRED, page())
    async with reflecting(script):
        await asyncio.sleep(5)
    assert script.trace == ["list 0", "list newest", "watch 10"]


@virtual_time
async def test_the_newest_that_is_refused_is_waited_for_and_still_the_newest() -> None:
    script = ScriptedSource().lists(EXPIRED, EXPIRED, EXPIRED, page(), page(rv="20"))
    script.watches(LOST)
    async with reflecting(script):
        await asyncio.sleep(20)
    assert script.trace[:5] == ["list 0", *["list newest"] * 3, "watch 10"]
    assert script.trace[5:] == ["list 11", "watch 20"]  # a list is a new start
    at_once, first, second = script.gaps()[:3]
    assert at_once == 0
    assert 0.8 <= first < 1.6 <= second < 3.2


# -- pages -----------------------------------------------------------------------------------------


@virtual_time
async def test_pages_are_one_list() -> None:
    script = ScriptedSource().lists(page(pod("a"), token="one"), page(token="two"), page(pod("b")))
    store = Store()
    async with reflecting(script, store):
        await asyncio.sleep(1)
        assert contents(store) == {"a": "1", "b": "1"}
    assert script.trace == ["list 0", "page newest", "page newest", "watch 10"]
    tokens = [asked.options.continue_token for asked in script.asked[:3]]
    assert tokens == ["", "one", "two"]
    assert all(asked.options.limit == 500 for asked in script.asked[:3])


@pytest.mark.parametrize("broken", [EXPIRED, page(pod("x"), rv="11")], ids=["410", "other version"])
@virtual_time
async def test_a_list_that_expires_between_pages_starts_again_in_one_piece(broken: Any) -> None:
    script = ScriptedSource().lists(
        page(pod("gone"), token="one"), broken, page(pod("a"), pod("b"), rv="12")
    )
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(1)
        assert contents(store) == {"a": "1", "b": "1"}
        assert reflector.last_sync_resource_version == "12"
        assert reflector.status().errors == {}
    assert script.trace == ["list 0", "page newest", "list 0", "watch 12"]
    assert script.asked[2].options.limit is None


@virtual_time
async def test_no_half_of_a_list_is_ever_seen() -> None:
    full = page(pod("a"), pod("b"))
    script = ScriptedSource().lists(
        full,
        page(pod("a"), rv="20", token="one"),
        TransportError("cut"),
        TransportError("refused"),
        ExpiredError("the token is too old", code=410),
        page(pod("a"), pod("b"), pod("c"), rv="30"),
    )
    script.watches(LOST)
    store = RecordingStore()
    async with reflecting(script, store, options=ReflectorOptions(page_size=1)):
        await asyncio.sleep(30)
    assert store.replaced == [(["default/a", "default/b"], "10"), (ABC, "30")]


@virtual_time
async def test_a_list_cut_between_two_pages_goes_on_with_the_next_at_once() -> None:
    cut = TransportError("cut")
    script = ScriptedSource().lists(
        page(pod("a"), token="one"), cut, page(pod("b"), token="two"), cut, page(pod("c"))
    )
    store = RecordingStore()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(1)
        assert reflector.status().errors == {"TransportError": 2}
    assert store.replaced == [(ABC, "10")]
    tokens = [asked.options.continue_token for asked in script.asked[:5]]
    assert tokens == ["", "one", "one", "two", "two"]
    assert all(gap <= 0.02 for gap in script.gaps()[:4])


ABC = ["default/a", "default/b", "default/c"]


class RecordingStore(Store[Unstructured]):
    """Remembers each complete list."""

    def __init__(self) -> None:
        super().__init__(Unstructured)
        self.replaced: list[tuple[list[str], str]] = []

    def replace(self, objects: Any, resource_version: str = "") -> None:
        objects = list(objects)
        self.replaced.append(([obj.key for obj in objects], resource_version))
        super().replace(objects, resource_version)


@virtual_time
async def test_a_list_without_end_is_an_error_and_not_for_ever() -> None:
    script = ScriptedSource().lists(page(token="x"), page(token="x"), page(pod("a")))
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(5)
        assert contents(store) == {"a": "1"}
        assert reflector.status().errors == {"DecodeError": 1}
    assert script.trace == ["list 0", "page newest", "list 0", "watch 10"]


@virtual_time
async def test_a_server_that_pages_an_unlimited_list_and_expires_is_reported() -> None:
    script = ScriptedSource().lists(
        page(token="x"), EXPIRED, page(token="y"), EXPIRED, page(pod("a"))
    )
    async with reflecting(script) as reflector:
        await asyncio.sleep(5)
        assert reflector.status().errors == {"DecodeError": 1}
        assert reflector.status().synced


# -- refusals and accidents ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "base"),
    [
        (TransportError("refused"), 0.1),
        (DecodeError("no JSON"), 0.8),
        (InvalidError("no", code=422), 0.8),
        (RuntimeError("a bug of the source"), 0.8),
        (UnauthorizedError("who", code=401), 1.6),
        (ForbiddenError("no", code=403), 1.6),
        (NotFoundError("what", code=404), 1.6),
    ],
)
@virtual_time
async def test_a_list_that_fails_is_tried_again_ever_later(error: Exception, base: float) -> None:
    script = ScriptedSource().lists(error, error, error, page(pod("a")))
    heard: list[WatchFailure] = []
    async with reflecting(script, on_watch_error=heard.append) as reflector:
        await asyncio.sleep(60)
        assert reflector.status().synced
    assert script.trace == [*["list 0"] * 4, "watch 10"]
    for number, gap in enumerate(script.gaps("list")):
        assert base * 2**number <= gap < 2 * base * 2**number
    assert [(each.phase, each.attempts) for each in heard] == [
        (Phase.LISTING, 1),
        (Phase.LISTING, 2),
        (Phase.LISTING, 3),
    ]


@virtual_time
async def test_a_table_is_not_a_list_of_objects() -> None:
    table = pod_list(pod("a"))
    table.update(kind="TableList", apiVersion="meta.k8s.io/v1")
    script = ScriptedSource().lists(table, page(pod("b")))
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(5)
        assert contents(store) == {"b": "1"}
        assert reflector.status().errors == {"DecodeError": 1}


@virtual_time
@pytest.mark.parametrize("target", [Store, DeltaFIFO])
async def test_an_object_without_a_name_is_quarantined(target: Any) -> None:
    """18.9: one such object must not fail the whole list."""
    script = ScriptedSource().lists(page(pod(""), pod("b")))
    store = target()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(5)
        assert reflector.status().synced
        assert script.trace == ["list 0", "watch 10"]
        [bad] = reflector.quarantine.values()
    assert str(bad.error) == "a Pod without a name cannot be stored"
    assert (bad.key, bad.resource_version) == ("?1", "1")
    assert b"uid-" in bad.payload


@virtual_time
async def test_a_target_with_its_own_replace_receives_the_list() -> None:
    seen: list[str] = []

    class Mine(DeltaFIFO[Unstructured]):
        def replace_keyed(self, objects: Any, resource_version: str = "") -> None:
            seen.extend(each.name for each in objects.values())

    class Before:
        """Stands before a queue, and hands on what it does not know."""

        def __init__(self) -> None:
            self._queue = DeltaFIFO[Unstructured]()

        def replace(self, objects: Any, resource_version: str = "") -> None:
            seen.extend(each.name for each in objects)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._queue, name)

    for store in (Mine(), Before()):
        async with reflecting(ScriptedSource().lists(page(pod("a"))).watches([STAY]), store):
            await asyncio.sleep(1)
    assert seen == ["a", "a"]


@virtual_time
async def test_a_store_that_refuses_a_list_is_given_it_again() -> None:
    class Refusing(Store[Unstructured]):
        refusals = 1

        def replace(self, objects: Any, resource_version: str = "") -> None:
            if self.refusals:
                self.refusals -= 1
                raise ValueError("not today")
            super().replace(objects, resource_version)

    script = ScriptedSource().lists(page(pod("a")), page(pod("a")))
    store = Refusing(Unstructured)
    heard: list[WatchFailure] = []
    async with reflecting(script, store, on_watch_error=heard.append) as reflector:
        await asyncio.sleep(0)
        assert not reflector.status().synced
        await asyncio.sleep(5)
        assert contents(store) == {"a": "1"}
    assert script.trace == ["list 0", "list 0", "watch 10"]
    assert "not today" in str(heard[0].error)


@virtual_time
async def test_a_list_without_versions_is_watched_from_anywhere_and_listed_after_every_break() -> (
    None
):
    """Nobody could say what was deleted between two such watches."""
    script = ScriptedSource().lists(page(pod("a", rv=""), rv=""), page(pod("b", rv=""), rv=""))
    script.watches([("ADDED", pod("a", rv="")), 10.0, TransportError("cut")])
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(20)
        assert list(contents(store)) == ["b"]
        assert reflector.status().relists == {"no version": 1}
    assert script.trace == ["list 0", "watch newest", "list 0", "watch newest"]


# -- what cannot be watched ------------------------------------------------------------------------


@virtual_time
async def test_what_cannot_be_watched_is_listed_again_and_again() -> None:
    loop = asyncio.get_running_loop()
    options = ReflectorOptions(
        poll_interval=30, capabilities=ServerCapabilities(100, clock=loop.time)
    )
    script = ScriptedSource().watches(MethodNotAllowedError("no watch", code=405))
    script.lists(page(pod("a")), page(pod("b"), rv="11"), page(rv="12"), page(rv="13"))
    script.lists(page(rv="14"))
    store = Store()
    async with reflecting(script, store, options=options) as reflector:
        await asyncio.sleep(29)
        assert reflector.status().phase is Phase.POLLING
        assert contents(store) == {"a": "1"}
        await asyncio.sleep(5)
        assert contents(store) == {"b": "1"}
        assert reflector.status().relists == {"poll": 1}
        await asyncio.sleep(100)  # and after a while it is tried whether it can be watched by now
        assert reflector.status().phase is Phase.WATCHING
    assert script.trace[:3] == ["list 0", "watch 10", "list 10"]
    assert script.trace[-2:] == ["list 13", "watch 14"]
    assert all(30 <= gap < 33.1 for gap in script.gaps("list"))


@virtual_time
async def test_a_poll_that_fails_is_waited_out_like_any_list() -> None:
    script = ScriptedSource().watches(MethodNotAllowedError("no watch", code=405))
    script.lists(page(pod("a")), TransportError("cut"), page(pod("b"), rv="11"))
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(36)
        assert contents(store) == {"b": "1"}
        assert reflector.status().phase is Phase.POLLING


# -- poison ----------------------------------------------------------------------------------------


def poison(name: str, rv: str = "5") -> dict[str, Any]:
    bad = pod(name, rv=rv)
    bad["metadata"]["labels"] = ["no", "labels"]
    return bad


@virtual_time
async def test_an_unreadable_item_is_put_away_and_the_others_are_listed() -> None:
    script = ScriptedSource().lists(page(pod("a"), poison("bad"), pod("b")))
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(1)
        assert contents(store) == {"a": "1", "b": "1"}
        assert list(reflector.quarantine) == ["default/bad"]
        assert reflector.status().phase is Phase.WATCHING


@virtual_time
async def test_an_item_that_was_readable_once_keeps_its_last_good_state_in_the_store() -> None:
    script = ScriptedSource().lists(
        page(pod("x", rv="1")), page(poison("x", "12"), rv="20"), page(pod("x", rv="21"), rv="30")
    )
    script.watches(LOST, LOST)
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(15)
        assert contents(store) == {"x": "1"}
        assert reflector.quarantine["default/x"].resource_version == "12"
        await asyncio.sleep(10)
        assert contents(store) == {"x": "21"}
        assert not reflector.quarantine


@virtual_time
async def test_an_unreadable_item_that_is_gone_from_the_next_list_leaves_quarantine() -> None:
    script = ScriptedSource().lists(page(poison("x")), page(rv="20")).watches(LOST)
    async with reflecting(script) as reflector:
        await asyncio.sleep(5)
        assert "default/x" in reflector.quarantine
        await asyncio.sleep(15)
        assert not reflector.quarantine


@virtual_time
async def test_a_list_of_one_namespace_says_nothing_about_the_quarantine_of_another() -> None:
    shared = Quarantine()
    scripts = [ScriptedSource().lists(page()).watches(LOST), ScriptedSource()]
    scripts[0].lists(page(rv="20"))
    elsewhere = poison("x")
    elsewhere["metadata"]["namespace"] = "other"
    scripts[1].lists(page(elsewhere))
    for script, namespace in zip(scripts, ("default", "other"), strict=True):
        script.listwatch.namespace = namespace
    admissions = [Admission(Unstructured, quarantine=shared) for _ in scripts]
    async with (
        reflecting(scripts[0], admission=admissions[0]),
        reflecting(scripts[1], admission=admissions[1]),
    ):
        await asyncio.sleep(15)
        assert scripts[0].trace == ["list 0", "watch 10", "list 11", "watch 20"]
        assert list(shared) == ["other/x"]
