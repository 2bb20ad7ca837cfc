"""The event recorder: writes Kubernetes events about objects, without blocking."""

from __future__ import annotations

from kinform.controllers.recorder._bodies import EventApi
from kinform.controllers.recorder._occurrence import EventKind
from kinform.controllers.recorder._outbox import DropReason, RecorderStatus
from kinform.controllers.recorder._recorder import EventRecorder

__all__ = ["DropReason", "EventApi", "EventKind", "EventRecorder", "RecorderStatus"]
