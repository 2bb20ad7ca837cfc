"""The resource that most tests of informers are about: small, and every server has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinform.api import GVR

MAPS = GVR("", "v1", "configmaps")


def config_map(
    name: str,
    namespace: str = "default",
    *,
    data: Mapping[str, str] | None = None,
    **labels: str,
) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    return made if data is None else {**made, "data": dict(data)}
