"""The committed table of the Kubernetes API is what Go's types and a real server say today."""

from __future__ import annotations

import pytest

from tests.support.built import built_or_skip
from tools.go_programs import REFLECT
from tools.schema import collect
from tools.schema.table import PATH

pytestmark = pytest.mark.cluster


# A server of its own, with every gate open; the fixture knows when to skip.
@pytest.mark.usefixtures("real_cluster")
@pytest.mark.timeout(300)
def test_collecting_again_gives_identical_bytes() -> None:
    built_or_skip(REFLECT.built)
    assert collect.render(collect.collect()) == PATH.read_text("utf-8")
