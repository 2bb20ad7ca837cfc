"""An address, an authority and a token in; a kubeconfig file for kubectl and clients out."""

from __future__ import annotations

import base64
import contextlib
import os
from pathlib import Path
from typing import Any

from kinform.errors import ConfigError

CONTEXT = "kinform"


def kubeconfig_document(*, url: str, ca_pem: bytes | None, token: str | None) -> dict[str, Any]:
    """The file's content: one cluster, one user, one context, all called ``kinform``."""
    cluster: dict[str, Any] = {"server": url}
    if ca_pem is not None:
        cluster["certificate-authority-data"] = base64.b64encode(ca_pem).decode()
    user: dict[str, Any] = {} if token is None else {"token": token}
    context = {"cluster": CONTEXT, "user": CONTEXT, "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": CONTEXT,
        "clusters": [{"name": CONTEXT, "cluster": cluster}],
        "users": [{"name": CONTEXT, "user": user}],
        "contexts": [{"name": CONTEXT, "context": context}],
    }


def write_kubeconfig(path: Path, *, url: str, ca_pem: bytes | None, token: str | None) -> Path:
    """Write it where only its owner can read it, replacing what was there in one step.

    Raises:
        ConfigError: The file cannot be written, or holds somebody's own configuration.
    """
    # Imported here: a server that nobody asks for a kubeconfig does without YAML.
    import yaml

    _refuse_to_replace_another(path)
    document = kubeconfig_document(url=url, ca_pem=ca_pem, token=token)
    text = yaml.safe_dump(document, sort_keys=False)
    # Beside the target, so that the exchange is one rename and never leaves half a file.
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(draft, "w", encoding="utf-8", opener=_for_the_owner_only) as file:
            file.write(text)
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise ConfigError(f"cannot write the kubeconfig {path}: {error.strerror}") from error
    return path


def _refuse_to_replace_another(path: Path) -> None:
    """Whoever points us at ``~/.kube/config`` must not lose the way into their clusters."""
    import yaml

    try:
        there = yaml.safe_load(path.read_text("utf-8"))
    except OSError:
        return  # nothing is there, or nothing that can be replaced
    except (UnicodeDecodeError, yaml.YAMLError):
        there = "something else"
    ours = isinstance(there, dict) and [
        entry.get("name") for entry in there.get("contexts") or () if isinstance(entry, dict)
    ] == [CONTEXT]
    if there is not None and not ours:
        raise ConfigError(
            f"{path} exists and is not a kubeconfig of the embedded server; "
            "name another file, or remove it"
        )


def _for_the_owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, mode=0o600)
