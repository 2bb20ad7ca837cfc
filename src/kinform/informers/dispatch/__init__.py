"""Dispatch: delivers changes of the store to handlers, each at its own pace."""

from __future__ import annotations

from kinform.informers.dispatch._dispatcher import Dispatcher
from kinform.informers.dispatch._events import EventStream
from kinform.informers.dispatch._handler_options import (
    AnyHandler,
    HandlerOptions,
    ResourceEventHandler,
    RunOn,
    SubscriptionOptions,
)
from kinform.informers.dispatch._informer_event import InformerEvent
from kinform.informers.dispatch._invoker import HandlerFailure
from kinform.informers.dispatch._mailbox import Policy
from kinform.informers.dispatch._projection import Filter
from kinform.informers.dispatch._registration import HandlerStats, Registration

__all__ = [
    "AnyHandler",
    "Dispatcher",
    "EventStream",
    "Filter",
    "HandlerFailure",
    "HandlerOptions",
    "HandlerStats",
    "InformerEvent",
    "Policy",
    "Registration",
    "ResourceEventHandler",
    "RunOn",
    "SubscriptionOptions",
]
