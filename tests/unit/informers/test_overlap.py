"""Sources with the same objects, of which one is behind the other."""

from __future__ import annotations

from kinform.informers import Selectors
from tests.support.played_sources import PlayedInformer, PlayedServer

WEB, DB, RED = (Selectors(labels=each) for each in ("app=web", "app=db", "color=red"))


async def test_state_that_only_a_dropped_source_had_leaves_with_it() -> None:
    """19.1: although the other source, which is behind, has the object in an older state."""
    server = PlayedServer()
    server.put("x", app="web")
    async with PlayedInformer(server, WEB, DB) as played:
        await played.catch_up()
        server.put("x", app="db")
        await played.watch(played.source(DB))
        assert played.store == {"x": 2}
        assert played.select(WEB)
        assert played.store == {}
        await played.catch_up()
        assert played.store == {}


async def test_state_that_a_dropped_source_has_seen_leave_leaves_with_it() -> None:
    """19.1: the object is not among those of the dropped source any more, but its state is."""
    server = PlayedServer()
    server.put("x", app="web")
    async with PlayedInformer(server, WEB, DB) as played:
        await played.catch_up()
        server.put("x", app="db")
        server.delete("x")
        await played.watch(played.source(DB), until=3)
        assert played.select(WEB)
        assert played.store == {}
        await played.catch_up()
        assert played.store == {}


async def test_state_that_fields_may_not_select_leaves_with_a_dropped_source() -> None:
    """19.1: fields cannot be compared here, so only the source that is behind can tell."""
    server = PlayedServer()
    server.put("x", app="web")
    named = Selectors(fields="metadata.name=x")
    async with PlayedInformer(server, WEB, named) as played:
        await played.catch_up()
        server.put("x", app="web", color="red")
        await played.watch(played.source(WEB))
        assert played.select(named)
        assert played.store == {}
        await played.watch(played.source(named))
        assert played.store == {"x": 2}


async def test_object_stays_if_the_labels_of_its_state_match_a_source_that_is_behind() -> None:
    """19.1: handlers receive no deletion of an object that is in the old and the new scope."""
    server = PlayedServer()
    server.put("x", app="web", color="red")
    async with PlayedInformer(server, WEB, RED) as played:
        await played.catch_up()
        server.put("x", app="web", color="red", more="x")
        await played.watch(played.source(WEB))
        assert played.select(RED)
        assert played.store == {"x": 2}
        server.delete("x")
        await played.catch_up()
        assert played.store == {}


async def test_object_comes_back_when_the_remaining_source_gets_there() -> None:
    """19.1: what a dropped source took along is added again in a state that is not older."""
    server = PlayedServer()
    server.put("x", app="web")
    async with PlayedInformer(server, WEB, DB) as played:
        await played.catch_up()
        server.put("x", app="web", color="red")
        server.put("x", app="db")
        server.put("x", app="web")
        await played.watch(played.source(DB), until=4)
        assert played.select(WEB)
        assert played.store == {}
        await played.watch(played.source(WEB))
        assert played.store == {}
        await played.catch_up()
        assert played.store == {"x": 4}


async def test_object_stays_until_the_source_that_is_behind_sees_it_leave() -> None:
    """19.1: leaving one selector is no deletion while another has the object, in any state."""
    server = PlayedServer()
    server.put("x", app="web", color="red")
    async with PlayedInformer(server, WEB, RED) as played:
        await played.catch_up()
        server.put("x", color="blue")
        await played.watch(played.source(WEB))
        assert played.store == {"x": 1}
        await played.watch(played.source(RED))
        assert played.store == {}


async def test_selector_that_is_added_again_lists_what_it_left() -> None:
    """19.1: the object is back with the list, though the other source is still behind."""
    server = PlayedServer()
    server.put("x", app="web")
    async with PlayedInformer(server, WEB, DB) as played:
        await played.catch_up()
        server.put("x", app="db")
        await played.watch(played.source(DB))
        played.select(WEB)
        latch = played.select(WEB, DB)
        await played.list(played.source(DB))
        assert latch
        assert played.store == {"x": 2}
        await played.catch_up()
        assert played.store == {"x": 2}
