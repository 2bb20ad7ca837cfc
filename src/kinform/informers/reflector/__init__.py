"""The reflector: keeps a store identical to the state on the server."""

from __future__ import annotations

from kinform.informers.reflector._admission import Admission, Transform
from kinform.informers.reflector._capabilities import ServerCapabilities
from kinform.informers.reflector._options import ReflectorOptions
from kinform.informers.reflector._quarantine import Quarantine, QuarantinedObject
from kinform.informers.reflector._reflector import Reflector
from kinform.informers.reflector._state import (
    PastError,
    Phase,
    ReflectorState,
    ReflectorStatus,
    SyncMode,
    WatchFailure,
)
from kinform.informers.reflector._target import (
    KnownRecords,
    PlainStore,
    PlainStoreTarget,
    QueueTarget,
    ReflectorTarget,
    StoreTarget,
    TargetFailedError,
)

__all__ = [
    "Admission",
    "KnownRecords",
    "PastError",
    "Phase",
    "PlainStore",
    "PlainStoreTarget",
    "Quarantine",
    "QuarantinedObject",
    "QueueTarget",
    "Reflector",
    "ReflectorOptions",
    "ReflectorState",
    "ReflectorStatus",
    "ReflectorTarget",
    "ServerCapabilities",
    "StoreTarget",
    "SyncMode",
    "TargetFailedError",
    "Transform",
    "WatchFailure",
]
