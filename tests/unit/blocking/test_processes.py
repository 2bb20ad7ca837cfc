"""A blocking client in a process that forks, is interrupted, forgets to close, or just ends."""

from __future__ import annotations

import gc
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kinform import blocking
from kinform.api import GVR
from kinform.testing import ApiServer, BlockingApiServer
from tests.support.processes import output_of, python

MAPS = GVR("", "v1", "configmaps")

# Python 3.12 and later warn of every fork of a process with threads.
_SETUP = """
import gc, os, sys, threading, time, warnings
warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)
from kinform import blocking, GVR
from kinform.errors import StateError
MAPS = GVR("", "v1", "configmaps")
client = blocking.Client.from_kubeconfig(sys.argv[1])
"""


@pytest.fixture(params=["http", "https"])
def server(request: pytest.FixtureRequest) -> Iterator[BlockingApiServer]:
    with ApiServer.blocking(tls=request.param == "https") as api:
        api.create(_config_map("first"))
        yield api


def _config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def test_a_forked_child_is_told_to_make_a_new_one_and_the_parent_notices_nothing(
    server: BlockingApiServer,
) -> None:
    out = output_of(
        server,
        _SETUP
        + """
rv = client.list(MAPS).resource_version
watch = client.watch(MAPS, resource_version=rv)
watch.__enter__()
child = os.fork()
if not child:
    try:
        client.list(MAPS)
    except StateError as error:
        print(error)
    with blocking.Client.from_kubeconfig(sys.argv[1]) as new:
        print("child", len(new.list(MAPS)) > 0)
    watch.__exit__(None, None, None)
    client.close()
    # What the child has of the parent's connections goes, and says no farewell on them.
    del watch, client
    gc.collect()
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
client.create(body)
print("parent", next(watch).object.name, client.get(MAPS, "a").name, flush=True)
watch.__exit__(None, None, None)
print(os.getpid())
client.close()
""",
    )

    told, child, parent, pid = out.splitlines()
    assert f"belongs to process {pid}" in told
    assert "create a new one after the fork" in told
    assert (child, parent) == ("child True", "parent a a")
    # The parent's connections were not touched: it opened one watch, and lost none.
    assert len(server.requests.watches("configmaps")) == 1


def test_what_a_forked_child_closes_stays_open_in_the_parent(
    kinform_server: BlockingApiServer,
) -> None:
    out = output_of(
        kinform_server,
        _SETUP
        + """
import asyncio
from urllib.parse import urlsplit
address = urlsplit(client.config.server)
loop = blocking.LoopThread(name="the loop")
loop.start()
loop.call(lambda: asyncio.get_running_loop().set_debug(False))  # it would see the wrong thread
reader, writer = loop.run(asyncio.open_connection(address.hostname, address.port))
child = os.fork()
if not child:
    # As a collector would. The parent's loop must not stop listening to its socket.
    writer.close()
    os._exit(0)
os.waitpid(child, 0)

async def ask():
    async with asyncio.timeout(10):
        writer.write(b"GET /version HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
        print((await reader.readline()).decode().strip())
        writer.close()
        await writer.wait_closed()

loop.run(ask())
loop.stop()
""",
    )

    assert out == "HTTP/1.1 200 OK\n"


def test_a_client_that_was_not_used_before_the_fork_works_after_it(
    server: BlockingApiServer,
) -> None:
    out = output_of(
        server,
        _SETUP
        + """
child = os.fork()
os.write(1, (client.server_version()["major"] + "\\n").encode())  # in one piece: two write
client.close()
if child:
    assert os.waitpid(child, 0)[1] == 0
""",
    )

    assert out.splitlines() == ["1", "1"]


def test_ctrl_c_ends_the_wait_and_the_request(server: BlockingApiServer) -> None:
    process = python(
        server,
        _SETUP
        + """
try:
    with client, client.watch(MAPS, resource_version=client.list(MAPS).resource_version) as watch:
        # Said from another thread, when this one waits: it is the wait that is to be interrupted.
        threading.Timer(0.5, lambda: print("reading", flush=True)).start()
        next(watch)
except KeyboardInterrupt:
    print("interrupted", threading.active_count())
""",
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "reading\n"

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)

    assert (process.returncode, out, err) == (0, "interrupted 1\n", "")


@pytest.mark.parametrize(
    "ending",
    ["", "sys.exit(0)", "watch.__exit__(None, None, None)", "del client, watch"],
    ids=["falls off the end", "exits", "leaves the watch", "drops all"],
)
def test_python_ends_quietly_though_nobody_closed_it(
    server: BlockingApiServer, ending: str
) -> None:
    before = time.monotonic()
    out = output_of(
        server,
        _SETUP
        + f"""
watch = client.watch(MAPS)
watch.__enter__()
print(next(watch).type, flush=True)
{ending}
""",
    )

    assert out == "ADDED\n"
    assert time.monotonic() - before < 40


def test_python_ends_though_a_thread_still_waits(server: BlockingApiServer) -> None:
    output_of(
        server,
        _SETUP
        + """
rv = client.list(MAPS).resource_version
entered = threading.Event()
def read():
    try:
        with client.watch(MAPS, resource_version=rv) as watch:
            entered.set()
            next(watch)
    except Exception:
        pass
threading.Thread(target=read, daemon=True).start()
entered.wait()
""",
    )


def test_a_dropped_client_ends_its_thread_and_its_connections(
    kinform_server: BlockingApiServer,
) -> None:
    before = set(threading.enumerate())
    client = blocking.Client(kinform_server.config)
    client.list(MAPS)
    (thread,) = set(threading.enumerate()) - before

    del client
    gc.collect()

    thread.join(30)
    assert not thread.is_alive()


def test_a_watch_keeps_its_dropped_client_alive(kinform_server: BlockingApiServer) -> None:
    kinform_server.create(_config_map("first"))
    before = set(threading.enumerate())
    with blocking.Client(kinform_server.config).watch(MAPS) as watch:
        gc.collect()
        assert next(watch).type == "ADDED"
    (thread,) = set(threading.enumerate()) - before

    del watch
    gc.collect()

    thread.join(30)
    assert not thread.is_alive()


def test_a_client_dropped_on_a_shared_loop_is_closed_and_the_loop_lives_on(
    kinform_server: BlockingApiServer,
) -> None:
    kinform_server.create(_config_map("first"))
    loop = blocking.LoopThread(name="shared")
    watch = blocking.Client(kinform_server.config, loop=loop).watch(MAPS)
    with watch:
        next(watch)
    pages = blocking.Client(kinform_server.config, loop=loop, page_size=1).pages(MAPS)
    next(pages)

    del watch, pages
    gc.collect()

    assert loop.is_running
    loop.stop()
