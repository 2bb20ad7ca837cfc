"""What all tests with hostile servers have in common."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="package")
def _small_heap() -> Iterator[None]:
    """Keep the garbage collector away from objects of earlier tests.

    Scanning them can take more than half a second, in which the loop of a test is blocked.
    """
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
