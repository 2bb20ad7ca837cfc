"""Work queues: keys to process, each at most once at a time, with delays and priorities."""

from __future__ import annotations

from kinform.workqueue._base import BaseWorkQueue
from kinform.workqueue._queue import WorkQueue
from kinform.workqueue._rate_limiters import (
    ExponentialBackoff,
    FastSlow,
    MaxOf,
    RateLimiter,
    TokenBucket,
    WithMaxWait,
    classic_rate_limiter,
    default_rate_limiter,
)
from kinform.workqueue._status import QueueStatus

__all__ = [
    "BaseWorkQueue",
    "ExponentialBackoff",
    "FastSlow",
    "MaxOf",
    "QueueStatus",
    "RateLimiter",
    "TokenBucket",
    "WithMaxWait",
    "WorkQueue",
    "classic_rate_limiter",
    "default_rate_limiter",
]
