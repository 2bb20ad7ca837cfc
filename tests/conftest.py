"""Which tests run, and the real cluster that some of them share."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from kinform import _native
from kinform._native._fallback import (
    StructReader,
    ViewField,
    try_events,
    try_head,
    try_lines,
    try_unchunk,
)
from kinform.client import _json_wire, _protobuf_wire
from kinform.protobuf import _codec, _head_reader, _parts, _views
from kinform.protobuf._partial_message import PartialMessage
from kinform.transport import _http_body
from tests.support.built import built_or_skip
from tests.support.cluster import RealCluster
from tools.cluster_binaries import built

# The modules that call compiled functions.
_USERS = (_http_body, _json_wire, _protobuf_wire, _head_reader)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cluster",
        action="store_true",
        help="run the tests that need a real kube-apiserver and etcd, and only those",
    )


def pytest_configure(config: pytest.Config) -> None:
    """What runs in the background ignores Ctrl-C, and so would the programs that tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """``cluster`` tests run with ``--cluster`` and never without it."""
    wanted = bool(config.getoption("--cluster"))
    deselected = [item for item in items if _needs_cluster(item) is not wanted]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if _needs_cluster(item) is wanted]


def _needs_cluster(item: pytest.Item) -> bool:
    return item.get_closest_marker("cluster") is not None


@pytest.fixture(scope="session")
def real_cluster() -> Iterator[RealCluster]:
    """One kube-apiserver and etcd for the whole run. Leave it as you found it.

    Skips where they have not been built, unless ``KINFORM_REQUIRE_CLUSTER=1`` demands them.
    """
    built_or_skip(built)
    with RealCluster() as cluster:
        yield cluster


@pytest.fixture(scope="module", params=["compiled", "interpreted"])
def either_way(request: pytest.FixtureRequest) -> Iterator[str]:
    """The tests of a module twice: with compiled code, and as if nothing had been compiled."""
    way: str = request.param
    if way == "compiled" and not _native.IS_COMPILED:
        pytest.skip("there is no compiled code here")
    with pytest.MonkeyPatch.context() as patch:
        if way == "interpreted":
            for function in (try_unchunk, try_events, try_head, try_lines):
                for user in _USERS:
                    if hasattr(user, function.__name__):
                        patch.setattr(user, function.__name__, function)
            patch.setattr(_codec, "parts_reader", lambda message, group: StructReader(None, ()))
            patch.setattr(_views, "ViewField", ViewField)
            patch.setattr(PartialMessage, "read", PartialMessage.parsed)
            _forget_views()
        yield way
    if way == "interpreted":
        _forget_views()


def _forget_views() -> None:
    """The reader of a field is chosen on first access."""
    for remembered in (_views.view_class, _views.view_of, _parts.part_reader, _parts.parts_reader):
        remembered.cache_clear()
