"""Python scripts that talk to a test's server from a process of their own."""

from __future__ import annotations

import subprocess
import sys

from kinform.testing import BlockingApiServer

# Development mode also reports each step of a loop that took longer than 0.1 s: on a busy
# machine that says something of the machine, and nothing of the program.
_WITHOUT_SLOW_STEPS = """
import logging
logging.getLogger("asyncio").addFilter(lambda said: "Executing %s took" not in str(said.msg))
"""


def python(server: BlockingApiServer, script: str) -> subprocess.Popen[str]:
    """A process that runs it; ``sys.argv[1]`` there is the server's kubeconfig.

    Every warning is shown, and every forgotten connection is a complaint on stderr.
    """
    return subprocess.Popen(
        [sys.executable, "-X", "dev", "-c", _WITHOUT_SLOW_STEPS + script, str(server.kubeconfig())],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(server: BlockingApiServer, script: str) -> str:
    """What it prints; it has to end well, and without a complaint."""
    process = python(server, script)
    out, err = process.communicate(timeout=50)
    assert (process.returncode, err) == (0, ""), f"it ended with {process.returncode}: {err}"
    return out
