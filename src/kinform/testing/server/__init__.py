"""The ways into the server: HTTP on a socket, and direct calls in the same process."""

from __future__ import annotations

from kinform.testing.server._access_control import AccessControl
from kinform.testing.server._browser_checks import BrowserChecks
from kinform.testing.server._certificates import ServerCertificates
from kinform.testing.server._frontend import REQUEST_LIMIT, Frontend
from kinform.testing.server._in_process_api import InProcessApi
from kinform.testing.server._kubeconfig_file import write_kubeconfig
from kinform.testing.server._listener import Listener

__all__ = [
    "REQUEST_LIMIT",
    "AccessControl",
    "BrowserChecks",
    "Frontend",
    "InProcessApi",
    "Listener",
    "ServerCertificates",
    "write_kubeconfig",
]
