"""The committed table of the Kubernetes API is what Go's types and a real server say today."""

from __future__ import annotations

import os
import shutil

import pytest

from tools.schema import collect
from tools.schema.table import PATH

pytestmark = pytest.mark.cluster


# A server of its own, with every gate open; the fixture knows when to skip. The first run builds.
@pytest.mark.usefixtures("real_cluster")
@pytest.mark.timeout(900)
@pytest.mark.skipif(
    shutil.which("go") is None and os.environ.get("KINFORM_REQUIRE_CLUSTER") != "1",
    reason="no `go` here, to read the types with",
)
def test_collecting_again_gives_identical_bytes() -> None:
    assert collect.render(collect.collect()) == PATH.read_text("utf-8")
