"""A manager without ``await``: ``def`` reconcilers, latches, signals."""

from __future__ import annotations

import inspect
import signal
import threading
import typing
from collections.abc import Iterator
from typing import Any

import pytest

from kinform import Client, blocking
from kinform.controllers import Context, Controller, Request
from kinform.controllers import Manager as AsyncManager
from kinform.errors import ConfigError, StateError
from kinform.models.core.v1 import ConfigMap
from kinform.testing import BlockingApiServer
from tests.support.config_maps import config_map
from tests.support.processes import python


@pytest.fixture
def client(kinform_server: BlockingApiServer) -> Iterator[blocking.Client]:
    kinform_server.create(config_map("a"))
    with blocking.Client(kinform_server.config) as client:
        yield client


def _threads() -> set[str]:
    return {each.name for each in threading.enumerate()}


def test_def_reconcilers_run_on_threads_and_use_the_blocking_client(
    client: blocking.Client,
) -> None:
    found: list[str] = []
    done = threading.Event()
    before = _threads()

    def reconcile(request: Request, context: Context[Any]) -> None:
        found.append(manager.client.get(ConfigMap, request.name, namespace=request.namespace).name)
        if request.name == "a":
            done.set()

    manager = blocking.Manager(client, election=blocking.LeaderElector(client, "maps"))
    manager.add(Controller("maps", reconcile, for_=ConfigMap))
    with manager:
        assert manager.elected.wait(20)
        assert done.wait(20)
        assert manager.is_leader
        assert manager.health().ready
        assert [each.name for each in manager.status().components] == ["maps"]
        # Added while it runs, on any thread.
        manager.add(Controller("late", reconcile, for_=ConfigMap))
        manager.remove("late")

    assert "a" in found
    assert manager.is_stopped
    assert {name for name in _threads() - before if "maps" in name or "late" in name} == set()


def test_the_error_of_a_component_reaches_the_thread_that_waits(client: blocking.Client) -> None:
    manager = blocking.Manager(client)

    async def broken() -> None:
        raise RuntimeError("disk full")

    manager.add(broken)
    with pytest.raises(RuntimeError, match="disk full"):
        manager.run()


def test_clusters_share_the_loop_thread(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    loop = blocking.LoopThread(name="shared")
    loop.start()
    try:
        with (
            blocking.Client(kinform_server.config, loop=loop) as first,
            blocking.Client(kinform_server.config, loop=loop) as second,
        ):
            manager = blocking.Manager(first)
            with manager:
                assert manager.ready.wait(20)
                manager.add_cluster("west", second, cache=blocking.Cache(second))
                with pytest.raises(ConfigError, match="has another loop thread"):
                    manager.add_cluster("east", client)
                manager.remove_cluster("west")
                assert manager.status().clusters == ("",)
    finally:
        loop.stop()


def test_a_recorder_of_its_own_is_used(client: blocking.Client) -> None:
    recorder = blocking.EventRecorder(client, "web-controller")
    with blocking.Manager(client, recorder=recorder) as manager:
        assert manager.ready.wait(20)
        assert recorder.is_running
        assert manager.recorder is recorder._inner
    assert recorder.is_stopped


def test_wrong_arguments_are_refused(client: blocking.Client) -> None:
    with pytest.raises(ConfigError, match=r"blocking\.Client"):
        blocking.Manager(client._inner)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"election= takes a kinform\.blocking\.LeaderElector"):
        blocking.Manager(client, election="web")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"recorder= takes a kinform\.blocking\.EventRecorder"):
        blocking.Manager(client, recorder="web")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"cache= takes a kinform\.blocking\.Cache"):
        blocking.Manager(client, cache="web")  # type: ignore[arg-type]


def test_options_are_those_of_the_async_manager() -> None:
    taken = typing.get_type_hints(blocking.ManagerOptions).keys()
    offered = inspect.signature(AsyncManager).parameters.keys()

    assert taken | {"client", "cache", "election", "recorder"} == set(offered)


def test_an_async_client_is_not_accepted(kinform_server: BlockingApiServer) -> None:
    with pytest.raises(ConfigError):
        blocking.Manager(Client(kinform_server.config))  # type: ignore[arg-type]


def test_signals_need_the_main_thread(client: blocking.Client) -> None:
    errors: list[Exception] = []

    def run() -> None:
        try:
            blocking.Manager(client).run_until_signal()
        except StateError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()

    assert "must be called in the main thread" in str(errors[0])


_PROGRAM = """
import sys, threading
from kinform import blocking
from kinform.controllers import Controller
from kinform.models.core.v1 import ConfigMap

reached, may_finish = threading.Event(), threading.Event()

def reconcile(request, context):
    if request.name == "a":
        print("working", flush=True)
        may_finish.wait(0.5)
        print("finished", flush=True)

with blocking.Client.from_kubeconfig(sys.argv[1]) as client:
    manager = blocking.Manager(client, grace=10)
    manager.add(Controller("maps", reconcile, for_=ConfigMap))
    manager.run_until_signal()
print([each.name for each in threading.enumerate()])
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_reconcile_finish(
    kinform_server: BlockingApiServer, number: signal.Signals
) -> None:
    kinform_server.create(config_map("a"))
    process = python(kinform_server, _PROGRAM)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "working\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()

    assert (process.returncode, err) == (0, "")
    assert out.splitlines() == ["finished", "['MainThread']"]
