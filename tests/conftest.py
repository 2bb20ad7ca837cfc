"""Which tests run, and the real cluster that some of them share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from tests.support.cluster import RealCluster
from tools.cluster_binaries import CannotBuildError, ensure

_CANNOT_BUILD = pytest.StashKey[CannotBuildError]()


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


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Build the binaries here if need be: it takes longer than any test may."""
    if session.config.getoption("--collect-only") or not any(map(_needs_cluster, session.items)):
        return
    try:
        ensure()
    except CannotBuildError as problem:
        session.config.stash[_CANNOT_BUILD] = problem


@pytest.fixture(scope="session")
def real_cluster(request: pytest.FixtureRequest) -> Iterator[RealCluster]:
    """One kube-apiserver and etcd for the whole run. Leave it as you found it.

    Skips where they cannot be had, unless ``KINFORM_REQUIRE_CLUSTER=1`` demands them.
    """
    problem = request.config.stash.get(_CANNOT_BUILD, None)
    if problem is not None:
        if os.environ.get("KINFORM_REQUIRE_CLUSTER") == "1":
            raise problem
        pytest.skip(f"no real cluster here: {problem}")
    with RealCluster() as cluster:
        yield cluster
