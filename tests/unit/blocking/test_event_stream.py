"""``for event in informer.events()``: the snapshot and the tail, and every way in which it ends."""

from __future__ import annotations

import asyncio
import gc
import itertools
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kinform import blocking
from kinform.api import GVR
from kinform.blocking import EventStream, ListWatch, SharedIndexInformer
from kinform.errors import AlreadyStoppedError, StateError
from kinform.informers import ChangeType, Latch
from kinform.informers import EventStream as AsyncEventStream
from kinform.objects import Unstructured
from kinform.testing import BlockingApiServer
from tests.support.processes import output_of, python

MAPS = GVR("", "v1", "configmaps")


def config_map(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.fixture
def client(kinform_server: BlockingApiServer) -> Iterator[blocking.Client]:
    kinform_server.create(config_map("a"))
    with blocking.Client(kinform_server.config) as client:
        yield client


@pytest.fixture
def informer(client: blocking.Client) -> Iterator[SharedIndexInformer[Unstructured]]:
    source = ListWatch.for_resource(client, MAPS, namespace="default")
    with SharedIndexInformer(source) as informer:
        assert informer.has_synced.wait(20)
        yield informer


class Reader:
    """Reads a stream to its end on a thread of its own."""

    def __init__(self, stream: EventStream[Unstructured]) -> None:
        self.keys: list[str] = []
        self.error: BaseException | None = None
        self.has_read = Latch("the first event was read")
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()
        assert self.has_read.wait(20)

    def _read(self, stream: EventStream[Unstructured]) -> None:
        try:
            for event in stream:
                self.keys.append(event.key)
                self.has_read.set()
        except BaseException as error:
            self.error = error

    def has_ended(self) -> bool:
        self._thread.join(20)
        return not self._thread.is_alive() and self.error is None


def test_no_name_of_the_async_stream_is_missing() -> None:
    names = {each for each in dir(AsyncEventStream) if not each.startswith("_")}

    assert names <= set(dir(EventStream))


def test_it_gives_what_is_there_and_then_what_changes(
    client: blocking.Client, informer: SharedIndexInformer[Unstructured]
) -> None:
    stream = informer.events(name="mine")
    first = next(stream)
    assert stream.has_synced
    client.create(config_map("b"))
    client.delete(MAPS, "b", namespace="default")
    added, deleted = itertools.islice(stream, 2)

    assert (first.key, first.is_in_initial_list) == ("default/a", True)
    assert (added.type, added.key) == (ChangeType.ADDED, "default/b")
    assert added.object is not None
    assert added.object.name == "b"
    assert (deleted.type, deleted.key) == (ChangeType.DELETED, "default/b")
    assert stream.stats.processed == 3
    assert stream.name.endswith("/mine")


def test_the_informers_of_a_factory_have_it_too(client: blocking.Client) -> None:
    factory = blocking.DynamicSharedInformerFactory(client, namespace="default")
    maps = factory.for_resource(MAPS)
    # Opened before the start, it waits for it.
    stream = maps.informer.events()
    with factory:
        assert next(stream).key == "default/a"

    assert list(stream) == []


def _close(stream: EventStream[Unstructured], _: SharedIndexInformer[Unstructured]) -> None:
    stream.close()


def _leave(stream: EventStream[Unstructured], _: SharedIndexInformer[Unstructured]) -> None:
    with stream:
        pass


def _stop(_: EventStream[Unstructured], informer: SharedIndexInformer[Unstructured]) -> None:
    informer.stop()


@pytest.mark.parametrize("end", [_close, _leave, _stop], ids=["close", "with", "stop"])
def test_who_waits_for_the_next_event_is_let_go(
    informer: SharedIndexInformer[Unstructured],
    end: Callable[[EventStream[Unstructured], SharedIndexInformer[Unstructured]], None],
) -> None:
    stream = informer.events()
    reader = Reader(stream)

    end(stream, informer)

    assert reader.has_ended()
    assert reader.keys == ["default/a"]
    assert stream.is_closed
    assert list(stream) == []


def test_closing_the_client_lets_go_who_waits(kinform_server: BlockingApiServer) -> None:
    kinform_server.create(config_map("a"))
    client = blocking.Client(kinform_server.config)
    informer = SharedIndexInformer(ListWatch.for_resource(client, MAPS, namespace="default"))
    informer.start()
    reader = Reader(informer.events())

    client.close()

    assert reader.has_ended()


def test_leaving_the_loop_ends_it(
    client: blocking.Client, informer: SharedIndexInformer[Unstructured]
) -> None:
    for _ in informer.events():
        break
    gc.collect()
    # What nobody holds is gone at the latest when the next change comes.
    made = client.create(config_map("b"))
    assert informer.wait_for_rv(made.resource_version).wait(20)

    assert informer.registrations == ()


def test_a_stream_that_is_held_goes_on_after_the_loop_was_left(
    client: blocking.Client, informer: SharedIndexInformer[Unstructured]
) -> None:
    stream = informer.events()
    for _ in stream:
        break
    client.create(config_map("b"))

    assert next(stream).key == "default/b"
    assert len(informer.registrations) == 1


def test_it_keeps_its_informer_running(kinform_server: BlockingApiServer) -> None:
    def begin() -> EventStream[Unstructured]:
        client = blocking.Client(kinform_server.config)
        informer = SharedIndexInformer(ListWatch.for_resource(client, MAPS, namespace="default"))
        informer.start()
        return informer.events()

    before = set(threading.enumerate())
    stream = begin()
    gc.collect()
    kinform_server.create(config_map("late"))
    assert "default/late" in (event.key for event in stream)
    begun = set(threading.enumerate()) - before

    del stream
    gc.collect()

    for thread in begun:
        thread.join(20)
    assert not any(thread.is_alive() for thread in begun)


def test_of_a_stopped_informer_there_is_none(
    informer: SharedIndexInformer[Unstructured],
) -> None:
    informer.stop()
    assert informer.stopped.wait(20)

    with pytest.raises(AlreadyStoppedError, match="start it again"):
        informer.events()


def test_threads_that_share_one_get_each_event_once(
    client: blocking.Client, informer: SharedIndexInformer[Unstructured]
) -> None:
    names = [f"m{number}" for number in range(30)]
    stream = informer.events(filter=lambda obj: obj.name in names)
    seen: list[str] = []
    is_complete = Latch("all were seen")

    def read() -> None:
        for event in stream:
            seen.append(event.key.removeprefix("default/"))
            if len(seen) == len(names):
                is_complete.set()

    threads = [threading.Thread(target=read, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for name in names:
        client.create(config_map(name))
    assert is_complete.wait(20)
    stream.close()
    for thread in threads:
        thread.join(20)

    assert not any(thread.is_alive() for thread in threads)
    assert sorted(seen) == sorted(names)


async def test_a_running_loop_may_not_wait_for_it_but_its_executor_may(
    kinform_server: BlockingApiServer,
) -> None:
    client = blocking.Client(kinform_server.config)
    await asyncio.to_thread(client.create, config_map("a"))
    informer = SharedIndexInformer(ListWatch.for_resource(client, MAPS, namespace="default"))
    await asyncio.to_thread(informer.start)
    stream = informer.events()

    with pytest.raises(
        StateError, match=r"use kinform\.informers\.SharedIndexInformer in asyncio code"
    ):
        next(stream)
    assert (await asyncio.to_thread(next, stream)).key == "default/a"
    await asyncio.to_thread(client.close)


# -- processes -------------------------------------------------------------------------------

_SETUP = """
import os, sys, threading, warnings
warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)
from kinform import GVR, blocking
from kinform.errors import StateError
client = blocking.Client.from_kubeconfig(sys.argv[1])
source = blocking.ListWatch.for_resource(client, GVR("", "v1", "configmaps"), namespace="default")
informer = blocking.SharedIndexInformer(source)
body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}}
"""


def test_a_forked_child_is_told_and_the_parent_goes_on(kinform_server: BlockingApiServer) -> None:
    kinform_server.create(config_map("a"))
    out = output_of(
        kinform_server,
        _SETUP
        + """
informer.start()
stream = informer.events()
print("parent:", next(stream).key, flush=True)
child = os.fork()
if not child:
    for call in (informer.run, informer.start, informer.__enter__, stream.__next__):
        try:
            call()
        except StateError as error:
            print("child:", error)
    informer.__exit__(None, None, None)
    stream.close()
    with blocking.Client.from_kubeconfig(sys.argv[1]) as other:
        mine = blocking.ListWatch.for_resource(other, GVR("", "v1", "configmaps"))
        with blocking.SharedIndexInformer(mine) as again:
            print("child:", next(again.events()).key, flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
client.create(body)
print("parent:", next(stream).key, informer.is_running)
client.close()
""",
    )

    first, *told, again, last = out.splitlines()
    assert (first, last) == ("parent: default/a", "parent: default/late True")
    assert len(told) == 4
    assert all("create a new one after the fork" in each for each in told)
    assert again == "child: default/a"


@pytest.mark.parametrize(
    ("wait", "told"),
    [
        ("[print(event.key, flush=True) for event in informer.events()]", "default/a"),
        ("informer.stop(), informer.stopped.wait(), informer.run()", ""),
    ],
    ids=["events", "run"],
)
def test_ctrl_c_ends_the_wait_and_the_block_tidies_up(
    kinform_server: BlockingApiServer, wait: str, told: str
) -> None:
    kinform_server.create(config_map("a"))
    process = python(
        kinform_server,
        _SETUP
        + f"""
try:
    with client, informer:
        # Said from another thread, when this one waits: it is the wait that is to be interrupted.
        threading.Timer(0.5, lambda: print("waiting", flush=True)).start()
        {wait}
except KeyboardInterrupt:
    print("interrupted", informer.is_stopped, threading.active_count())
""",
    )
    assert process.stdout is not None
    lines = [told] if told else []
    for line in [*lines, "waiting"]:
        assert process.stdout.readline() == f"{line}\n"

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)

    assert (process.returncode, out, err) == (0, "interrupted True 1\n", "")


def test_an_interrupted_wait_loses_no_event(kinform_server: BlockingApiServer) -> None:
    out = output_of(
        kinform_server,
        _SETUP
        + """
import signal
informer.start()
stream = informer.events()
assert informer.has_synced.wait(20)
seen, interrupts = [], 0

def make():
    for number in range(200):
        client.create({**body, "metadata": {"name": f"m{number:03}"}})
        os.kill(os.getpid(), signal.SIGINT)

def interrupt(signum, frame):
    # Only while it waits: what is interrupted after that has its event already.
    while frame is not None and frame.f_code.co_name != "result":
        frame = frame.f_back
    if frame is not None:
        raise KeyboardInterrupt

signal.signal(signal.SIGINT, interrupt)
maker = threading.Thread(target=make)
maker.start()
while len(seen) < 200:
    try:
        seen.append(next(stream).object.name)
    except KeyboardInterrupt:
        interrupts += 1
maker.join()
assert seen == sorted(seen), seen
print(len(set(seen)), interrupts > 0)
client.close()
""",
    )

    assert out == "200 True\n"
