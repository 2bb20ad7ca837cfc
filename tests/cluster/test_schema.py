"""The committed table of the Kubernetes API is what Go's types and a real server say today."""

from __future__ import annotations

import pytest

from tests.support.go import needs_go
from tools.schema import collect
from tools.schema.table import PATH

pytestmark = pytest.mark.cluster


# A server of its own, with every gate open; the fixture knows when to skip. The first run builds.
@needs_go
@pytest.mark.usefixtures("real_cluster")
@pytest.mark.timeout(900)
def test_collecting_again_gives_identical_bytes() -> None:
    assert collect.render(collect.collect()) == PATH.read_text("utf-8")
