"""The peers that we are measured beside, in an environment of their own outside the project."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from tools.cluster_binaries import cache_root

REQUIREMENTS = ("kubernetes==37.0.2",)


class NoPeersError(Exception):
    """The peers are not installed, and could not or should not be; says why."""


def peers_python(*, install: bool) -> Path:
    """The interpreter that has the peers.

    Raises:
        NoPeersError: They are not there and ``install`` is false, or cannot be had.
    """
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    folder = cache_root() / "peers" / "-".join((*REQUIREMENTS, version)).replace("==", "-")
    python = folder / "bin" / "python"
    ready = folder / ".ready"
    if ready.exists():
        return python
    if not install:
        raise NoPeersError(f"{', '.join(REQUIREMENTS)} is not installed yet; run without --quick")
    print(f"installing {', '.join(REQUIREMENTS)} into {folder}", file=sys.stderr, flush=True)
    venv.create(folder, clear=True, with_pip=True)
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", *REQUIREMENTS],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NoPeersError(f"pip could not install them: {done.stderr.strip()[-500:]}")
    ready.touch()
    return python
