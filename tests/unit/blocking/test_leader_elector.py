"""Leader election for programs with threads."""

from __future__ import annotations

import inspect
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from kinform import blocking
from kinform.controllers import LeaderElector as AsyncElector
from kinform.controllers import Leadership
from kinform.errors import AlreadyStartedError, ConfigError, LeadershipLostError
from kinform.models.coordination.v1 import Lease
from kinform.testing import BlockingApiServer, faults
from tests.support.processes import python


@pytest.fixture
def client(kinform_server: BlockingApiServer) -> Iterator[blocking.Client]:
    with blocking.Client(kinform_server.config) as client:
        yield client


def elector_of(client: blocking.Client) -> blocking.LeaderElector:
    return blocking.LeaderElector(
        client, "web", identity="a", lease_duration=1.5, renew_deadline=1.0, retry_period=0.2
    )


def holder(server: BlockingApiServer) -> str | None:
    return server.get(Lease, "web", "default").spec.holder_identity


def test_options_are_those_of_the_async_elector() -> None:
    options = set(inspect.signature(AsyncElector).parameters) - {"client", "name"}

    assert options == set(blocking.LeaderElectorOptions.__annotations__)


def test_work_runs_on_a_thread_and_its_end_releases_the_lease(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    seen: list[object] = []
    elector = elector_of(client)

    def work(leadership: Leadership) -> None:
        leadership.check()
        seen.append((threading.current_thread().name, holder(kinform_server), elector.is_leader))

    elector.run(work)

    assert seen == [("leader web", "a", True)]
    assert holder(kinform_server) is None
    assert not elector.is_leader
    assert repr(elector) == "<blocking LeaderElector a of default/web, stopped>"


def test_lease_is_renewed_while_the_work_blocks(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    elector = elector_of(client)

    def work(leadership: Leadership) -> None:
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            leadership.check()

    elector.run(work, again=False)


def test_lost_leadership_sets_the_latch_and_work_runs_again(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    tokens: list[int] = []
    elector = elector_of(client)

    def work(leadership: Leadership) -> None:
        tokens.append(leadership.token)
        if len(tokens) == 1:
            kinform_server.faults.inject(faults.unavailable(), resource="leases", times=None)
            assert leadership.lost.wait(timeout=20)
            kinform_server.faults.clear()

    elector.run(work)

    assert tokens == [0, 1]


def test_loss_without_again_and_error_of_the_work_are_raised(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    elector = elector_of(client)

    def lose(leadership: Leadership) -> None:
        kinform_server.delete(Lease, "web", "default")
        foreign = Lease().copy()
        foreign.metadata.name, foreign.metadata.namespace = "web", "default"
        foreign.spec.holder_identity, foreign.spec.lease_duration_seconds = "b", 1
        kinform_server.create(foreign)
        leadership.lost.wait(timeout=20)

    def fail(leadership: Leadership) -> None:
        raise ValueError("broken")

    with pytest.raises(LeadershipLostError, match="b has it"):
        elector.run(lose, again=False)
    with pytest.raises(ValueError, match="broken"):
        elector.run(fail)


def test_stop_from_another_thread_waits_for_the_work(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    elector = elector_of(client)
    is_leaving = threading.Event()

    def work(leadership: Leadership) -> None:
        leadership.lost.wait()
        assert is_leaving.wait(20)
        leadership.check()

    with ThreadPoolExecutor() as pool:
        run = pool.submit(elector.run, work)
        assert elector.elected.wait(20)
        with pytest.raises(AlreadyStartedError):
            elector.run(work)
        elector.stop()
        assert elector.is_running
        is_leaving.set()
        run.result(20)

    assert holder(kinform_server) is None


def test_background_election_in_a_with_block(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    elector = elector_of(client)
    with elector:
        assert elector.elected.wait(20)
        assert elector.leadership is not None
        assert elector.leader == elector.status().leader == "a"
        assert elector.problems() == ()

    assert holder(kinform_server) is None
    assert elector.stopped


def test_wrong_arguments(client: blocking.Client) -> None:
    async def work(leadership: Leadership) -> None: ...

    with pytest.raises(ConfigError, match="work must not be async"):
        blocking.LeaderElector(client, "web").run(work)
    with pytest.raises(ConfigError, match="LeaderElector takes a"):
        blocking.LeaderElector(None, "web")  # type: ignore[arg-type]


def test_ctrl_c_stops_the_work_and_releases_the_lease(kinform_server: BlockingApiServer) -> None:
    process = python(
        kinform_server,
        """
import sys
from kinform import blocking

def work(leadership):
    print("working", flush=True)
    leadership.lost.wait()
    leadership.check()
    print("stopped", flush=True)

with blocking.Client.from_kubeconfig(sys.argv[1]) as client:
    try:
        blocking.LeaderElector(client, "web").run(work)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
""",
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)

    assert (out, err) == ("stopped\ninterrupted\n", "")
    assert holder(kinform_server) is None
