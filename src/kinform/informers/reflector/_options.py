"""Reflector settings that few programs need to change."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from kinform._runtime import Backoff, connection_backoff
from kinform.errors import ConfigError
from kinform.informers.reflector._capabilities import ServerCapabilities


class ReflectorOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of reflectors, also passed on by informers and factories.

    Attributes:
        streaming: Whether to try a streamed list first, if the source supports it.
        page_size: The number of objects per page. Defaults to 500 where paging costs the server
            nothing.
        watch_timeout: Seconds; each watch requests a random duration between this and twice
            this. At least 300.
        poll_interval: Seconds between lists of a resource that cannot be watched.
        backoff: Creates the backoff of a reflector after refusals (429, 5xx, 403).
        reconnect_backoff: Creates the backoff after connections without progress: refused, reset
            or timed out. After a connection with progress, the next one is opened at once.
        capabilities: Remembers which resources cannot be streamed or watched; shared with the
            options.

    Raises:
        ConfigError: An option is invalid.
    """

    streaming: bool = True
    page_size: int | None = None
    watch_timeout: float = 300.0
    poll_interval: float = 30.0
    backoff: Callable[[], Backoff] = Backoff
    reconnect_backoff: Callable[[], Backoff] = connection_backoff
    capabilities: ServerCapabilities = msgspec.field(default_factory=ServerCapabilities)

    def __post_init__(self) -> None:
        if self.page_size is not None and self.page_size < 1:
            raise ConfigError(f"page_size must be at least 1, not {self.page_size!r}")
        if not self.watch_timeout > 0:
            raise ConfigError(f"watch_timeout must be above 0, not {self.watch_timeout!r}")
        if not self.poll_interval > 0:
            raise ConfigError(f"poll_interval must be above 0, not {self.poll_interval!r}")
