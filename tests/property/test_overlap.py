"""Every order in which sources with the same objects list, watch, come and go."""

from __future__ import annotations

import asyncio
import itertools
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinform.informers import Latch, Selectors
from tests.support.played_sources import PlayedInformer, PlayedServer, matches

# Many more find rare interleavings: KINFORM_OVERLAP_EXAMPLES=20000.
EXAMPLES = int(os.environ.get("KINFORM_OVERLAP_EXAMPLES", "600"))

pytestmark = pytest.mark.timeout(120 + EXAMPLES)

SELECTORS = [
    *(Selectors(labels=each) for each in ("app=web", "app=db", "color=red")),
    Selectors(labels="app", fields="metadata.name=x"),
]
SELECTIONS = [list(each) for size in (2, 1, 3) for each in itertools.combinations(SELECTORS, size)]
# Few choices, so that the same object is often in several sources, and one of them is behind.
LABELS = [{"app": "web"}, {"app": "db"}, {"color": "red"}, {"app": "web", "color": "red"}]
names = st.sampled_from(["x", "x", "x", "y"])
labels = st.sampled_from(LABELS)
selections = st.sampled_from(SELECTIONS)
sources = st.integers(0, 2)
Step = tuple[object, ...]
writes = st.one_of(
    st.tuples(st.just("put"), names, labels),
    st.tuples(st.just("put"), names, labels),
    st.tuples(st.just("put"), names, labels),
    st.tuples(st.just("delete"), names),
)
deliveries = st.one_of(
    st.tuples(st.just("watch"), sources),
    st.tuples(st.just("watch"), sources),
    st.tuples(st.just("drain"), sources),
    st.tuples(st.just("drain"), sources),
    st.tuples(st.just("list"), sources, st.integers(0, 40)),
    st.tuples(st.just("bookmark"), sources),
)
changes = st.tuples(st.just("select"), selections)
rounds = st.tuples(
    st.lists(writes, min_size=2, max_size=4),
    st.lists(deliveries, min_size=1, max_size=3),
    st.lists(changes, max_size=1),
    st.lists(deliveries, max_size=2),
)
scripts = st.lists(rounds, min_size=3, max_size=8).map(
    lambda found: [step for one in found for part in one for step in part]
)


class Play:
    """Plays a script, and checks the store after each step."""

    def __init__(self, initial: list[Selectors]) -> None:
        self._server = PlayedServer()
        self._informer = PlayedInformer(self._server, *initial)
        self._requests: list[tuple[list[Selectors], Latch | None]] = [(initial, None)]
        self._newest: dict[str, int] = {}

    async def run(self, script: list[Step], *, is_synced: bool) -> None:
        async with self._informer:
            if is_synced:
                await self._informer.catch_up()
            for step in script:
                await self._act(*step)
                self._check()
            await self._informer.catch_up()
            self._check()
            selectors, _ = self._requests[-1]
            assert all(latch for _, latch in self._requests[1:])
            assert self._informer.store == self._server.selected(selectors, self._server.version)

    async def _act(self, kind: object, what: object, more: object = None) -> None:
        server, informer = self._server, self._informer
        if isinstance(what, str):
            if isinstance(more, dict):
                server.put(what, **more)
            elif what in server.objects(server.version):
                server.delete(what)
        elif isinstance(what, list):
            self._requests.append((what, None))
            self._requests[-1] = (what, informer.select(*what))
        elif isinstance(what, int) and informer.sources:
            source = informer.sources[what % len(informer.sources)]
            if kind == "list" and isinstance(more, int):
                await informer.list(source, more)
            elif source.synced and kind == "watch":
                await informer.watch(source)
            elif source.synced and kind == "drain":
                await informer.watch(source, self._server.version)
            elif source.synced:
                await informer.bookmark(source)

    def _check(self) -> None:
        done = [at for at, (_, latch) in enumerate(self._requests) if latch]
        valid = [each for one, _ in self._requests[max(done, default=0) :] for each in one]
        for name, version in self._informer.store.items():
            state = self._server.objects(version)[name][1]
            assert any(matches(each, name, state) for each in valid), (
                f"{name}@{version} is out of scope"
            )
            assert version >= self._newest.get(name, 0), f"{name} went back to {version}"
            self._newest[name] = version
            assert self._informer.has_source_of(name), f"no source has {name}@{version}"


@settings(max_examples=EXAMPLES)
@given(initial=selections, is_synced=st.booleans(), script=scripts)
def test_store_is_in_scope_never_goes_back_and_ends_with_the_union(
    initial: list[Selectors], is_synced: bool, script: list[Step]
) -> None:
    """19.1: after each step; a change of the scope is complete as soon as its latch is set."""
    asyncio.run(Play(initial).run(script, is_synced=is_synced))
