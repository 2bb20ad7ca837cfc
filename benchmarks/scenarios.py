"""The scenarios, with the servers and writers that each needs.

Those of informers are in ``informer_scenarios``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from benchmarks.contest import Contender, Scenario, Target
from benchmarks.informer_scenarios import (
    idle_scenario,
    relist_scenario,
    steady_scenario,
    sync_scenario,
)
from benchmarks.metrics import (
    BASELINE,
    CPU,
    EVENT_COST,
    EVENT_RATE,
    IMPORT_CPU,
    IMPORT_WALL,
    MODULES,
    PEAK,
    RATE,
    WALL,
)
from benchmarks.peer_programs import OFFICIAL
from benchmarks.pods import EVENT_SIZE, POD_SIZE, watch_lines
from benchmarks.servers import SERVERS, static_server
from benchmarks.sizes import JUDGED_FROM, Sizes

_OFFICIAL = "official client"
_UNPAGED = f"{_OFFICIAL}, one request"
_PAGED = f"{_OFFICIAL}, pages of 500"
_DISTINCT_LINES = 2000


_LIST_TARGETS = tuple(
    Target(f"{what} at most 1/{parts} of: {peer}", metric, 1 / parts, of=peer)
    for peer in (_UNPAGED, _PAGED)
    for what, metric, parts in (("CPU", CPU, 10), ("peak memory", PEAK, 8))
)


@contextmanager
def list_scenario(sizes: Sizes) -> Iterator[Scenario]:
    """A list of all pods, beside the official client's."""
    with SERVERS[sizes.server](objects=sizes.objects) as server:
        given = {"kubeconfig": str(server.kubeconfig)}
        yield Scenario(
            name="list",
            title=f"list {sizes.objects} pods of {POD_SIZE // 1000} KB; {server.description}",
            contenders=(
                Contender("kinform", "kinform_list", {**given, "read_parts": False}),
                Contender(
                    "kinform, every part read", "kinform_list", {**given, "read_parts": True}
                ),
                Contender(_UNPAGED, "official_list", {**given, "page_size": 0}, peer=OFFICIAL),
                Contender(_PAGED, "official_list", {**given, "page_size": 500}, peer=OFFICIAL),
            ),
            metrics=(CPU, PEAK, BASELINE, WALL),
            targets=_LIST_TARGETS if sizes.objects >= JUDGED_FROM else (),
        )


@contextmanager
def watch_scenario(sizes: Sizes) -> Iterator[Scenario]:
    """A watch over HTTP, beside the official client's. The static server only."""
    with static_server(events=sizes.events) as server:
        given = {"kubeconfig": str(server.kubeconfig)}
        yield Scenario(
            name="watch",
            title=f"watch {sizes.events} events of {EVENT_SIZE // 1000} KB; {server.description}",
            contenders=(
                Contender("kinform", "kinform_watch", given),
                Contender(_OFFICIAL, "official_watch", {**given, "models": True}, peer=OFFICIAL),
                Contender(
                    f"{_OFFICIAL}, plain dicts",
                    "official_watch",
                    {**given, "models": False},
                    peer=OFFICIAL,
                ),
            ),
            metrics=(EVENT_COST, EVENT_RATE, PEAK),
            targets=(),
        )


@contextmanager
def ingest_scenario(sizes: Sizes) -> Iterator[Scenario]:
    """Watch framing and heads from memory, beside decoding the same lines whole."""
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "lines"
        distinct = min(sizes.events, _DISTINCT_LINES)
        lines.write_bytes(b"".join(watch_lines(distinct)))
        given = {"lines": str(lines), "passes": max(sizes.events // distinct, 1)}
        yield Scenario(
            name="ingest",
            title=f"watch lines of {EVENT_SIZE // 1000} KB from memory, one core",
            contenders=(
                Contender("kinform, framing and head", "ingest", {**given, "how": "kinform"}),
                Contender("msgspec, whole", "ingest", {**given, "how": "msgspec"}),
                Contender("json.loads, whole", "ingest", {**given, "how": "json"}),
                Contender(f"{_OFFICIAL}, models", "official_ingest", given, peer=OFFICIAL),
            ),
            metrics=(RATE,),
            targets=(Target("at least 40 000 objects/s", RATE, 40_000, at_least=True),),
        )


@contextmanager
def import_scenario(sizes: Sizes) -> Iterator[Scenario]:
    """The time of one import in a fresh interpreter."""
    yield Scenario(
        name="import",
        title="one import in a fresh interpreter",
        contenders=(
            Contender("import kinform", "import_time", "kinform"),
            Contender("import aiohttp", "import_time", "aiohttp"),
            Contender(
                "import kubernetes.client", "import_time", "kubernetes.client", peer=OFFICIAL
            ),
        ),
        metrics=(IMPORT_WALL, IMPORT_CPU, MODULES),
        targets=(Target("at most 0.25 s", IMPORT_WALL, 0.25),),
        repeats=sizes.repeats,
    )


SCENARIOS: dict[str, Callable[[Sizes], AbstractContextManager[Scenario]]] = {
    "list": list_scenario,
    "watch": watch_scenario,
    "ingest": ingest_scenario,
    "import": import_scenario,
    "sync": sync_scenario,
    "steady": steady_scenario,
    "relist": relist_scenario,
    "idle": idle_scenario,
}
