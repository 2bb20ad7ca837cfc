"""Writes kubeconfig files for kubectl and clients."""

from __future__ import annotations

import base64
import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any

from kinform.errors import ConfigError

CONTEXT = "kinform"


def kubeconfig_document(*, url: str, ca_pem: bytes | None, token: str | None) -> dict[str, Any]:
    """Return the content of the file: one cluster, user and context, all named ``kinform``."""
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
    """Write the file atomically, readable only by its owner.

    Raises:
        ConfigError: The file cannot be written, or contains another configuration.
    """
    # Imported here, because a server without a kubeconfig does not need YAML.
    import yaml

    _refuse_to_replace_another(path)
    document = kubeconfig_document(url=url, ca_pem=ca_pem, token=token)
    text = yaml.safe_dump(document, sort_keys=False)
    draft = None
    try:
        # In the same folder, so that a rename replaces the target atomically. mkstemp creates a
        # new file with mode 0600 and follows no links, which matters in a shared folder.
        descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(draft, path)
    except OSError as error:
        if draft is not None:
            with contextlib.suppress(OSError):
                os.unlink(draft)
        raise ConfigError(f"cannot write the kubeconfig {path}: {error.strerror}") from error
    return path


def _refuse_to_replace_another(path: Path) -> None:
    """Refuse to overwrite a user's own configuration, such as ``~/.kube/config``."""
    import yaml

    try:
        there = yaml.safe_load(path.read_text("utf-8"))
    except OSError:
        return  # the file does not exist or cannot be read
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
