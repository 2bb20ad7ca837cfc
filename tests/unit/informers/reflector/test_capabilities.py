"""What is remembered of servers that cannot stream, and for how long."""

from __future__ import annotations

from kinform.api import GVR
from kinform.informers import ServerCapabilities

PODS, NODES = GVR("", "v1", "pods"), GVR("", "v1", "nodes")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_everything_may_be_streamed_until_it_turns_out_otherwise() -> None:
    memory = ServerCapabilities()
    assert memory.allows("stream", PODS)
    memory.downgrade("stream", PODS)
    assert not memory.allows("stream", PODS)
    assert memory.allows("stream", NODES)


def test_a_downgrade_is_forgotten_after_its_time() -> None:
    clock = Clock()
    memory = ServerCapabilities(100, clock=clock)
    memory.downgrade("stream", PODS)
    clock.now = 99.9
    assert not memory.allows("stream", PODS)
    clock.now = 100.0
    assert memory.allows("stream", PODS)
    assert memory.allows("stream", PODS)


def test_another_downgrade_starts_the_time_anew() -> None:
    clock = Clock()
    memory = ServerCapabilities(100, clock=clock)
    memory.downgrade("stream", PODS)
    clock.now = 60.0
    memory.downgrade("stream", PODS)
    clock.now = 150.0
    assert not memory.allows("stream", PODS)
    clock.now = 160.0
    assert memory.allows("stream", PODS)
