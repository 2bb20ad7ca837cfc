"""The client without ``await``: every verb, over real HTTP, from plain code."""

from __future__ import annotations

import inspect
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kinform import blocking
from kinform.api import GVK, GVR, ListOptions
from kinform.client import Client as AsyncClient
from kinform.client import Discovery as AsyncDiscovery
from kinform.client import Verbs as AsyncVerbs
from kinform.errors import (
    ConfigError,
    ExpiredError,
    NoMatchError,
    NotFoundError,
    StateError,
    TransportError,
)
from kinform.objects import PartialObjectMetadata, Unstructured
from kinform.testing import BlockingApiServer
from kinform.transport import ClusterConfig
from tests.support.answers import json_answer, pod
from tests.support.memory_transport import MemoryTransport

MAPS = GVR("", "v1", "configmaps")


def _config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.fixture
def client(kinform_server: BlockingApiServer) -> Iterator[blocking.Client]:
    with blocking.Client(kinform_server.config, page_size=2) as client:
        yield client


def _public(thing: type) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def test_no_name_of_the_async_client_is_missing() -> None:
    on_the_loop = {"reachability"}  # for informers, which run there
    assert _public(AsyncClient) - on_the_loop <= _public(blocking.Client)
    assert _public(AsyncVerbs) - on_the_loop <= _public(blocking.Verbs)
    assert _public(AsyncDiscovery) - {"close"} <= _public(blocking.Discovery)


def test_the_options_are_those_of_the_async_client() -> None:
    taken = inspect.signature(AsyncClient.__init__).parameters.keys() - {"self", "config"}

    assert blocking.ClientOptions.__annotations__.keys() == taken | {"loop"}


def test_an_object_lives_from_create_to_delete(client: blocking.Client) -> None:
    created = client.create(_config_map("a", k="1"))
    edit = created.copy()
    edit["data"]["k"] = "2"
    client.update(edit)
    client.patch(MAPS, "a", {"data": {"k": "3"}})
    found = client.get(MAPS, "a")

    assert isinstance(found, Unstructured)
    assert found["data"] == {"k": "3"}
    assert client.delete(MAPS, "a") is None
    with pytest.raises(NotFoundError):
        client.get(MAPS, "a")


def test_an_object_can_be_applied() -> None:
    memory = MemoryTransport()
    path = "/api/v1/namespaces/default/pods/a"
    memory.on(path, json_answer(pod("a")))

    with blocking.Client(ClusterConfig(server="https://cluster.test"), transport=memory) as client:
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
        assert client.apply(body, field_manager="me").name == "a"

    (request,) = memory.requests_to(path)
    assert (request.method, request.query["fieldManager"]) == ("PATCH", "me")


def test_a_collection_is_deleted_by_label(client: blocking.Client) -> None:
    for name in ("a", "b"):
        body = _config_map(name)
        body["metadata"]["labels"] = {"team": name}
        client.create(body)

    client.delete_collection(MAPS, namespace="default", labels="team=a")

    assert [found.name for found in client.list(MAPS, namespace="default", labels="team")] == ["b"]


def test_a_list_comes_whole_and_pages_come_one_by_one(client: blocking.Client) -> None:
    for name in "abcde":
        client.create(_config_map(name))

    whole = client.list(MAPS, namespace="default")
    sizes = [len(page) for page in client.pages(MAPS, namespace="default")]

    assert [found.name for found in whole][:5] == list("abcde")
    assert sum(sizes) == len(whole)
    assert max(sizes) == 2
    assert len(client.page(MAPS, ListOptions(limit=1), namespace="default")) == 1


def test_pages_that_are_left_early_are_asked_for_no_more(
    client: blocking.Client, kinform_server: BlockingApiServer
) -> None:
    for name in "abcde":
        client.create(_config_map(name))

    for _ in client.pages(MAPS, namespace="default"):
        break
    client.server_version()

    assert len(kinform_server.requests.lists("configmaps")) == 1


def test_metadata_has_the_same_verbs(client: blocking.Client) -> None:
    client.create(_config_map("a", k="1"))

    found = client.metadata.get(MAPS, "a")
    (listed, *_) = client.metadata.list(MAPS, namespace="default")

    assert isinstance(found, PartialObjectMetadata)
    assert (found.name, listed.name) == ("a", "a")
    assert client.metadata.namespace == client.namespace == "default"


def test_discovery_answers(client: blocking.Client) -> None:
    assert client.discovery.for_kind(GVK("", "v1", "ConfigMap")).gvr == MAPS
    assert client.discovery.for_resource(MAPS).namespaced
    assert MAPS in {resource.gvr for resource in client.discovery.resources()}
    client.discovery.refresh()
    with pytest.raises(NoMatchError, match="configmaps"):
        client.discovery.for_resource(GVR("", "v1", "configmap"))


def test_any_request_can_be_made(
    client: blocking.Client, kinform_server: BlockingApiServer
) -> None:
    assert client.request("GET", "/healthz") == b"ok"
    assert client.server_version()["major"] == "1"
    assert client.config.server == kinform_server.url
    assert kinform_server.url in repr(client)


def test_a_watch_gives_its_events_until_it_is_left(
    client: blocking.Client, kinform_server: BlockingApiServer
) -> None:
    version = client.list(MAPS).resource_version
    with client.watch(MAPS, namespace="default", resource_version=version) as watch:
        client.create(_config_map("a"))
        client.delete(MAPS, "a")
        seen = [(event.type, event.object.name) for event in itertools.islice(watch, 2)]

    assert seen == [("ADDED", "a"), ("DELETED", "a")]
    with pytest.raises(StateError, match="not open"):
        next(watch)


def test_a_watch_that_the_server_ends_ends_the_iteration(client: blocking.Client) -> None:
    version = client.list(MAPS).resource_version

    with client.watch(MAPS, resource_version=version, timeout_seconds=1) as watch:
        assert list(watch) == []


def test_a_watch_raises_what_the_server_says(
    client: blocking.Client, kinform_server: BlockingApiServer
) -> None:
    version = client.list(MAPS).resource_version
    client.create(_config_map("a"))
    kinform_server.compact()

    with (
        pytest.raises(ExpiredError),
        client.metadata.watch(MAPS, resource_version=version) as watch,
    ):
        next(watch)


def test_closing_the_client_wakes_the_thread_that_reads_a_watch(
    kinform_server: BlockingApiServer,
) -> None:
    client = blocking.Client(kinform_server.config)
    watch = client.watch(MAPS, resource_version=client.list(MAPS).resource_version)
    ends: list[BaseException | str] = []

    def read() -> None:
        try:
            with watch:
                ends.extend(str(event) for event in watch)
        except BaseException as error:
            ends.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    kinform_server.requests.wait_for(lambda request: request.verb == "watch")
    client.close()
    reader.join(30)

    assert not reader.is_alive()
    (end,) = ends
    assert isinstance(end, StateError | TransportError)


def test_leaving_a_watch_after_its_client_was_closed_is_no_error(
    kinform_server: BlockingApiServer,
) -> None:
    client = blocking.Client(kinform_server.config)

    with client.watch(MAPS):
        client.close()


def test_a_closed_client_says_so(kinform_server: BlockingApiServer) -> None:
    client = blocking.Client(kinform_server.config)
    client.close()
    client.close()

    with pytest.raises(StateError, match="is closed; create another"):
        client.list(MAPS)
    with pytest.raises(StateError, match="is closed"), client:
        pass


def test_a_transport_of_ones_own_is_closed_with_a_client_that_was_never_used() -> None:
    memory = MemoryTransport()

    blocking.Client(ClusterConfig(server="https://cluster.test"), transport=memory).close()

    assert memory.closed


def test_no_with_block_is_needed(kinform_server: BlockingApiServer) -> None:
    client = blocking.Client.from_kubeconfig(kinform_server.kubeconfig(), page_size=1)
    try:
        assert client.server_version()["major"] == "1"
    finally:
        client.close()


def test_the_environment_leads_to_the_kubeconfig(
    kinform_server: BlockingApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", str(kinform_server.kubeconfig()))

    with blocking.Client.from_env() as client:
        assert client.config.server == kinform_server.url


def test_wrong_ways_and_options_are_refused_before_a_thread_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    before = threading.active_count()

    with pytest.raises(ConfigError, match="KUBERNETES_SERVICE_HOST"):
        blocking.Client.in_cluster()
    with pytest.raises(ConfigError, match="page_size"):
        blocking.Client(ClusterConfig(server="https://cluster.test"), page_size=0)
    assert threading.active_count() == before


def test_clients_can_share_a_loop_and_the_others_survive_the_end_of_one(
    kinform_server: BlockingApiServer,
) -> None:
    loop = blocking.LoopThread(name="shared")
    before = threading.active_count()
    try:
        with blocking.Client(kinform_server.config, loop=loop) as other:
            with blocking.Client(kinform_server.config, loop=loop) as one:
                one.server_version()
                assert threading.active_count() == before + 1
            assert other.server_version()["major"] == "1"
        assert loop.is_running
    finally:
        loop.stop()
    other.close()
    assert threading.active_count() == before
