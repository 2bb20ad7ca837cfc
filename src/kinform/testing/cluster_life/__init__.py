"""A simulated cluster for the embedded server, and thousands of realistic pods for load tests."""

from __future__ import annotations

from kinform.testing.cluster_life._cluster_life import ClusterLife
from kinform.testing.cluster_life._manifests import APPLICATIONS, Application
from kinform.testing.cluster_life._pods import realistic_pod, realistic_pod_json
from kinform.testing.cluster_life._simulation import ClusterApi

__all__ = [
    "APPLICATIONS",
    "Application",
    "ClusterApi",
    "ClusterLife",
    "realistic_pod",
    "realistic_pod_json",
]
