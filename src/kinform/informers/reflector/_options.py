"""How a reflector goes about it: what few programs ever change."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from kinform._runtime import Backoff, connection_backoff
from kinform.errors import ConfigError
from kinform.informers.reflector._streaming_memory import StreamingMemory


class ReflectorOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Passed on by informers and factories to their reflectors.

    Attributes:
        streaming: Whether to try a streamed list first, where the source can.
        page_size: Objects a page. Left out, it is 500 where pages cost the server nothing.
        watch_timeout: A watch is asked to last between this and twice this; at least 300 s.
        poll_interval: Seconds between lists of a resource that cannot be watched.
        backoff: Makes the delays of each reflector after refusals of the server (429, 5xx, 403).
        reconnect_backoff: Makes the delays after connections that brought nothing: refused, reset,
            timed out. A connection that made progress is followed by the next one at once.
        memory: Which resources cannot stream; those that share these options share it.

    Raises:
        ConfigError: An option makes no sense.
    """

    streaming: bool = True
    page_size: int | None = None
    watch_timeout: float = 300.0
    poll_interval: float = 30.0
    backoff: Callable[[], Backoff] = Backoff
    reconnect_backoff: Callable[[], Backoff] = connection_backoff
    memory: StreamingMemory = msgspec.field(default_factory=StreamingMemory)

    def __post_init__(self) -> None:
        if self.page_size is not None and self.page_size < 1:
            raise ConfigError(f"page_size must be at least 1, not {self.page_size!r}")
        if not self.watch_timeout > 0:
            raise ConfigError(f"watch_timeout must be above 0, not {self.watch_timeout!r}")
        if not self.poll_interval > 0:
            raise ConfigError(f"poll_interval must be above 0, not {self.poll_interval!r}")
