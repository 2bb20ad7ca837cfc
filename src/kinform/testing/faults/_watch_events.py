"""Watch faults: error events, silence, early ends, and broken or huge events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kinform.errors import ApiError, ConfigError
from kinform.testing import api_errors
from kinform.testing.faults._fault import ENCODINGS, WATCH, Fault, Hooks
from kinform.testing.faults._json_edits import edited, encode, is_bookmark
from kinform.testing.interception import (
    Call,
    EventEncoding,
    FrameFilter,
    Sink,
    SinkWrapper,
    WatchFrame,
)


@dataclass(frozen=True, slots=True)
class RawFrame(WatchFrame):
    """Bytes sent unchanged in place of an event."""

    def encode(self, encoding: EventEncoding) -> bytes:
        return self.object


@dataclass(frozen=True, slots=True)
class _HalfFrame(WatchFrame):
    """The first half of an event."""

    def encode(self, encoding: EventEncoding) -> bytes:
        whole = encoding.event(self.type.encode(), self.object)
        return whole[: len(whole) // 2]


@dataclass(frozen=True, slots=True)
class _GarbageFrame(WatchFrame):
    """Invalid data, sent in place of an event."""

    def encode(self, encoding: EventEncoding) -> bytes:
        return encoding.frame(self.object)


def error_event(
    code: int,
    reason: str = "",
    message: str = "refused by an injected fault",
    *,
    details: Mapping[str, Any] | None = None,
    after: int = 0,
) -> Fault:
    """Send an ERROR event with this ``Status`` and end the watch: immediately, or in place of the
    event that follows ``after`` others.
    """
    error = ApiError(message, code=code, reason=reason, details=details)
    return _error_instead(f"error event {code}", api_errors.failure_body(error), after=after)


def _error_instead(name: str, body: bytes, *, after: int) -> Fault:
    error = WatchFrame("ERROR", body, final=True)
    if after:
        return _at_event(name, after, lambda frame: (error,))
    return _whole_stream(name, error)


def _whole_stream(name: str, *frames: WatchFrame) -> Fault:
    """Respond to a watch with these events and a clean end."""

    async def before(call: Call, sink: Sink) -> bool:
        encoding = ENCODINGS.stream(call.headers.get("Accept", ""), custom=call.custom)
        await sink.start(200, {"Content-Type": encoding.watch_type})
        for frame in frames:
            await sink.write(frame.encode(encoding))
        await sink.finish()
        return True

    return Fault(name, lambda call, hits: Hooks(before=before), verbs=WATCH, answers=True)


def expired_event(*, after: int = 0) -> Fault:
    """410 as an ERROR event in a response with status 200."""
    return _error_instead(
        "expired event", api_errors.failure_body(api_errors.too_old(1, 2)), after=after
    )


def internal_error_event(*, after: int = 0) -> Fault:
    """500 ``InternalError`` as an ERROR event: the server has a problem with its storage."""
    error = api_errors.internal(
        "Internal error occurred: etcd event received", reason="InternalError"
    )
    return _error_instead("internal error event", api_errors.failure_body(error), after=after)


def storage_read_error_event(*, after: int = 0) -> Fault:
    """500 ``StorageReadError`` as an ERROR event: an object that does not decode was deleted."""
    error = api_errors.internal(
        "data from the storage is not transformable", reason="StorageReadError"
    )
    return _error_instead("storage read error event", api_errors.failure_body(error), after=after)


def error_event_without_kind(*, after: int = 0) -> Fault:
    """An ERROR event whose object has no kind, so it is not marked as a ``Status``."""
    body = encode({"status": "Failure", "message": "no kind", "reason": "Expired", "code": 410})
    return _error_instead("error event without kind", body, after=after)


def close_silently(*, after: int = 0) -> Fault:
    """End the watch cleanly and without an error event, as some proxies do instead of a 410."""

    if not after:
        return _whole_stream("close silently")
    return Fault(
        "close silently", lambda call, hits: Hooks(frames=_ending_after(after)), verbs=WATCH
    )


def silence(*, after: int = 0) -> Fault:
    """Send ``after`` events, then nothing, not even bookmarks; the socket stays open."""

    def hooks(call: Call, hits: int) -> Hooks:
        seen = 0

        def frames(frame: WatchFrame) -> Iterable[WatchFrame]:
            nonlocal seen
            seen += 1
            return (frame,) if seen <= after else ()

        return Hooks(frames=frames)

    return Fault("silence", hooks, verbs=WATCH)


def cut_after_events(count: int) -> Fault:
    """Send ``count`` events, including initial ones, then break the connection.

    If a watch starts with more initial events than that, it breaks between them.

    Raises:
        ConfigError: ``count`` is less than 1; to send no event, use ``drop_connection``.
    """
    if count < 1:
        raise ConfigError(f"cannot cut after {count} events; use drop_connection to send nothing")

    def hooks(call: Call, hits: int) -> Hooks:
        return Hooks(frames=_ending_after(count), sink=_CutAtTheEnd)

    return Fault("cut after events", hooks, verbs=WATCH)


def cut_inside_event(*, after: int = 0) -> Fault:
    """Send ``after`` events and half of the next, then break the connection."""
    return _half_an_event("cut inside event", after, sink=True)


def end_inside_event(*, after: int = 0) -> Fault:
    """Send ``after`` events and half of the next, then end the response cleanly."""
    return _half_an_event("end inside event", after, sink=False)


def _half_an_event(name: str, after: int, *, sink: bool) -> Fault:
    def half(frame: WatchFrame) -> Iterable[WatchFrame]:
        return (_HalfFrame(frame.type, frame.object, final=True),)

    whole = _at_event(name, after, half)
    if not sink:
        return whole
    return replace(
        whole, hooks=lambda call, hits: replace(whole.hooks(call, hits), sink=_CutAtTheEnd)
    )


def malformed_event(*, after: int = 0) -> Fault:
    """Send an event whose object does not decode; the stream continues after it."""
    broken = b'{"metadata":{"name":"broken","labels":{'
    return _at_event(
        "malformed event", after, lambda frame: (WatchFrame("MODIFIED", broken), frame)
    )


def garbage_line(line: bytes = b"\x00\xffnot json at all\n", *, after: int = 0) -> Fault:
    """Send a line, or in protobuf a frame, that is not an event; the stream continues."""
    return _at_event("garbage line", after, lambda frame: (_GarbageFrame("", line), frame))


def huge_event(size: int = 3_000_000, *, text: str = "é", after: int = 0) -> Fault:
    """Pad one event to at least ``size`` bytes with an annotation that repeats ``text``."""

    def pad(document: dict[str, Any]) -> None:
        annotations = document["metadata"].setdefault("annotations", {})
        annotations["kinform.dev/padding"] = text * (size // len(text.encode()) + 1)

    def padded(frame: WatchFrame) -> Iterable[WatchFrame]:
        return (replace(frame, object=edited(frame.object, pad)),)

    return _at_event("huge event", after, padded)


def _at_event(name: str, after: int, then: FrameFilter) -> Fault:
    """Apply ``then`` to the event that follows ``after`` others, not counting bookmarks."""

    def hooks(call: Call, hits: int) -> Hooks:
        seen = 0

        def frames(frame: WatchFrame) -> Iterable[WatchFrame]:
            nonlocal seen
            if is_bookmark(frame):
                return (frame,)
            seen += 1
            return then(frame) if seen == after + 1 else (frame,)

        return Hooks(frames=frames)

    return Fault(name, hooks, verbs=WATCH)


def _ending_after(count: int) -> FrameFilter:
    seen = 0

    def frames(frame: WatchFrame) -> Iterable[WatchFrame]:
        nonlocal seen
        if seen == count:
            return ()
        seen += 1
        return (replace(frame, final=True) if seen == count else frame,)

    return frames


class _CutAtTheEnd(SinkWrapper):
    async def finish(self) -> None:
        self.cut()
