"""The official Python client's ``Watch`` of all pods: every event of one stream."""

from __future__ import annotations

# It lives in the peers' own environment.
from kubernetes import client, config, watch

from benchmarks.measure import Facts, Parameters, report


def watch_pods(parameters: Parameters) -> Facts:
    config.load_kube_config(parameters["kubeconfig"])
    core = client.CoreV1Api()
    stream = watch.Watch().stream(
        core.list_pod_for_all_namespaces,
        resource_version="1",
        # With a timeout it does not reconnect when the stream ends.
        timeout_seconds=3600,
        deserialize=parameters["models"],
    )
    events = 0
    last = ""
    for event in stream:
        events += 1
        pod = event["object"]
        last = pod.metadata.name if parameters["models"] else pod["metadata"]["name"]
    return {"objects": events, "last": last}


report(watch_pods)
