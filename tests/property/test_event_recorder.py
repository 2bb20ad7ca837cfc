"""Random occurrences, pauses and server troubles: counts add up, and only drops lose events."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kinform.controllers.recorder import EventRecorder
from kinform.errors import ForbiddenError, ServiceUnavailableError, TransportError
from kinform.testing import run_virtual
from tests.unit.controllers.recorder.event_server import EventServer, pod

TROUBLES: dict[str, Any] = {
    "none": lambda: None,
    "unreachable": lambda: TransportError("refused"),
    "forbidden": lambda: ForbiddenError("no", code=403),
    "overloaded": lambda: ServiceUnavailableError("busy", code=503),
}
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("event"),
            st.integers(0, 3),  # the object
            st.sampled_from(["Up", "Down"]),
            st.integers(0, 14),  # the message
            st.integers(1, 12),  # how often
        ),
        st.tuples(st.just("pause"), st.sampled_from([0.01, 5.0, 130.0, 400.0, 4000.0])),
        st.tuples(st.just("trouble"), st.sampled_from(list(TROUBLES))),
        st.tuples(st.just("expire")),
    ),
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(steps=STEPS, api=st.sampled_from(["v1", "events.k8s.io/v1"]), capacity=st.integers(1, 30))
def test_counts_add_up(steps: list[Any], api: Any, capacity: int) -> None:
    """20: every accepted occurrence is on the server, or counted as lost."""
    run_virtual(_check(steps, api, capacity))


async def _check(steps: list[Any], api: Any, capacity: int) -> None:
    server = EventServer()
    trouble = "none"
    expired = 0

    def answer(verb: str, api: str) -> None:
        error = TROUBLES[trouble]()
        if error is not None:
            raise error

    server.answer = answer
    loop = asyncio.get_running_loop()
    recorder = EventRecorder(
        server,
        "web",
        api=api,
        capacity=capacity,
        clock=loop.time,
    )
    accepted = refused = 0
    async with recorder:
        for step in steps:
            match step:
                case ("event", obj, reason, message, times):
                    for _ in range(times):
                        took = recorder.event(pod(f"p{obj}"), "Normal", reason, f"m{message}")
                        accepted, refused = accepted + took, refused + (not took)
                case ("pause", seconds):
                    await asyncio.sleep(seconds)
                case ("trouble", trouble):
                    pass
                case ("expire",):
                    # Counts that the server forgets are written again with the next occurrence.
                    expired += sum(server.counts)
                    server.events.clear()
            status = recorder.status()
            lost = sum(status.dropped.get(each, 0) for each in ("refused", "unreachable"))
            assert status.recorded == accepted
            assert status.written + status.pending + lost == accepted
            assert sum(status.dropped.values()) == lost + refused
    status = recorder.status()
    lost = sum(status.dropped.get(each, 0) for each in ("refused", "unreachable", "unsent"))
    assert (status.pending, status.written + lost) == (0, accepted)
    if not expired:
        assert sum(server.counts) == status.written
    else:
        assert sum(server.counts) <= status.written
