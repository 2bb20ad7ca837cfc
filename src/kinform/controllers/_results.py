"""Results of a reconcile: done, again after a time, again with backoff, or never again."""

from __future__ import annotations

import math

import msgspec

from kinform.errors import ConfigError


class Done(msgspec.Struct, frozen=True):
    """The object is as it should be until something changes. The same as returning ``None``."""


class After(msgspec.Struct, frozen=True):
    """Reconcile again after a time, even if nothing changes. Ends a series of failures.

    Attributes:
        seconds: The delay; 0 or more.
        priority: The priority of the next reconcile; by default that of this one.

    Raises:
        ConfigError: ``seconds`` is not a number of at least 0.
    """

    seconds: float
    priority: int | None = None

    def __post_init__(self) -> None:
        seconds: object = self.seconds  # callers may be untyped
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise ConfigError(f"After takes a number of seconds, not {seconds!r}")
        if not (math.isfinite(seconds) and seconds >= 0):
            raise ConfigError(f"After takes a number of seconds of at least 0, not {seconds!r}")


class Retry(msgspec.Struct, frozen=True):
    """Reconcile again with backoff, such as to poll. Counts as an attempt, not as an error.

    Attributes:
        reason: Why, for logs and debug pages.
        priority: The priority of the next reconcile; by default that of this one.
    """

    reason: str = ""
    priority: int | None = None


class Terminal(msgspec.Struct, frozen=True):
    """The reconcile failed, and a retry would not help: wait until the object changes.

    Raising ``TerminalError`` does the same.

    Attributes:
        reason: Why, for logs and debug pages.
    """

    reason: str


Result = Done | After | Retry | Terminal | None
"""What a reconciler may return."""
