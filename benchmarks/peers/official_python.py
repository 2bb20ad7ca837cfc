"""The official Python client's ``SharedInformer`` of all pods: initial sync, or a steady watch."""

from __future__ import annotations

import threading
import time
from typing import Any

# It lives in the peers' own environment.
from kubernetes import client, config
from kubernetes.informer import (
    ADDED,
    MODIFIED,
    SharedInformer,
)

from benchmarks.measure import (
    Facts,
    Parameters,
    Window,
    report,
    resident_memory,
    since,
    used_cpu,
)


def follow_pods(parameters: Parameters) -> Facts:
    config.load_kube_config(parameters["kubeconfig"])
    informer = SharedInformer(client.CoreV1Api().list_pod_for_all_namespaces)
    window, synced = Window(), threading.Event()
    left = parameters["objects"]

    def on_add(_: Any) -> None:
        # It does not say when it has synced; the harness knows how many there are.
        nonlocal left
        left -= 1
        if not left:
            synced.set()

    informer.add_event_handler(ADDED, on_add)
    informer.add_event_handler(
        MODIFIED, lambda pod: window.note((pod.metadata.labels or {}).get(parameters["stamp"]))
    )
    informer.start()
    synced.wait()
    facts = {"cpu": used_cpu(), "work_wall": since(parameters["started"])}
    if parameters["mode"] == "sync":
        time.sleep(parameters["rest"])
        facts["rested_cpu"] = used_cpu()
    else:
        facts |= window.measure()
    # Its thread is a daemon: stopping would wait for the next event.
    return {**facts, "objects": len(informer.cache.list_keys()), "rest": resident_memory()}


report(follow_pods)
