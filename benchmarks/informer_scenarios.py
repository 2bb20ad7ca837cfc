"""The scenarios of informers: whole programs on one server, one after the other.

Never two at once: on two cores, each would be measured by the CPU time that the others left.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from benchmarks.changes import CHANGED_PODS, RATE, compact, prepare_changes, writer
from benchmarks.contest import Contender, Scenario, Target
from benchmarks.conversation import Conversation
from benchmarks.informer_targets import (
    BARE,
    EVERYTHING,
    GO,
    GO_JSON,
    KINFORM,
    PYTHON,
    RUST,
    STEADY_TARGETS,
    STRIPPED,
    SYNC_TARGETS,
    TWO_FIELDS,
    TYPED,
    TYPED_JSON,
    TYPED_TARGETS,
    UNHURRIED,
)
from benchmarks.metrics import (
    CPU,
    DELAY,
    LATE,
    PEAK,
    RELIST_GROWTH,
    RELIST_PEAK,
    REST,
    SEEN,
    SERVER_CPU,
    SHARE,
    STEADY_COST,
    THREADS,
    WALL,
)
from benchmarks.peer_programs import CLIENT_GO, KUBE_RS, OFFICIAL
from benchmarks.pods import POD_SIZE
from benchmarks.servers import SERVERS, Server, real_server
from benchmarks.sizes import JUDGED_FROM, Sizes
from benchmarks.writer import STAMP

_INFORMERS = 100
# The last events are still on their way when the writer is done.
_LINGER_SECONDS = 1.0


class WrongServerError(Exception):
    """The scenario cannot be held on the chosen server; says which one it wants."""


def _contenders(given: dict[str, object]) -> tuple[Contender, ...]:
    """One program each, told by its mode what to do."""
    return (
        Contender(KINFORM, "kinform_sync", given),
        Contender(GO, None, {**given, "content": "protobuf"}, CLIENT_GO),
        Contender(GO_JSON, None, {**given, "content": "json"}, CLIENT_GO),
        Contender(RUST, None, given, KUBE_RS),
        # A minute each time.
        Contender(PYTHON, "official_python", given, OFFICIAL, at_most_rounds=1),
    )


def _given(server: Server, sizes: Sizes, **more: object) -> dict[str, object]:
    return {
        "kubeconfig": str(server.kubeconfig),
        "objects": sizes.objects,
        "stamp": STAMP,
        "rest": sizes.rest,
        **more,
    }


def _server(sizes: Sizes, *, objects: int) -> AbstractContextManager[Server]:
    """The chosen one; the static server does not know enough about watches."""
    return SERVERS["embedded" if sizes.server == "static" else sizes.server](objects=objects)


def _pods(sizes: Sizes) -> str:
    return f"{sizes.objects} pods of {POD_SIZE // 1000} KB"


@contextmanager
def sync_scenario(sizes: Sizes) -> Iterator[Scenario]:
    """From the start of the process until the handler has had every object."""
    with _server(sizes, objects=sizes.objects) as server:
        given = _given(server, sizes, mode="sync")
        yield Scenario(
            name="sync",
            title=f"initial sync of {_pods(sizes)}; {server.description}",
            contenders=(
                *_contenders(given),
                Contender(TYPED, "kinform_sync", {**given, "typed": True}),
                Contender(STRIPPED, "kinform_sync", {**given, "typed": True, "strip": True}),
                Contender(TYPED_JSON, "kinform_sync", {**given, "typed": True, "wire": "json"}),
                Contender(
                    TWO_FIELDS, "kinform_sync", {**given, "typed": True, "reads": "two fields"}
                ),
                Contender(
                    EVERYTHING, "kinform_sync", {**given, "typed": True, "reads": "everything"}
                ),
            ),
            metrics=(CPU, WALL, REST, PEAK, *((SERVER_CPU,) if server.cluster else ())),
            server_cpu=server.cluster.apiserver_cpu if server.cluster else None,
            targets=((*SYNC_TARGETS, *TYPED_TARGETS) if sizes.objects >= JUDGED_FROM else ()),
            # A second of work is up to twice as long when others want the same two cores.
            rounds=5,
        )


@contextmanager
def steady_scenario(sizes: Sizes) -> Iterator[Scenario]:
    """A steady stream of changes after the sync. The real server only."""
    if sizes.server != "real":
        raise WrongServerError(
            "this scenario requires --server=real, whose pods can be changed in etcd"
        )
    events = RATE * sizes.seconds
    with (
        real_server(objects=sizes.objects) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        assert server.cluster is not None
        etcd_url = server.cluster.etcd_url
        pods = Path(folder) / "pods"
        prepare_changes(server.cluster, min(CHANGED_PODS, sizes.objects), pods)

        def drive(contender: Conversation) -> None:
            compact(etcd_url)
            with writer(etcd_url, pods, events=events, rate=RATE) as write:
                time.sleep(sizes.rest)
                contender.say("go")
                write()
                time.sleep(_LINGER_SECONDS)
                contender.say("stop")

        given = _given(server, sizes, mode="steady")
        yield Scenario(
            name="steady",
            title=f"{RATE} changes/s for {sizes.seconds} s, {_pods(sizes)}; {server.description}",
            contenders=(
                *_contenders(given),
                Contender(TYPED, "kinform_sync", {**given, "typed": True}),
                Contender(
                    UNHURRIED, "kinform_sync", {**given, "typed": True, "watch_latency": 0.004}
                ),
                Contender(
                    "kinform, handler on a thread", "kinform_sync", {**given, "threaded": True}
                ),
                Contender(
                    "kinform, every part read", "kinform_sync", {**given, "read_parts": True}
                ),
                Contender(BARE, None, {**given, "mode": "bare"}, CLIENT_GO),
            ),
            metrics=(STEADY_COST, SEEN, DELAY, LATE),
            targets=STEADY_TARGETS if sizes.objects >= JUDGED_FROM else (),
            drive=drive,
        )


@contextmanager
def relist_scenario(sizes: Sizes) -> Iterator[Scenario]:
    """A second list of the same objects, because the first watch has expired."""
    with _server(sizes, objects=sizes.objects) as server:
        yield Scenario(
            name="relist",
            title=f"relist of {_pods(sizes)}, none changed; {server.description}",
            contenders=(Contender(KINFORM, "kinform_relist", _given(server, sizes)),),
            metrics=(REST, RELIST_PEAK, RELIST_GROWTH),
            targets=(Target("peak at most 1.2 of memory at rest", RELIST_GROWTH, 1.2),),
        )


@contextmanager
def idle_scenario(sizes: Sizes) -> Iterator[Scenario]:
    """Many informers in one process, and nothing to do for them."""
    with _server(sizes, objects=_INFORMERS) as server:
        given = {
            "kubeconfig": str(server.kubeconfig),
            "informers": _INFORMERS,
            "seconds": sizes.seconds,
        }
        yield Scenario(
            name="idle",
            title=f"{_INFORMERS} idle informers in one process; {server.description}",
            contenders=(
                Contender(
                    "kinform, an async handler each",
                    "kinform_idle",
                    {**given, "async_handlers": True},
                ),
                Contender(
                    "kinform, a handler with a thread each",
                    "kinform_idle",
                    {**given, "async_handlers": False},
                ),
            ),
            metrics=(SHARE, THREADS, REST),
            targets=(
                Target("at most 1 % of a core", SHARE, 1.0),
                Target("at most 3 threads", THREADS, 3),
            ),
        )
