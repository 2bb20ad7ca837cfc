"""The embedded API server for synchronous code: the event loop runs on a thread of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from kinform.blocking import LoopThread
from kinform.testing._apiserver import ApiServer
from kinform.testing.faults import Faults
from kinform.testing.interception import CallCriteria
from kinform.testing.recording import ReceivedRequest, RequestLog
from kinform.testing.server import InProcessApi

if TYPE_CHECKING:
    from kinform.transport import ClusterConfig

P = ParamSpec("P")
R = TypeVar("R")


def _on_the_loop(
    method: Callable[Concatenate[ApiServer, P], R],
) -> Callable[Concatenate[BlockingApiServer, P], R]:
    """Return the same method, which runs on the server's thread while the caller waits."""

    @functools.wraps(method)
    def call(self: BlockingApiServer, /, *args: P.args, **options: P.kwargs) -> R:
        return self._thread.call(lambda: method(self._server, *args, **options))

    return call


class BlockingApiServer(InProcessApi):
    """An ``ApiServer`` on its own thread, for use in a ``with`` block.

    It accepts the same options. Methods can be called from any thread except the server's own,
    and return when the server has completed the call.
    """

    def __init__(self, **options: Any) -> None:
        self._server = ApiServer(**options)
        self._thread = LoopThread(name=f"API server {self._server.name!r}")
        super().__init__(self._server._cluster, run=self._thread.call)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the thread and start listening.

        Raises:
            StateError: The server was started before, or the port is in use.
        """
        self._thread.start()
        try:
            self._thread.run(self._server.start())
        except BaseException:
            self._thread.stop()
            raise

    def stop(self) -> None:
        """End all watches, stop listening and end the thread. Idempotent."""
        if self._thread.is_running:
            try:
                self._thread.run(self._server.stop())
            finally:
                self._thread.stop()

    @property
    def name(self) -> str:
        return self._server.name

    @property
    def faults(self) -> Faults:
        return self._server.faults

    @property
    def requests(self) -> BlockingRequestLog:
        return BlockingRequestLog(self._server.requests, self._thread)

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def ca_data(self) -> bytes | None:
        return self._server.ca_data

    @property
    def ca_file(self) -> Path | None:
        return self._thread.call(lambda: self._server.ca_file)

    @property
    def token(self) -> str | None:
        return self._server.token

    @property
    def config(self) -> ClusterConfig:
        return self._server.config

    @property
    def clock(self) -> Callable[[], float]:
        return self._server.clock

    @clock.setter
    def clock(self, clock: Callable[[], float]) -> None:
        self._server.clock = clock

    @property
    def resource_version(self) -> str:
        return self._server.resource_version

    kubeconfig = _on_the_loop(ApiServer.kubeconfig)
    replace_tokens = _on_the_loop(ApiServer.replace_tokens)
    rotate_certificates = _on_the_loop(ApiServer.rotate_certificates)
    compact = _on_the_loop(ApiServer.compact)
    restore = _on_the_loop(ApiServer.restore)
    end_watches = _on_the_loop(ApiServer.end_watches)


class BlockingRequestLog:
    """A ``RequestLog`` whose ``wait_for`` blocks."""

    def __init__(self, log: RequestLog, thread: LoopThread) -> None:
        self._log = log
        self._thread = thread
        self.matching = log.matching
        self.count = log.count
        self.lists = log.lists
        self.watches = log.watches

    def __len__(self) -> int:
        return len(self._log)

    def __iter__(self) -> Iterator[ReceivedRequest]:
        return iter(self._log)

    def __getitem__(self, index: int) -> ReceivedRequest:
        return self._log[index]

    def clear(self) -> None:
        self._thread.call(self._log.clear)

    def wait_for(
        self,
        predicate: Callable[[ReceivedRequest], bool] | None = None,
        *,
        timeout: float = 10.0,
        **criteria: Unpack[CallCriteria],
    ) -> ReceivedRequest:
        """Like ``RequestLog.wait_for``; the predicate runs on the server's thread."""
        return self._thread.run(self._log.wait_for(predicate, timeout=timeout, **criteria))
