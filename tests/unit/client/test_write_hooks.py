"""Write hooks: called around every write verb, in every view, and in both clients."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kinform import blocking
from kinform.api import GVR
from kinform.client import Client, Write, WriteHook
from kinform.errors import (
    ConfigError,
    ConflictError,
    DecodeError,
    InvalidNameError,
    StateError,
    TransportError,
)
from kinform.models.core.v1 import ConfigMap, Pod
from kinform.models.meta.v1 import ObjectMeta
from kinform.models.policy.v1 import Eviction
from kinform.objects import Handle, PartialObjectMetadata, Unstructured
from kinform.testing import ApiServer, faults
from kinform.transport import ClusterConfig, Request
from tests.support.answers import Answer, json_answer
from tests.support.memory_transport import MemoryTransport

MAPS = GVR("", "v1", "configmaps")
PODS = GVR("", "v1", "pods")
CONFIG = ClusterConfig(server="https://cluster.test", namespace="home")
HOME = "/api/v1/namespaces/home"
METADATA = {"name": "a", "namespace": "home", "resourceVersion": "7", "uid": "u"}
RAW = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
STORED = {**RAW, "metadata": METADATA}
DONE = {
    "apiVersion": "v1",
    "kind": "Status",
    "metadata": {},
    "status": "Success",
    "details": {"uid": "u"},
}
CONFLICT = {"kind": "Status", "status": "Failure", "reason": "Conflict", "code": 409}


class Recorder(WriteHook):
    """Keeps every call; may append to a journal shared with others."""

    def __init__(self, name: str = "", journal: list[str] | None = None) -> None:
        self.name = name
        self.journal = [] if journal is None else journal
        self.writes: list[Write] = []
        self.results: list[Handle | None] = []
        self.errors: list[BaseException] = []
        self.threads: set[int] = set()

    def before(self, write: Write) -> None:
        self.threads.add(threading.get_ident())
        self.journal.append(f"before {self.name}")
        self.writes.append(write)

    def after(self, write: Write, result: Handle | None) -> None:
        assert write is self.writes[-1]
        self.journal.append(f"after {self.name}")
        self.results.append(result)

    def failed(self, write: Write, error: BaseException) -> None:
        self.journal.append(f"failed {self.name}")
        self.errors.append(error)


@pytest.fixture
def memory() -> MemoryTransport:
    """Stores whatever is written, and confirms deletions."""

    def reply(request: Request) -> Answer:
        if request.method == "DELETE" or request.path.endswith("/eviction"):
            return json_answer(DONE)
        return json_answer(STORED)

    transport = MemoryTransport()
    for path in ("configmaps", "configmaps/a", "configmaps/a/status", "pods/a/eviction"):
        transport.on(f"{HOME}/{path}", reply)
    return transport


def made() -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name="a"))


def create_eviction(client: Any) -> Any:
    return client.create(
        Eviction(metadata=ObjectMeta(name="a")), resource=Pod, name="a", subresource="eviction"
    )


Call = Callable[[Any], Any]
OBJECTS: dict[str, Call] = {
    "create": lambda client: client.create(made()),
    "create dict": lambda client: client.create(RAW),
    "create eviction": create_eviction,
    "update": lambda client: client.update(made()),
    "update dict": lambda client: client.update(RAW),
    "update status": lambda client: client.update(made(), subresource="status"),
    "apply": lambda client: client.apply(made(), field_manager="me"),
    "apply dict": lambda client: client.apply(RAW, field_manager="me"),
}
VIEWS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "class": lambda client: (client, ConfigMap),
    "resource": lambda client: (client, MAPS),
    "metadata": lambda client: (client.metadata, ConfigMap),
    "view": lambda client: (client.view(ConfigMap), MAPS),
}


@pytest.fixture(params=["async", "blocking"])
async def run(
    request: pytest.FixtureRequest, memory: MemoryTransport
) -> AsyncIterator[tuple[Recorder, Callable[[Call], Any]]]:
    """A recorder, and a function that makes one call with the client that it is added to."""
    recorder = Recorder()
    if request.param == "async":
        async with Client(CONFIG, transport=memory) as client:
            client.add_write_hook(recorder)

            async def call(what: Call) -> Any:
                return await what(client)

            yield recorder, call
        return
    plain = blocking.Client(CONFIG, transport=memory)
    plain.add_write_hook(recorder)

    async def call_plain(what: Call) -> Any:
        return await asyncio.to_thread(what, plain)

    yield recorder, call_plain
    await asyncio.to_thread(plain.close)


@pytest.mark.parametrize("which", OBJECTS)
async def test_hook_sees_writes_of_objects(run: Any, which: str) -> None:
    recorder, call = run
    returned = await call(OBJECTS[which])
    verb, _, rest = which.partition(" ")
    subresource = rest if rest in ("status", "eviction") else ""
    [write], [result] = recorder.writes, recorder.results
    assert (write.verb, write.namespace, write.name) == (verb, "home", "a")
    assert write.subresource == subresource
    assert write.resource == (PODS if subresource == "eviction" else MAPS)
    assert write.object is not None
    assert write.object.name == "a"
    assert not write.dry_run
    if subresource == "eviction":
        assert isinstance(returned, Eviction)
        assert isinstance(result, Unstructured)
        assert result.to_dict() == DONE
    else:
        assert result is returned
        assert result.resource_version == "7"


@pytest.mark.parametrize("view", VIEWS)
async def test_hook_sees_patches(run: Any, view: str) -> None:
    recorder, call = run

    def patch(client: Any) -> Any:
        verbs, resource = VIEWS[view](client)
        return verbs.patch(resource, "a", [], type="json", subresource="status", dry_run=True)

    returned = await call(patch)
    [write], [result] = recorder.writes, recorder.results
    assert result is returned
    assert result.resource_version == "7"
    assert str(write) == "patch v1/configmaps/status home/a"
    assert (write.verb, write.resource, write.namespace, write.name) == ("patch", MAPS, "home", "a")
    assert (write.patch, write.patch_type, write.dry_run) == ([], "json", True)
    assert write.object is None
    expected = {"metadata": PartialObjectMetadata, "resource": Unstructured}
    assert type(result) is expected.get(view, ConfigMap)


@pytest.mark.parametrize("view", VIEWS)
async def test_hook_sees_deletions(run: Any, view: str) -> None:
    recorder, call = run

    def delete(client: Any) -> Any:
        verbs, resource = VIEWS[view](client)
        return verbs.delete(resource, "a", dry_run=True)

    assert await call(delete) is None
    [write], [result] = recorder.writes, recorder.results
    assert str(write) == "delete v1/configmaps home/a"
    assert write.dry_run
    assert isinstance(result, Unstructured)
    assert result.to_dict() == DONE


@pytest.mark.parametrize("view", VIEWS)
async def test_hook_sees_deletions_of_collections(run: Any, view: str) -> None:
    recorder, call = run

    def delete(client: Any) -> Any:
        verbs, resource = VIEWS[view](client)
        return verbs.delete_collection(
            resource, namespace="home", labels={"app": "web"}, fields="metadata.name=a"
        )

    await call(delete)
    [write], [result] = recorder.writes, recorder.results
    assert str(write) == "delete_collection v1/configmaps home"
    assert (str(write.labels), str(write.fields)) == ("app=web", "metadata.name=a")
    assert isinstance(result, Unstructured)
    assert result.to_dict() == DONE


async def test_dry_run_of_objects_is_seen(run: Any) -> None:
    recorder, call = run
    await call(lambda client: client.create(made(), dry_run=True))
    await call(lambda client: client.update(made(), dry_run=True))
    await call(lambda client: client.apply(made(), field_manager="me", dry_run=True))
    assert [write.dry_run for write in recorder.writes] == [True] * 3


async def test_every_write_verb_is_tested_here() -> None:
    """A new verb of a client is either for reading, or must call hooks and stand above."""
    reading = {"get", "list", "page", "server_version", "request", "close"}
    verbs = {name for name, _ in inspect.getmembers(Client, inspect.iscoroutinefunction)}
    tested = {"create", "update", "apply", "patch", "delete", "delete_collection"}
    assert {name for name in verbs if not name.startswith("_")} - reading == tested


async def test_reads_and_raw_requests_call_no_hook(run: Any, memory: MemoryTransport) -> None:
    recorder, call = run
    await call(lambda client: client.get(ConfigMap, "a"))
    await call(lambda client: client.request("DELETE", f"{HOME}/configmaps/a"))
    assert recorder.journal == []


# -- refusing, failing, ordering -------------------------------------------------------------


class Refusing(WriteHook):
    def before(self, write: Write) -> None:
        raise StateError(f"{write}: not the leader")


@pytest.mark.parametrize("which", OBJECTS)
async def test_before_prevents_the_write(run: Any, memory: MemoryTransport, which: str) -> None:
    recorder, call = run
    # A read first, so that discovery is done.
    await call(lambda client: client.add_write_hook(Refusing()) or client.get(MAPS, "a"))
    memory.requests.clear()
    with pytest.raises(StateError, match=r"home/a: not the leader"):
        await call(OBJECTS[which])
    for view in VIEWS.values():

        def delete(client: Any, view: Any = view) -> Any:
            verbs, resource = view(client)
            return verbs.delete(resource, "a", namespace="home")

        with pytest.raises(StateError, match="delete v1/configmaps home/a: not the leader"):
            await call(delete)
    assert memory.requests == []
    # The hooks before it learn that the write did not happen.
    assert recorder.journal == ["before ", "failed "] * 5
    assert recorder.results == []


async def test_after_runs_in_reverse_order(client: Client) -> None:
    journal: list[str] = []
    for name in ("one", "two"):
        client.add_write_hook(Recorder(name, journal))
    await client.create(RAW)
    assert journal == ["before one", "before two", "after two", "after one"]


async def test_refusal_of_the_server_is_seen_and_raised(
    client: Client, memory: MemoryTransport
) -> None:
    memory.on(f"{HOME}/configmaps/a", json_answer(CONFLICT, 409))
    recorder = Recorder()
    client.add_write_hook(recorder)
    with pytest.raises(ConflictError) as caught:
        await client.update(RAW)
    assert recorder.errors == [caught.value]
    assert recorder.journal == ["before ", "failed "]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (TransportError("reset"), TransportError),
        (json_answer({"apiVersion": "v1", "kind": "Secret", "metadata": {}}), DecodeError),
    ],
)
async def test_other_failures_are_seen(
    client: Client, memory: MemoryTransport, reply: Any, error: type[Exception]
) -> None:
    memory.on(f"{HOME}/configmaps/a", reply)
    recorder = Recorder()
    client.add_write_hook(recorder)
    with pytest.raises(error):
        await client.update(made())
    assert [type(each) for each in recorder.errors] == [error]


async def test_cancelled_write_is_seen(client: Client, memory: MemoryTransport) -> None:
    recorder = Recorder()
    client.add_write_hook(recorder)
    task = asyncio.create_task(client.update(made()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [type(each) for each in recorder.errors] == [asyncio.CancelledError]


async def test_mistakes_of_the_caller_call_no_hook(client: Client) -> None:
    recorder = Recorder()
    client.add_write_hook(recorder)
    with pytest.raises(InvalidNameError):
        await client.delete(ConfigMap, "a/b")
    with pytest.raises(InvalidNameError):
        await client.create(made(), name="a")
    assert recorder.journal == []


class Broken(WriteHook):
    def after(self, write: Write, result: Handle | None) -> None:
        raise ValueError("broken after")

    def failed(self, write: Write, error: BaseException) -> None:
        raise ValueError("broken failed")


async def test_broken_hook_does_not_change_the_outcome(
    client: Client, memory: MemoryTransport, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder()
    client.add_write_hook(recorder)
    client.add_write_hook(Broken())
    with caplog.at_level(logging.ERROR, logger="kinform.client"):
        assert (await client.update(made())).resource_version == "7"
        assert "write hook" in caplog.text
        assert "broken after" in caplog.text
        memory.on(f"{HOME}/configmaps/a", json_answer(CONFLICT, 409))
        with pytest.raises(ConflictError):
            await client.update(made())
    assert "broken failed" in caplog.text
    assert recorder.journal == ["before ", "after ", "before ", "failed "]


@pytest.mark.parametrize(
    "reply", [Answer(200, b"", {}), json_answer({"kind": "Status", "status": "Success"})]
)
async def test_response_without_an_object_is_none(
    client: Client, memory: MemoryTransport, reply: Answer
) -> None:
    memory.on(f"{HOME}/configmaps/a", reply)
    recorder = Recorder()
    client.add_write_hook(recorder)
    await client.delete(ConfigMap, "a")
    assert recorder.results == [None]


# -- adding and removing ---------------------------------------------------------------------


async def test_removed_hook_is_called_for_writes_in_progress_only(client: Client) -> None:
    recorder = Recorder()
    client.add_write_hook(recorder)
    writing = asyncio.create_task(client.update(made()))
    await asyncio.sleep(0)
    assert recorder.journal == ["before "]
    client.remove_write_hook(recorder)
    client.remove_write_hook(recorder)
    await writing
    await client.update(made())
    assert recorder.journal == ["before ", "after "]


async def test_hook_added_during_a_write_is_called_from_the_next_one(client: Client) -> None:
    late = Recorder("late")

    class Adding(WriteHook):
        def before(self, write: Write) -> None:
            client.remove_write_hook(self)
            client.add_write_hook(late)

    client.add_write_hook(Adding())
    await client.update(made())
    assert late.journal == []
    await client.update(made())
    assert late.journal == ["before late", "after late"]


class AsyncHook(WriteHook):
    async def before(self, write: Write) -> None:  # type: ignore[override]
        raise AssertionError


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (print, r"add_write_hook takes a kinform\.client\.WriteHook, not .*; derive"),
        (WriteHook, r"add_write_hook takes a kinform\.client\.WriteHook, not the class WriteHook"),
        (AsyncHook(), "before of AsyncHook must not be async"),
    ],
)
async def test_wrong_hooks_are_refused(client: Client, wrong: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        client.add_write_hook(wrong)


async def test_hook_cannot_be_added_twice(client: Client) -> None:
    recorder = Recorder()
    client.add_write_hook(recorder)
    with pytest.raises(StateError, match="already a write hook of this client"):
        client.add_write_hook(recorder)


def test_hooks_of_the_blocking_client_run_on_its_loop_thread(memory: MemoryTransport) -> None:
    recorder = Recorder()
    with blocking.Client(CONFIG, transport=memory) as client:
        client.add_write_hook(recorder)
        client.create(RAW)
        client.remove_write_hook(recorder)
        client.create(RAW)
    assert len(recorder.writes) == 1
    assert threading.get_ident() not in recorder.threads


# -- on the embedded server ------------------------------------------------------------------


async def test_results_on_a_server(kinform_api: ApiServer) -> None:
    recorder = Recorder()
    async with Client(kinform_api.config) as client:
        client.add_write_hook(recorder)
        created = await client.create(made())
        generated = await client.create(ConfigMap(metadata=ObjectMeta(generate_name="b-")))
        await client.delete(ConfigMap, "a")
        await client.delete_collection(ConfigMap, namespace="default")
    first, second, deleted, collection = recorder.results
    assert first is created
    assert second is generated
    assert recorder.writes[1].name == ""
    assert deleted is not None
    assert (deleted.kind, deleted.get_path("details.uid")) == ("Status", created.uid)
    assert collection is not None
    assert collection.kind in ("Status", "ConfigMapList")


@pytest.mark.parametrize("verb", ["create", "update", "patch", "delete", "delete_collection"])
async def test_hook_may_prevent_a_retry(verb: str) -> None:
    """A write that passed ``before`` may be sent again a minute later."""

    class Guard(Recorder):
        def before_retry(self, write: Write) -> None:
            assert write is self.writes[-1]
            raise StateError("not any more")

    async with ApiServer() as server, Client(server.config) as client:
        server.create(RAW)
        busy = faults.status(429, "TooManyRequests", "busy", retry_after=0)
        verbs: dict[str, Callable[[], Any]] = {
            "create": lambda: client.create({**RAW, "metadata": {"name": "b"}}),
            "update": lambda: client.update({**RAW, "data": {"x": "y"}}),
            "patch": lambda: client.patch(MAPS, "a", {"data": {"x": "y"}}),
            "delete": lambda: client.delete(MAPS, "a"),
            "delete_collection": lambda: client.delete_collection(MAPS, namespace="default"),
        }
        guard = Guard()
        client.add_write_hook(guard)
        name = verb.replace("_", "")
        server.faults.inject(busy, verb=name, resource="configmaps")
        with pytest.raises(StateError, match="not any more"):
            await verbs[verb]()
        assert server.requests.count(verb=name, resource="configmaps") == 1
        assert guard.journal == ["before ", "failed "]
        client.remove_write_hook(guard)
        server.faults.inject(busy, verb=name, resource="configmaps")
        await verbs[verb]()
