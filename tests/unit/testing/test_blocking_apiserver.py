"""The embedded server for plain ``def`` code: same names, own thread, a clean end."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from typing import Any

import pytest

from kinform.api import GVR
from kinform.errors import NotFoundError, StateError
from kinform.testing import ApiServer, BlockingApiServer, faults

MAPS = GVR("", "v1", "configmaps")


def _config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}}


def _get(api: BlockingApiServer, path: str) -> Any:
    with urllib.request.urlopen(api.url + path, timeout=10) as answer:
        return json.load(answer)


def test_it_serves_inside_its_with_block_and_not_after_it() -> None:
    with ApiServer.blocking() as api:
        assert _get(api, "/version")["major"] == "1"
        port = int(api.url.rpartition(":")[2])

    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        pass


def test_every_verb_works_from_another_thread(kinform_server: BlockingApiServer) -> None:
    api = kinform_server

    created = api.create(_config_map("a"))
    created["data"] = {"k": "2"}
    updated = api.update(created)
    patched = api.patch(MAPS, "a", {"data": {"k": "3"}})
    again = api.recreate(MAPS, "a")
    loaded = api.load([_config_map("b"), _config_map("c")])

    versions = [body["metadata"]["resourceVersion"] for body in (created, updated, patched)]
    assert sorted(map(int, versions)) == list(map(int, versions))
    assert again["metadata"]["uid"] != created["metadata"]["uid"]
    assert api.get(MAPS, "a")["data"] == {"k": "3"}
    assert loaded == 2
    assert [item["metadata"]["name"] for item in api.list(MAPS, "default")][:3] == ["a", "b", "c"]
    assert api.delete(MAPS, "a")
    with pytest.raises(NotFoundError):
        api.get(MAPS, "a")
    assert int(api.resource_version) > int(versions[-1])


def test_what_is_written_in_process_is_read_over_http(kinform_server: BlockingApiServer) -> None:
    kinform_server.create(_config_map("a"))

    found = _get(kinform_server, "/api/v1/namespaces/default/configmaps/a")

    assert found["data"] == {"k": "v"}


def test_faults_and_the_request_log_are_there_too(kinform_server: BlockingApiServer) -> None:
    with (
        kinform_server.faults.inject(faults.empty_answer(503), resource="configmaps"),
        pytest.raises(urllib.error.HTTPError, match="503"),
    ):
        _get(kinform_server, "/api/v1/configmaps")
    _get(kinform_server, "/api/v1/configmaps")

    log = kinform_server.requests
    request = log.wait_for(lambda request: request.status == 503)
    assert request.faults == ("empty answer",)
    assert [request.status for request in log] == [503, 200]
    assert (len(log), log[-1].verb, log.count(verb="list")) == (2, "list", 2)
    assert len(log.lists("configmaps")) == len(log.matching(verb="list")) == 2
    assert log.watches() == []
    log.clear()
    assert len(log) == 0
    with pytest.raises(TimeoutError):
        log.wait_for(lambda request: True, timeout=0.05)


def test_tls_tokens_and_the_kubeconfig_are_there_too() -> None:
    with ApiServer.blocking(tls=True, tokens={"t0ken": "jane"}, name="mine") as api:
        assert (api.name, api.token) == ("mine", "t0ken")
        assert api.ca_data is not None
        assert api.ca_file is not None
        assert api.ca_file.read_bytes() == api.ca_data
        before = api.ca_data
        api.rotate_certificates()
        assert api.ca_data != before
        api.replace_tokens({"other": "jane"})
        kubeconfig = api.kubeconfig()
        assert "other" in kubeconfig.read_text()
        assert api.config.server == api.url
    assert not kubeconfig.exists()


def test_history_and_clock_are_there_too(kinform_server: BlockingApiServer) -> None:
    kinform_server.clock = lambda: 0.0
    created = kinform_server.create(_config_map("a"))
    kinform_server.compact()

    assert created["metadata"]["creationTimestamp"] == "1970-01-01T00:00:00Z"
    assert kinform_server.clock() == 0.0


def test_stopping_twice_is_stopping_once() -> None:
    api = ApiServer.blocking()
    api.start()
    api.stop()
    api.stop()

    with pytest.raises(StateError, match="already started"):
        api.start()


def test_a_server_that_never_ran_can_be_stopped_and_refuses_to_work() -> None:
    api = ApiServer.blocking(name="idle")
    api.stop()

    with pytest.raises(StateError, match="'idle' is not running"):
        api.create(_config_map("a"))


def test_a_port_that_is_taken_is_an_error_and_leaves_no_thread() -> None:
    before = threading.active_count()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(StateError, match=str(port)):
            ApiServer.blocking(port=port).start()

    assert threading.active_count() == before


def test_it_leaves_no_thread_behind() -> None:
    before = threading.active_count()

    with ApiServer.blocking():
        assert threading.active_count() > before

    assert threading.active_count() == before


def test_a_call_on_the_servers_own_thread_is_refused_instead_of_hanging(
    kinform_server: BlockingApiServer,
) -> None:
    problems: list[Exception] = []

    def ask_again(request: object) -> bool:
        try:
            kinform_server.get(MAPS, "a")
        except StateError as problem:
            problems.append(problem)
        return True

    _get(kinform_server, "/version")
    kinform_server.requests.wait_for(ask_again)

    assert "would deadlock" in str(problems[0])


def test_ctrl_c_wakes_who_waits_and_the_server_still_stops_cleanly() -> None:
    script = """
from kinform.testing import ApiServer
try:
    with ApiServer.blocking() as api:
        print(api.url, flush=True)
        api.requests.wait_for(lambda request: False, timeout=60)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)

    assert (process.returncode, out, err) == (0, "interrupted\n", "")


def test_it_does_not_keep_python_from_exiting() -> None:
    script = "from kinform.testing import ApiServer; api = ApiServer.blocking(); api.start()"

    subprocess.run([sys.executable, "-c", script], check=True, timeout=30)
