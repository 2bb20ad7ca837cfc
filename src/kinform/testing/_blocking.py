"""The embedded API server for plain ``def`` code: its loop on a thread, its names unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kinform.api import GVR, FieldSelector, LabelSelector
from kinform.testing._apiserver import ApiServer
from kinform.testing._loop_thread import LoopThread
from kinform.testing._request_log import ReceivedRequest, RequestLog
from kinform.testing.faults import Faults

if TYPE_CHECKING:
    from kinform.transport import ClusterConfig

Json = dict[str, Any]


class BlockingApiServer:
    """An ``ApiServer`` on a thread of its own, inside its ``with`` block.

    It takes the same options. Every call may come from any thread but the server's own, and
    returns when the server has done it.
    """

    def __init__(self, **options: Any) -> None:
        self._server = ApiServer(**options)
        self._thread = LoopThread(name=f"API server {self._server.name!r}")

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
        """Start the thread, and listen.

        Raises:
            StateError: It ran before, or the port is taken.
        """
        self._thread.start()
        try:
            self._thread.run(self._server.start())
        except BaseException:
            self._thread.stop()
            raise

    def stop(self) -> None:
        """End all watches, stop listening, and end the thread. Idempotent."""
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

    def kubeconfig(self, path: str | Path | None = None) -> Path:
        return self._thread.call(lambda: self._server.kubeconfig(path))

    def replace_tokens(self, tokens: Mapping[str, str] | None) -> None:
        self._thread.call(lambda: self._server.replace_tokens(tokens))

    def rotate_certificates(self) -> None:
        self._thread.call(self._server.rotate_certificates)

    def compact(self, resource_version: str | None = None) -> None:
        self._thread.call(lambda: self._server.compact(resource_version))

    def create(self, obj: Mapping[str, Any]) -> Json:
        return self._thread.call(lambda: self._server.create(obj))

    def load(self, objects: Iterable[Mapping[str, Any] | bytes]) -> int:
        return self._thread.call(lambda: self._server.load(objects))

    def update(self, obj: Mapping[str, Any], *, subresource: str = "") -> Json:
        return self._thread.call(lambda: self._server.update(obj, subresource=subresource))

    def patch(
        self,
        gvr: GVR,
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        kind: str = "merge",
        subresource: str = "",
    ) -> Json:
        return self._thread.call(
            lambda: self._server.patch(
                gvr, name, patch, namespace, kind=kind, subresource=subresource
            )
        )

    def touch(self, gvr: GVR, name: str, patch: Mapping[str, Any], namespace: str = "") -> int:
        return self._thread.call(lambda: self._server.touch(gvr, name, patch, namespace))

    def delete(
        self,
        gvr: GVR,
        name: str,
        namespace: str = "",
        *,
        grace_period_seconds: int | None = None,
        propagation_policy: str = "",
    ) -> bool:
        return self._thread.call(
            lambda: self._server.delete(
                gvr,
                name,
                namespace,
                grace_period_seconds=grace_period_seconds,
                propagation_policy=propagation_policy,
            )
        )

    def recreate(self, gvr: GVR, name: str, namespace: str = "") -> Json:
        return self._thread.call(lambda: self._server.recreate(gvr, name, namespace))

    def get(self, gvr: GVR, name: str, namespace: str = "") -> Json:
        return self._thread.call(lambda: self._server.get(gvr, name, namespace))

    def list(
        self,
        gvr: GVR,
        namespace: str = "",
        *,
        label_selector: LabelSelector | str = "",
        field_selector: FieldSelector | str = "",
    ) -> list[Json]:
        return self._thread.call(
            lambda: self._server.list(
                gvr, namespace, label_selector=label_selector, field_selector=field_selector
            )
        )


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
        self, predicate: Callable[[ReceivedRequest], bool], *, timeout: float = 10.0
    ) -> ReceivedRequest:
        """As that of ``RequestLog``; the predicate runs on the server's thread."""
        return self._thread.run(self._log.wait_for(predicate, timeout=timeout))
