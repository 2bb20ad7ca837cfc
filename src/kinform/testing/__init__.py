"""An API server to test against: real HTTP, real semantics, faults on demand."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinform.testing import cluster_life, faults
    from kinform.testing._apiserver import ApiServer
    from kinform.testing._blocking import BlockingApiServer
    from kinform.testing._request_log import ReceivedRequest, RequestLog

__all__ = [
    "ApiServer",
    "BlockingApiServer",
    "ReceivedRequest",
    "RequestLog",
    "cluster_life",
    "faults",
]

_HOMES = {
    "ApiServer": "_apiserver",
    "BlockingApiServer": "_blocking",
    "ReceivedRequest": "_request_log",
    "RequestLog": "_request_log",
}


def __getattr__(name: str) -> Any:
    # Loaded when asked for: the pytest plugin lives in this room, and with it every test run
    # of everybody who has kinform installed passes through here.
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in __all__:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
