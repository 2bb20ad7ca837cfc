"""The committed resource table is what a real server says today."""

from __future__ import annotations

import pytest

from tools import generate_resources

pytestmark = pytest.mark.cluster


# A server of its own, for the shared one may have CRDs by now; the fixture knows when to skip.
@pytest.mark.usefixtures("real_cluster")
@pytest.mark.timeout(300)
def test_regenerating_from_a_real_server_gives_identical_bytes() -> None:
    discovery = generate_resources.Discovery.from_real_cluster()

    assert generate_resources.render(discovery) == generate_resources.OUTPUT.read_text("utf-8")
