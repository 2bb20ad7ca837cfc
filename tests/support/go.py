"""Go, with which some tests build what they hold us against."""

from __future__ import annotations

import os
import shutil

import pytest


def has_go() -> bool:
    """Yes as well where ``KINFORM_REQUIRE_CLUSTER=1`` demands it: who lacks it then fails."""
    return shutil.which("go") is not None or os.environ.get("KINFORM_REQUIRE_CLUSTER") == "1"


needs_go = pytest.mark.skipif(not has_go(), reason="no `go` here, to build the other side with")
