"""Where blocking informers read from: a client's resource, or two callables of any kind."""

from __future__ import annotations

import gc
import queue
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kinform import blocking, informers
from kinform.api import GVR, ListOptions
from kinform.blocking import ListWatch, LoopThread, SharedIndexInformer
from kinform.errors import ConfigError, StateError
from kinform.informers import Indexer, Latch
from kinform.objects import Unstructured
from kinform.testing import BlockingApiServer

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
def source(client: blocking.Client) -> ListWatch[Unstructured]:
    return ListWatch.for_resource(client, MAPS, namespace="default")


class Feed:
    """A source of plain callables: what is put into it comes out of its watches."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self._events: queue.Queue[Any] = queue.Queue()
        self.threads: set[str] = set()

    def list(self, options: ListOptions) -> dict[str, Any]:
        self.threads.add(threading.current_thread().name)
        items = [config_map(name) for name in self._names]
        return {"metadata": {"resourceVersion": "1"}, "items": items}

    def watch(self, options: ListOptions) -> Feed:
        return self

    def add(self, name: str) -> None:
        self._events.put(("ADDED", config_map(name)))

    def close(self) -> None:
        self._events.put(None)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._events.get, None)


def test_plain_callables_are_a_source_and_run_off_the_loop() -> None:
    feed = Feed("a")
    heard = Latch("b was added")

    def on_add(obj: Unstructured) -> None:
        if obj.name == "b":
            heard.set()

    informer = SharedIndexInformer(ListWatch(feed.list, feed.watch, name="mine"))
    informer.add_event_handler(on_add=on_add)
    with informer:
        assert informer.has_synced.wait(20)
        feed.add("b")
        assert heard.wait(20)

    assert feed.threads == {"list of mine"}
    assert sorted(informer.store.list_keys()) == ["default/a", "default/b"]


def test_plain_callables_may_ask_a_blocking_client(client: blocking.Client) -> None:
    def watch(options: ListOptions) -> Iterator[Any]:
        # A generator ends with its next item, or with its watch.
        with client.watch(MAPS, options.replace(timeout_seconds=1)) as events:
            yield from events

    source = ListWatch(lambda options: client.page(MAPS, options), watch)
    with SharedIndexInformer(source) as informer:
        made = client.create(config_map("b"))
        assert informer.wait_for_rv(made.resource_version).wait(20)


def test_a_source_can_be_asked_by_hand(
    client: blocking.Client, source: ListWatch[Unstructured]
) -> None:
    page = source.page(ListOptions())
    client.create(config_map("b"))
    with source.watch(ListOptions(resource_version=page.resource_version)) as batches:
        (frame, *_) = next(batches)

    assert "a" in [each.name for each in page]
    assert frame.record is not None
    assert b'"b"' in frame.record.payload
    assert (source.form, source.resource, source.namespace) == (Unstructured, MAPS, "default")


def test_a_source_of_callables_can_be_asked_by_hand_too() -> None:
    feed = Feed()
    feed.add("b")
    feed.close()
    with ListWatch(feed.list, feed.watch).watch(ListOptions()) as batches:
        frames = [frame for batch in batches for frame in batch]

    assert [frame.record.head.name for frame in frames if frame.record] == ["b"]


def test_a_source_of_the_other_side_is_refused_by_name() -> None:
    theirs: Any = informers.ListWatch(lambda options: [], lambda options: [])
    for make in (SharedIndexInformer, blocking.Informer):
        with pytest.raises(ConfigError, match=r"kinform\.blocking\.ListWatch, not kin"):
            make(theirs)


def test_sources_on_different_threads_are_refused() -> None:
    feed = Feed()
    with pytest.raises(ConfigError, match="must share a loop thread"):
        SharedIndexInformer([ListWatch(feed.list, feed.watch) for _ in range(2)])


def test_sources_of_callables_share_a_loop_if_they_are_told_to() -> None:
    loop = LoopThread(name="shared")
    feeds = {"one": Feed(), "two": Feed()}
    sources = []
    for namespace, feed in feeds.items():
        each = ListWatch(feed.list, feed.watch, loop=loop)
        each.namespace = namespace
        sources.append(each)
    informer = SharedIndexInformer(sources)
    with informer:
        assert informer.has_synced.wait(20)
    assert loop.is_running
    loop.stop()

    assert informer.namespaces == ("one", "two")
    with pytest.raises(StateError, match="shared is not running"):
        informer.start()


def test_of_callables_the_thread_ends_when_nobody_holds_it() -> None:
    before = set(threading.enumerate())
    feed = Feed("a")
    informer = SharedIndexInformer(ListWatch(feed.list, feed.watch))
    store: Indexer[Unstructured] = informer.store
    informer.start()
    assert informer.has_synced.wait(20)
    begun = set(threading.enumerate()) - before
    assert begun

    del informer
    gc.collect()

    for thread in begun:
        thread.join(20)
    assert not any(thread.is_alive() for thread in begun)
    assert store.list_keys() == ["default/a"]
