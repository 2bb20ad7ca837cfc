"""The official Python client's list of all pods, in one request or in its paging loop."""

from __future__ import annotations

from typing import Any

# It lives in the peers' own environment.
from kubernetes import client, config

from benchmarks.measure import Facts, Parameters, report


def list_pods(parameters: Parameters) -> Facts:
    config.load_kube_config(parameters["kubeconfig"])
    core = client.CoreV1Api()
    if parameters["page_size"]:
        pods = _in_pages(core, parameters["page_size"])
    else:
        pods = core.list_pod_for_all_namespaces().items
    return {"objects": len({pod.metadata.name for pod in pods})}


def _in_pages(core: Any, size: int) -> list[Any]:
    pods: list[Any] = []
    token = None
    while True:
        page = core.list_pod_for_all_namespaces(limit=size, _continue=token)
        pods += page.items
        token = page.metadata._continue
        if not token:
            return pods


report(list_pods)
