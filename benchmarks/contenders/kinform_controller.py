"""A ``Controller`` of all pods, as told on standard input: a JSON object per line in, one out.

The commands ``reconcile``, ``idle``, ``open`` and ``close`` are those of
``peers/controller_runtime``.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from typing import Any

from benchmarks.measure import Facts, Parameters, peak_memory, resident_memory, since, used_cpu
from benchmarks.writer import STAMP
from kinform import Client
from kinform.controllers import Cluster, Context, Controller, Request
from kinform.informers import ChangeType, InformerEvent
from kinform.models.core.v1 import Pod
from kinform.workqueue import ExponentialBackoff

# The delay of failed keys: none of them is due while the program is measured.
_LONG_BACKOFF = 1000.0
# Seconds that the last changes may take.
_PATIENCE = 3.0


class Pods:
    """Reconciles pods: does nothing, or reads the pod, or fails.

    Attributes:
        all: Set when each pod has been reconciled.
    """

    def __init__(self, parameters: Parameters, window: Window | None) -> None:
        self._objects: int = parameters["objects"]
        self._reads: str = parameters["reads"]
        self._fails: int = parameters["fails"]
        self._window = window
        self._count = 0
        self.all = asyncio.Event()

    async def reconcile(self, request: Request, context: Context[Request]) -> None:
        if self._window is not None:
            self._window.reconciled(request)
        if self._reads:
            pod = await context.client.get(Pod, request.name, namespace=request.namespace)
            if self._reads == "fields":
                _ = (pod.status.phase, pod.spec.node_name)
        self._count = number = self._count + 1
        if number == self._objects:
            self.all.set()
        if number <= self._fails:
            raise RuntimeError("this reconcile is one of those that fail")


class Window:
    """The changes of pods between ``open`` and ``close``, in microseconds until the reconcile."""

    def __init__(self) -> None:
        self._is_open = False
        self._used = 0.0
        self._changes: dict[tuple[str, str], tuple[int, int]] = {}
        self._written: list[int] = []
        self._event: list[int] = []

    def note(self, event: InformerEvent[Any]) -> bool:
        """A predicate, which lets all events pass."""
        if self._is_open and event.type is ChangeType.UPDATED and event.object is not None:
            written_at = event.object.labels.get(STAMP)
            namespace, _, name = event.key.partition("/")
            if written_at is not None:
                # The reconcile is for all changes before it, so the first one counts.
                self._changes.setdefault((namespace, name), (int(written_at), time.monotonic_ns()))
        return True

    def reconciled(self, request: Request) -> None:
        now = time.monotonic_ns()
        times = self._changes.pop((request.namespace, request.name), None)
        if times is not None:
            self._written.append((now - times[0]) // 1000)
            self._event.append((now - times[1]) // 1000)

    def open(self) -> Facts:
        self._is_open = True
        self._used = used_cpu()
        return {}

    async def close(self, changes: int) -> Facts:
        """Wait until so many changes were reconciled, but not for long: several may be one."""
        deadline = time.monotonic() + _PATIENCE
        # An event would have to be set where the delays are measured.
        while len(self._event) < changes and time.monotonic() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        self._is_open = False
        return {"written": self._written, "event": self._event, "cpu": used_cpu() - self._used}


async def main() -> None:
    # As in the peer: failed reconciles are not printed.
    logging.disable()
    parameters = await command()
    window = Window() if parameters["stamps"] else None
    pods = Pods(parameters, window)
    fails = parameters["fails"] > 0
    controller: Controller[Request] = Controller(
        "pods",
        pods,
        for_=Pod,
        when=() if window is None else window.note,
        workers=parameters["workers"],
        rate_limiter=ExponentialBackoff(_LONG_BACKOFF, _LONG_BACKOFF) if fails else None,
    )
    async with Client.from_kubeconfig(parameters["kubeconfig"]) as client:
        cluster = Cluster(client)
        async with cluster.cache:
            working = asyncio.create_task(controller.run(cluster))
            await pods.all.wait()
            answer({"cpu": used_cpu(), "wall": since(parameters["started"]), "peak": peak_memory()})
            while parameters := await command():
                if parameters["do"] == "idle":
                    answer(await idle(parameters["seconds"]))
                    continue
                assert window is not None
                if parameters["do"] == "open":
                    answer(window.open())
                else:
                    answer(await window.close(parameters["changes"]))
            controller.stop()
            await working


async def idle(seconds: float) -> Facts:
    """The CPU of a time in which nothing changes."""
    used = used_cpu()
    await asyncio.sleep(seconds)
    return {"cpu": used_cpu() - used, "rest": resident_memory()}


async def command() -> Parameters:
    """The next line; empty at the end of the input."""
    line = await asyncio.to_thread(sys.stdin.readline)
    parameters: Parameters = json.loads(line) if line else {}
    return parameters


def answer(facts: Facts) -> None:
    print(json.dumps(facts), flush=True)


asyncio.run(main())
