"""Poison in protobuf: an informer puts it away, says whose it is, and goes on or lists again."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from kinform import Client, new_informer
from kinform._native import IS_COMPILED
from kinform.informers import SharedIndexInformer
from kinform.models.core.v1 import ConfigMap, Pod
from kinform.testing import ApiServer
from kinform.transport import ClusterConfig, Request
from tests.support.answers import Answer
from tests.support.informer_sources import QUICK
from tests.support.memory_transport import MemoryResponse, MemoryTransport
from tests.support.running import running
from tests.support.waiting import wait_until
from tests.unit.protobuf.sample import config_map, envelope, event, list_of

PATH = "/api/v1/configmaps"
PROTOBUF = {"Content-Type": "application/vnd.kubernetes.protobuf"}


def sent(type: str, raw: bytes, *, kind: str = "ConfigMap") -> bytes:
    return event(type, envelope("v1", kind, raw))


class _Watch(MemoryResponse):
    """Sends what it has, then nothing more."""

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        async for chunk in super().chunks():
            yield chunk
        await asyncio.Event().wait()


class Script(MemoryTransport):
    """Each list and each watch takes the next answer; the last list is given for ever."""

    def __init__(self, lists: Sequence[bytes], watches: Sequence[Sequence[bytes]]) -> None:
        super().__init__()
        self._watches = deque(watches)
        answers = [Answer(200, envelope("v1", "ConfigMapList", each), PROTOBUF) for each in lists]
        self.on(PATH, *answers)

    async def send(self, request: Request) -> MemoryResponse:
        if request.path != PATH or "watch" not in request.query:
            return await super().send(request)
        self.requests.append(request)
        chunks = self._watches.popleft() if self._watches else ()
        return _Watch(Answer(200, headers=PROTOBUF, chunks=chunks))

    @property
    def lists(self) -> int:
        return sum("watch" not in each.query for each in self.requests_to(PATH))


@asynccontextmanager
async def informer_of(
    script: Script, *, max_body_size: int = 1 << 20
) -> AsyncIterator[SharedIndexInformer[ConfigMap]]:
    config = ClusterConfig(server="https://cluster.test")
    async with Client(config, transport=script, max_body_size=max_body_size) as client:
        informer = new_informer(ConfigMap, client, options=replace(QUICK, streaming=False))
        async with running(informer):
            yield informer


def names(informer: SharedIndexInformer[ConfigMap]) -> set[str]:
    return {each.name for each in informer.indexer.list()}


async def test_a_poisoned_item_of_a_list_is_in_quarantine_and_the_others_are_there() -> None:
    bad = config_map("b", rv="9")[:-2]
    script = Script([list_of(config_map("a"), bad, config_map("c"))], [])
    async with informer_of(script) as informer:
        await wait_until(lambda: bool(informer.has_synced))
        assert names(informer) == {"a", "c"}
        put_away = informer.quarantine["default/b"]
        assert (put_away.resource_version, put_away.payload) == ("9", bad)
        assert "ConfigMap 'default/b'" in str(put_away.error)


@pytest.mark.skipif(not IS_COMPILED, reason="there is no compiled code here")
@pytest.mark.parametrize("streaming", [True, False])
async def test_a_sync_needs_no_parser_where_there_is_compiled_code(streaming: bool) -> None:
    """It would be 4 MB to each program, and a tenth of the time in which it starts."""
    program = """
import sys, kinform.blocking, kinform.informers
from kinform.models.core.v1 import Pod
kubeconfig, streaming = sys.argv[1:]
options = kinform.informers.ReflectorOptions(streaming=streaming == "True")
with kinform.blocking.Client.from_kubeconfig(kubeconfig) as client:
    factory = kinform.blocking.SharedInformerFactory(client, options=options)
    pods = factory.for_resource(Pod)
    with factory:
        factory.wait_for_cache_sync(timeout=30)
        for pod in pods.lister.list():
            record = pod.record
            head = record.head
            print(record.codec.name, pod.metadata.name, pod.status.phase, head.owner_uids)
            assert head.deletion_timestamp, head
print([name for name in sys.modules if name.startswith("google.protobuf.descriptor")])
"""
    async with ApiServer() as server:
        async with Client(server.config) as client:
            await client.create(
                Pod.from_dict(
                    {
                        "metadata": {
                            "name": "a",
                            "finalizers": ["kinform.dev/stay"],
                            "namespace": "default",
                            "labels": {"app": "web"},
                            "ownerReferences": [
                                {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u"}
                            ],
                        },
                        "spec": {"containers": [{"name": "c", "image": "i"}]},
                    }
                )
            )
            # It stays, and says since when it should be gone.
            await client.delete(Pod, "a", namespace="default")
        command = [sys.executable, "-c", program, str(server.kubeconfig()), str(streaming)]
        done = await asyncio.to_thread(
            subprocess.run, command, check=False, capture_output=True, text=True
        )
    assert done.stderr == ""
    assert done.stdout == "protobuf a Pending ('u',)\n[]\n"


async def test_a_poisoned_event_keeps_the_last_good_state_and_the_stream_goes_on() -> None:
    bad = config_map("a", rv="11")[:-2]
    script = Script(
        [list_of(config_map("a", rv="5"))],
        [
            [
                sent("MODIFIED", bad),
                sent("ADDED", b"", kind="Nonsense"),
                (3).to_bytes(4, "big") + b"\xff\xff\xff",
                sent("ADDED", config_map("b", rv="13")),
            ]
        ],
    )
    async with informer_of(script) as informer:
        await wait_until(lambda: "b" in names(informer))
        (kept,) = [each for each in informer.indexer.list() if each.name == "a"]
        assert kept.resource_version == "5"
        assert informer.quarantine["default/a"].resource_version == "11"
        assert len(informer.quarantine) == 3
        assert informer.last_sync_resource_version == "13"
        assert script.lists == 1


async def test_an_object_that_is_well_again_leaves_the_quarantine() -> None:
    script = Script(
        [list_of(config_map("a", rv="5"))],
        [
            [
                sent("MODIFIED", config_map("a", rv="11")[:-2]),
                sent("MODIFIED", config_map("a", rv="12")),
                sent("ADDED", config_map("b", rv="13")[:-2]),
                sent("DELETED", config_map("b", rv="14")),
                sent("ADDED", config_map("c", rv="15")),
            ]
        ],
    )
    async with informer_of(script) as informer:
        await wait_until(lambda: "c" in names(informer))
        assert len(informer.quarantine) == 0


async def test_a_stream_that_lost_its_frames_is_opened_anew_and_nothing_is_held_of_it() -> None:
    """A length of two gigabytes: there is no finding the next event in such a stream."""
    script = Script(
        [list_of(config_map("a"))],
        [
            [sent("ADDED", config_map("b", rv="12")), b"\x7f\xff\xff\xff" + bytes(1000)],
            [sent("ADDED", config_map("c", rv="13"))],
        ],
    )
    async with informer_of(script, max_body_size=4096) as informer:
        await wait_until(lambda: names(informer) == {"a", "b", "c"})
        assert len(informer.quarantine) == 0


async def test_a_stream_of_nothing_but_poison_does_not_fill_the_memory() -> None:
    poison = (3).to_bytes(4, "big") + b"\xff\xff\xff"
    script = Script([list_of()], [[poison * 5000, sent("ADDED", config_map("a", rv="11"))]])
    async with informer_of(script) as informer:
        await wait_until(lambda: names(informer) == {"a"})
        assert len(informer.quarantine) == 1000
