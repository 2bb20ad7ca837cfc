"""Test support: an API server with real HTTP and semantics, fault injection and virtual time."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinform.testing import cluster_life, faults
    from kinform.testing._apiserver import ApiServer
    from kinform.testing._blocking_apiserver import BlockingApiServer
    from kinform.testing._virtual_time import VirtualTimeLoop, run_virtual, virtual_time
    from kinform.testing.recording import ReceivedRequest, RequestLog

__all__ = [
    "ApiServer",
    "BlockingApiServer",
    "ReceivedRequest",
    "RequestLog",
    "VirtualTimeLoop",
    "cluster_life",
    "faults",
    "run_virtual",
    "virtual_time",
]

_HOMES = {
    "ApiServer": "_apiserver",
    "BlockingApiServer": "_blocking_apiserver",
    "ReceivedRequest": "recording",
    "RequestLog": "recording",
    "VirtualTimeLoop": "_virtual_time",
    "run_virtual": "_virtual_time",
    "virtual_time": "_virtual_time",
}


def __getattr__(name: str) -> Any:
    # Imported lazily: a program that only needs virtual time does not load the server.
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
