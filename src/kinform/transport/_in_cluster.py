"""The configuration from a pod's environment and its service account."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from kinform.errors import ConfigError
from kinform.transport._config import ClusterConfig
from kinform.transport._credentials import TokenFile

logger = logging.getLogger("kinform.transport")


def missing_in_cluster(
    folder: str | os.PathLike[str], environment: Mapping[str, str]
) -> str | None:
    """Return why this is not a pod with a service account, or ``None`` if it is one."""
    for name in ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        if not environment.get(name):
            return f"{name} is not set"
    token = Path(folder) / "token"
    return None if token.is_file() else f"{token} is not there"


def in_cluster_config(
    folder: str | os.PathLike[str], environment: Mapping[str, str]
) -> ClusterConfig:
    """Return the configuration that the kubelet provides to every pod.

    Raises:
        ConfigError: A file or variable is missing; the message names it.
    """
    missing = missing_in_cluster(folder, environment)
    if missing is not None:
        raise ConfigError(
            f"not in a pod with a service account: {missing}; "
            "use a kubeconfig, or mount the token (automountServiceAccountToken)"
        )
    host = environment["KUBERNETES_SERVICE_HOST"]
    authority: Path | None = Path(folder) / "ca.crt"
    if authority is not None and not authority.is_file():
        logger.warning("%s does not exist; using the system's certificate authorities", authority)
        authority = None
    return ClusterConfig(
        server=f"https://{f'[{host}]' if ':' in host else host}"
        f":{environment['KUBERNETES_SERVICE_PORT']}",
        certificate_authority=authority,
        credentials=TokenFile(Path(folder) / "token"),
        namespace=_namespace(folder, environment),
        name="the pod's service account",
    )


def _namespace(folder: str | os.PathLike[str], environment: Mapping[str, str]) -> str:
    named = environment.get("POD_NAMESPACE", "").strip()
    if named:
        return named
    try:
        return (Path(folder) / "namespace").read_text("utf-8").strip() or "default"
    except (OSError, UnicodeDecodeError):
        return "default"
