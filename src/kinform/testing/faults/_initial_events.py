"""Faults at the start of a watch: missing or incomplete bookmarks, changes and replays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kinform.testing.faults._fault import WATCH, Fault, Hooks, starts_with_initial_events
from kinform.testing.faults._json_edits import (
    edited,
    is_bookmark,
    is_end_bookmark,
)
from kinform.testing.formats import INITIAL_EVENTS_END
from kinform.testing.interception import Call, FrameFilter, WatchFrame


def missing_bookmarks() -> Fault:
    """Send no bookmarks, not even the one after the initial events."""
    return _each_frame("missing bookmarks", lambda frame: () if is_bookmark(frame) else (frame,))


def missing_end_bookmark() -> Fault:
    """Send the initial events without the bookmark that ends them; later bookmarks are sent."""

    def frames(frame: WatchFrame) -> Iterable[WatchFrame]:
        return () if is_end_bookmark(frame) else (frame,)

    return _each_frame("missing end bookmark", frames, initial_events=True)


def unannotated_end_bookmark() -> Fault:
    """Send the bookmark after the initial events without its annotation."""

    def strip(document: dict[str, Any]) -> None:
        annotations = document["metadata"]["annotations"]
        del annotations[INITIAL_EVENTS_END]
        if not annotations:
            del document["metadata"]["annotations"]

    def frames(frame: WatchFrame) -> Iterable[WatchFrame]:
        if not is_end_bookmark(frame):
            return (frame,)
        return (replace(frame, object=edited(frame.object, strip)),)

    return _each_frame("unannotated end bookmark", frames, initial_events=True)


def changes_before_end_bookmark() -> Fault:
    """Modify, delete and add the first object again before the initial events end.

    The final state of the client is still that of the server.
    """

    def hooks(call: Call, hits: int) -> Hooks:
        first: list[WatchFrame] = []

        def frames(frame: WatchFrame) -> Iterable[WatchFrame]:
            if not first and not is_bookmark(frame):
                first.append(frame)
            if not first or not is_end_bookmark(frame):
                return (frame,)
            body = first[0].object
            changes = (WatchFrame(type_, body) for type_ in ("MODIFIED", "DELETED", "ADDED"))
            return (*changes, frame)

        return Hooks(frames=frames)

    return Fault(
        "changes before end bookmark", hooks, verbs=WATCH, applies_to=starts_with_initial_events
    )


def replay_on_resume() -> Fault:
    """Send all objects as ADDED to a watch that resumes from a resource version."""

    def from_the_start(call: Call) -> Call:
        query = {name: call.query[name] for name in call.query if name != "resourceVersion"}
        return replace(call, query=query)

    return Fault(
        "replay on resume",
        lambda call, hits: Hooks(call=from_the_start),
        verbs=WATCH,
        applies_to=lambda call: call.query.get("resourceVersion", "") not in ("", "0"),
    )


def _each_frame(name: str, frames: FrameFilter, *, initial_events: bool = False) -> Fault:
    return Fault(
        name,
        lambda call, hits: Hooks(frames=frames),
        verbs=WATCH,
        applies_to=starts_with_initial_events if initial_events else lambda call: True,
    )
