"""However the scope of an informer changes, store and handlers end up with what it covers."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kinform.client import Client
from kinform.informers import Backoff, ReflectorOptions
from kinform.testing import ApiServer
from tests.property.history_embedded import EMBEDDED_TROUBLES, NAMESPACES, Token
from tests.property.history_runs import LISTENINGS, Step
from tests.property.live_scope_model import Selection
from tests.property.live_scope_world import LiveScopeWorld
from tests.property.test_histories import acts_of, mixed, steps

# Many more find rare interleavings: KINFORM_SCOPE_EXAMPLES=2000.
EXAMPLES = int(os.environ.get("KINFORM_SCOPE_EXAMPLES", "80"))

pytestmark = [pytest.mark.usefixtures("silent_logs"), pytest.mark.timeout(120 + EXAMPLES)]

namespaces = st.sampled_from(NAMESPACES)
names = st.sampled_from(["a", "b"])
apps = st.sampled_from(["web", "db"])
selections = st.builds(Selection, st.none() | apps, st.none() | names, st.just(()))
# Drawn as a whole: scripts of many small choices would be too large.
SINGLE_SELECTIONS = [
    Selection(app, name) for app in (None, "web", "db") for name in (None, "a", "b")
]
SEVERAL_SELECTIONS = SINGLE_SELECTIONS + [
    Selection(one.app, one.name, (other,))
    for one, other in itertools.combinations(SINGLE_SELECTIONS[1:], 2)
]

writes = st.one_of(
    steps("put", namespaces, names, apps),
    steps("put", namespaces, names, apps),
    steps("delete", namespaces, names),
    steps("recreate", namespaces, names, apps),
    steps("rush", namespaces, names, st.lists(st.none() | apps, min_size=2, max_size=4)),
)


def changes_to(selections: st.SearchStrategy[Selection]) -> dict[st.SearchStrategy[Step], int]:
    """Changes of the scope, with these selections, and how often to draw each kind."""
    return {
        st.one_of(
            steps("add_namespace", namespaces, selections),
            steps("remove_namespace", namespaces),
            steps("set_selectors", selections, st.none() | namespaces),
        ): 3,
        st.one_of(
            steps("add_on_thread", namespaces, selections),
            steps("remove_on_thread", namespaces),
            steps("select_on_thread", selections, st.none() | namespaces),
            steps("toggle_all_at_once", selections),
        ): 1,
        steps(
            "select_slowly",
            selections,
            namespaces,
            st.lists(st.tuples(names, st.none() | apps), max_size=5),
        ): 1,
    }


lives = st.one_of(
    steps("join", st.sampled_from(sorted(LISTENINGS))),
    steps("leave"),
    steps("stop"),
    steps("start"),
)
waits = st.one_of(
    steps("catch_up"),
    steps("await_scope"),
    steps("pause", st.sampled_from([0.0, 0.002, 0.01])),
    steps("pause", st.sampled_from([0.0, 0.002, 0.01])),
)
troubles = st.one_of(
    steps("compact"),
    steps("restart_server"),
    steps("rotate_token"),
    steps("forbid", namespaces),
    steps("allow_all"),
    *(
        steps("trouble_next", st.just(verb), st.sampled_from(sorted(troubles)), st.integers(1, 3))
        for verb, troubles in EMBEDDED_TROUBLES.items()
    ),
)
SINGLE = changes_to(selections)
SEVERAL = changes_to(st.sampled_from(SEVERAL_SELECTIONS))
SHARES = {writes: 4, troubles: 1, waits: 2, lives: 1}

initial_scopes = st.dictionaries(
    namespaces,
    st.builds(Selection, st.none() | apps, st.none(), st.just(())),
    min_size=1,
    max_size=2,
)


@pytest.fixture
def silent_logs() -> Iterator[None]:
    """The expected failures of all examples would hide the one that matters."""
    logger = logging.getLogger("kinform")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    yield
    logger.setLevel(level)


@settings(max_examples=EXAMPLES)
@given(
    initial=initial_scopes,
    streaming=st.booleans(),
    page_size=st.sampled_from([None, 1, 2]),
    before=st.lists(st.one_of(writes, writes, next(iter(SINGLE))), max_size=8),
    acts=acts_of(mixed({**SHARES, **SINGLE})),
)
def test_store_and_handlers_follow_every_change_of_the_scope(
    initial: dict[str, Selection],
    streaming: bool,
    page_size: int | None,
    before: list[Step],
    acts: list[list[Step]],
) -> None:
    options = reflector_options(streaming=streaming, page_size=page_size)
    asyncio.run(play(initial, options, before, [step for act in acts for step in act]))


@settings(max_examples=EXAMPLES)
@given(
    initial=initial_scopes,
    streaming=st.booleans(),
    page_size=st.sampled_from([None, 1, 2]),
    before=st.lists(st.one_of(writes, writes, next(iter(SEVERAL))), max_size=8),
    acts=acts_of(mixed({**SHARES, **SEVERAL})),
)
def test_store_and_handlers_have_the_union_of_several_selectors(
    initial: dict[str, Selection],
    streaming: bool,
    page_size: int | None,
    before: list[Step],
    acts: list[list[Step]],
) -> None:
    """19.1: whatever the sources of one namespace deliver, and in whatever order."""
    options = reflector_options(streaming=streaming, page_size=page_size)
    asyncio.run(play(initial, options, before, [step for act in acts for step in act]))


def reflector_options(*, streaming: bool, page_size: int | None) -> ReflectorOptions:
    return ReflectorOptions(
        streaming=streaming,
        page_size=page_size,
        poll_interval=0.05,
        backoff=lambda: Backoff(0.002, cap=0.01),
        reconnect_backoff=lambda: Backoff(0.002, cap=0.01),
    )


async def play(
    initial: dict[str, Selection], options: ReflectorOptions, before: list[Step], steps: list[Step]
) -> None:
    token = Token()
    async with ApiServer(tokens={token.newest: "somebody"}) as api:
        for name in NAMESPACES:
            api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        async with Client(replace(api.config, credentials=token)) as client:
            world = LiveScopeWorld(api, client, token, initial, options=options)
            with world.sampler:
                await world.play(before, steps)
