"""The blocking API: the same names without ``await``, for scripts and threads.

A background thread runs the event loop. Objects that only read from memory are shared with the
async API; only operations that wait have a blocking version here.
"""

from __future__ import annotations

from kinform.blocking._cache import Cache, CacheOptions
from kinform.blocking._cached_client import CachedClient
from kinform.blocking._client import Client, ClientOptions
from kinform.blocking._controller_helpers import (
    ResumingWatch,
    create_or_patch,
    create_or_update,
    resuming_watch,
    retry_on_conflict,
    wait_until,
    wait_until_gone,
)
from kinform.blocking._factory import (
    BlockingFactory,
    DynamicSharedInformerFactory,
    MetadataSharedInformerFactory,
    ResourceInformer,
)
from kinform.blocking._leader_elector import LeaderElector, LeaderElectorOptions
from kinform.blocking._loop_thread import LoopThread
from kinform.blocking._manager import Manager, ManagerOptions
from kinform.blocking._recorder import EventRecorder, EventRecorderOptions
from kinform.blocking._reflector import (
    DeltaController,
    DeltaControllerConfig,
    Informer,
    InformerKeywords,
    Reflector,
    ReflectorKeywords,
)
from kinform.blocking._shared_informer import (
    EventStream,
    SharedIndexInformer,
    SharedIndexInformerOptions,
)
from kinform.blocking._source import ListWatch, ListWatchOptions
from kinform.blocking._typed_factory import SharedInformerFactory, new_informer
from kinform.blocking._verbs import Discovery, Verbs
from kinform.blocking._watch import Watch
from kinform.blocking._workqueue import WorkQueue

__all__ = [
    "BlockingFactory",
    "Cache",
    "CacheOptions",
    "CachedClient",
    "Client",
    "ClientOptions",
    "DeltaController",
    "DeltaControllerConfig",
    "Discovery",
    "DynamicSharedInformerFactory",
    "EventRecorder",
    "EventRecorderOptions",
    "EventStream",
    "Informer",
    "InformerKeywords",
    "LeaderElector",
    "LeaderElectorOptions",
    "ListWatch",
    "ListWatchOptions",
    "LoopThread",
    "Manager",
    "ManagerOptions",
    "MetadataSharedInformerFactory",
    "Reflector",
    "ReflectorKeywords",
    "ResourceInformer",
    "ResumingWatch",
    "SharedIndexInformer",
    "SharedIndexInformerOptions",
    "SharedInformerFactory",
    "Verbs",
    "Watch",
    "WorkQueue",
    "create_or_patch",
    "create_or_update",
    "new_informer",
    "resuming_watch",
    "retry_on_conflict",
    "wait_until",
    "wait_until_gone",
]
