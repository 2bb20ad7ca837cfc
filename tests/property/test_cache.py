"""Whatever happens, a cache shows own writes, nothing outside of its scope, and whole versions."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinform import Cache, KindOptions
from kinform.client import Client
from kinform.informers import Backoff, ReflectorOptions
from kinform.models.core.v1 import ConfigMap
from kinform.testing import ApiServer, faults
from tests.property.cache_world import CacheWorld, selectors_of
from tests.property.history_embedded import CONFIG_MAPS, EMBEDDED_TROUBLES, NAMESPACES
from tests.property.history_runs import Step
from tests.property.test_histories import mixed, steps
from tests.support.waiting import wait_until

# Many more find rare interleavings: KINFORM_CACHE_EXAMPLES=2000.
EXAMPLES = int(os.environ.get("KINFORM_CACHE_EXAMPLES", "60"))

pytestmark = [pytest.mark.usefixtures("silent_logs"), pytest.mark.timeout(180 + 2 * EXAMPLES)]

modes = st.sampled_from(["wait", "overlay"])
any_mode = st.sampled_from(["wait", "overlay", None])
namespaces = st.sampled_from(NAMESPACES[:2])
names = st.sampled_from(["a", "b"])
colors = st.sampled_from(["red", "blue"])
selections = st.sampled_from([None, frozenset({"red"}), frozenset({"red", "blue"})])
# These make a server say that the cache is complete although it is not.
LIES = {"replayed", "changes before the end", "empty page"}

own_writes = st.one_of(
    steps("own_put", modes, namespaces, names, colors),
    steps("own_put", modes, namespaces, names, colors),
    steps("own_patch", modes, namespaces, names, colors),
    steps("own_delete", modes, namespaces, names),
    steps("own_recreate", modes, namespaces, names, colors),
    steps("own_delete_collection", modes, namespaces, colors),
)
foreign_writes = st.one_of(
    steps("put", namespaces, names, colors),
    steps("put", namespaces, names, colors),
    steps("delete", namespaces, names),
)
reads = st.one_of(
    steps("get", any_mode, namespaces, names),
    steps("get", any_mode, namespaces, names),
    steps(
        "list",
        any_mode,
        st.none() | namespaces,
        st.none() | colors,
        st.sampled_from(["labels", "fields"]),
    ),
    steps("peek"),
    steps("read_and_write", modes, namespaces, names, colors),
    steps("write_then_read", modes, namespaces, names, colors),
)
lives = st.one_of(
    steps("remove_informer"),
    steps("release_idle"),
    steps("add_namespace", namespaces),
    steps("remove_namespace", namespaces),
    steps("set_selectors", selections),
)
troubles = st.one_of(
    steps("end_watches", st.booleans()),
    steps("compact"),
    steps("pause", st.sampled_from([0.0, 0.002, 0.01])),
    *(
        steps(
            "trouble_next",
            st.just(verb),
            st.sampled_from(sorted(known.keys() - LIES)),
            st.integers(1, 2),
        )
        for verb, known in EMBEDDED_TROUBLES.items()
    ),
)
script = st.lists(
    mixed({own_writes: 4, foreign_writes: 2, reads: 5, lives: 1, troubles: 1}),
    min_size=5,
    max_size=40,
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
    initial=st.sets(namespaces, min_size=1),
    selected=selections,
    streaming=st.booleans(),
    delay=st.sampled_from([0.0, 0.003, 0.015]),
    idle_timeout=st.sampled_from([None, 0.0001]),
    script=script,
)
def test_reads_have_own_writes_and_one_version_and_nothing_else(
    initial: set[str],
    selected: frozenset[str] | None,
    streaming: bool,
    delay: float,
    idle_timeout: float | None,
    script: list[Step],
) -> None:
    """19: own writes, the scope and versions, whatever happens; nothing hangs or is left."""

    async def play() -> None:
        async with ApiServer() as api, Client(api.config) as client:
            for name in NAMESPACES:
                api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            if delay:
                late = faults.delay_events(delay)
                api.faults.inject(late, verb="watch", resource="configmaps", times=None)
            cache = Cache(
                client,
                namespace=sorted(initial),
                by_kind={ConfigMap: KindOptions(any_of=selectors_of(selected))},
                idle_timeout=idle_timeout,
                options=ReflectorOptions(
                    streaming=streaming,
                    backoff=lambda: Backoff(0.002, cap=0.01),
                    reconnect_backoff=lambda: Backoff(0.002, cap=0.01),
                ),
            )
            cache.index_field(ConfigMap, "metadata.labels.color")
            async with cache:
                await CacheWorld(api, cache, set(initial), selected).play(script)
            await wait_until(
                lambda: not any(each.is_open for each in api.requests.watches(CONFIG_MAPS))
            )
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not others, f"tasks are left: {others}"

    threads = threading.active_count()
    asyncio.run(play())
    assert threading.active_count() <= threads
