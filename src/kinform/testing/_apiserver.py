"""The embedded API server: HTTP on loopback for clients, direct methods for the same process."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from aiohttp import web
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from kinform.client import ResourceLike
from kinform.errors import StateError
from kinform.testing.builtin_controllers import DefinitionController, NamespaceController
from kinform.testing.faults import Faults
from kinform.testing.interception import CallFilter
from kinform.testing.recording import RequestLog, RequestRecorder
from kinform.testing.server import (
    REQUEST_LIMIT,
    AccessControl,
    BrowserChecks,
    Frontend,
    InProcessApi,
    Listener,
    ServerCertificates,
    write_kubeconfig,
)
from kinform.testing.storage import ClusterState
from kinform.testing.verbs import VerbHandlers, VerbSettings, WatchSettings

if TYPE_CHECKING:
    from aiohttp.abc import AbstractStreamWriter

    from kinform.testing._blocking_apiserver import BlockingApiServer
    from kinform.transport import ClusterConfig

Json = dict[str, Any]

_HOST = "127.0.0.1"
# How long requests in progress may continue after the server is stopped.
_STOP_TIMEOUT = 0.2
_HEADER_LIMIT = 64 * 1024


class ApiServer(InProcessApi):
    """A Kubernetes API server for tests: real HTTP on loopback, real list and watch.

    ``async with ApiServer() as api:`` starts and stops it. Call all methods on the event loop
    of the server; from other threads, use ``ApiServer.blocking()``.

    Args:
        port: The port to listen on; 0 selects a free one.
        tls: Serve HTTPS with a certificate authority of its own (``ca_data``).
        tokens: User names by bearer token; ``None`` disables authentication.
        history: The number of changes kept per resource, from which a watch can resume.
        bookmark_interval: Seconds between the bookmarks of a watch.
        watch_list: Whether a watch can start with the current objects (``sendInitialEvents``).
        compress: Whether to compress large responses and streaming lists if the client accepts it.
        future_wait: Seconds to wait for a resource version that does not exist yet.
        watch_backlog: The number of changes buffered for a client that does not read its watch.
        allowed_hosts: Names in the ``Host`` header to accept besides those of loopback.
        idle_timeout: Seconds until a connection is closed that sends no request, or only a part.
        name: The name of the server in errors.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        tls: bool = False,
        tokens: Mapping[str, str] | None = None,
        history: int = 10_000,
        bookmark_interval: float = 60.0,
        watch_list: bool = True,
        compress: bool = True,
        future_wait: float = 3.0,
        watch_backlog: int = 1000,
        allowed_hosts: Sequence[str] = (),
        idle_timeout: float = 90.0,
        name: str = "embedded",
    ) -> None:
        super().__init__(ClusterState(history=history))
        self.name = name
        self.faults = Faults(self._cluster.registry)
        self.requests = RequestLog(self._cluster.registry)
        self._port = port
        self._certificates = ServerCertificates() if tls else None
        namespaces = NamespaceController(self._cluster)
        DefinitionController(self._cluster)
        namespaces.create_initial_objects()
        settings = VerbSettings(
            watch_list=watch_list,
            compress=compress,
            future_wait=future_wait,
            watch=WatchSettings(bookmark_interval=bookmark_interval, backlog=watch_backlog),
        )
        self._verbs = VerbHandlers(self._cluster, settings)
        recorder = RequestRecorder(self.requests, self.faults)
        self._access = AccessControl(tokens)
        self._idle_timeout = idle_timeout
        self._frontend = Frontend(
            self._cluster,
            self._verbs,
            recorder,
            self._access,
            BrowserChecks(allowed_hosts),
            body_timeout=idle_timeout,
        )
        self._server: web.Server
        self._listening: Listener | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def blocking(cls, **options: Any) -> BlockingApiServer:
        """Return the same server on its own thread: ``with ApiServer.blocking() as api:``."""
        from kinform.testing._blocking_apiserver import BlockingApiServer

        return BlockingApiServer(**options)

    # Lifetime

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start listening.

        Raises:
            StateError: The server is already running, or the port is in use.
        """
        if self._listening is not None:
            raise StateError(f"API server {self.name!r} is already running")
        loop = asyncio.get_running_loop()
        self._cluster.run_later = lambda work: _call_soon(loop, work)
        server = web.Server(
            self._frontend.handle,
            request_factory=_request_factory(loop),
            handler_cancellation=True,
            access_log=None,
            # Runs from the start of a connection, and while the headers of a request arrive.
            keepalive_timeout=self._idle_timeout,
            max_line_size=_HEADER_LIMIT,
            max_field_size=_HEADER_LIMIT,
        )
        context = self._certificates.context if self._certificates else None
        try:
            listening = Listener(server, host=_HOST, port=self._port, context=context)
        except OSError as error:
            raise StateError(
                f"API server {self.name!r} cannot listen on port {self._port}: {error.strerror}; "
                "port=0 selects a free port"
            ) from error
        self._server, self._listening, self._port = server, listening, listening.port

    async def stop(self) -> None:
        """End all watches and stop listening. The stored objects stay readable. Idempotent."""
        listening, self._listening = self._listening, None
        if listening is None:
            return
        await listening.close()
        for collection in self._cluster.storage.collections():
            collection.close()
        # Watches end cleanly before their connections are closed.
        await asyncio.sleep(0)
        self._server.pre_shutdown()
        await self._server.shutdown(_STOP_TIMEOUT)
        self._cluster.run_later = lambda work: work()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    # Addresses and credentials

    @property
    def url(self) -> str:
        """The URL of the server.

        Raises:
            StateError: The server is not running.
        """
        self._check_running()
        scheme = "https" if self._certificates else "http"
        return f"{scheme}://{_HOST}:{self._port}"

    @property
    def ca_data(self) -> bytes | None:
        """The certificate authority as PEM; ``None`` without TLS."""
        return self._certificates.ca_pem if self._certificates else None

    @property
    def ca_file(self) -> Path | None:
        """The certificate authority as a file, deleted on stop; ``None`` without TLS.

        Raises:
            StateError: The server is not running.
        """
        if self._certificates is None:
            return None
        path = self._private_folder() / "ca.crt"
        path.write_bytes(self._certificates.ca_pem)
        return path

    @property
    def token(self) -> str | None:
        """The first accepted token; ``None`` without authentication."""
        return next(iter(self._access.tokens), None) if self._access.tokens else None

    def kubeconfig(self, path: str | Path | None = None) -> Path:
        """Write a kubeconfig for the server; without a path, to a file that is deleted on stop."""
        target = Path(path) if path is not None else self._private_folder() / "kubeconfig"
        return write_kubeconfig(target, url=self.url, ca_pem=self.ca_data, token=self.token)

    @property
    def config(self) -> ClusterConfig:
        """The configuration for a client in this process."""
        from kinform.transport import ClusterConfig, StaticToken

        options: dict[str, Any] = {}
        if self.token is not None:
            options["credentials"] = StaticToken(self.token)
        return ClusterConfig(
            server=self.url, certificate_authority=self.ca_data, name=self.name, **options
        )

    def replace_tokens(self, tokens: Mapping[str, str] | None) -> None:
        """Accept other tokens from now on. Responses in progress, such as watches, continue."""
        self._access.tokens = None if tokens is None else dict(tokens)

    def rotate_certificates(self) -> None:
        """Use a new certificate authority for new connections; clients must trust the new one.

        Raises:
            StateError: The server does not serve TLS.
        """
        if self._certificates is None:
            raise StateError(
                f"API server {self.name!r} has no certificates; start it with tls=True"
            )
        self._certificates.rotate()

    def _check_running(self) -> None:
        if self._listening is None:
            raise StateError(f"API server {self.name!r} is not running; use it inside `async with`")

    def _private_folder(self) -> Path:
        self._check_running()
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="kinform-")
        return Path(self._folder.name)

    @property
    def clock(self) -> Callable[[], float]:
        """A function that returns the time, in seconds since the epoch, for objects. Can be set."""
        return self._cluster.clock

    @clock.setter
    def clock(self, clock: Callable[[], float]) -> None:
        self._cluster.clock = clock

    # Watches and history

    def end_watches(
        self,
        resource: ResourceLike | None = None,
        *,
        namespace: str | None = None,
        reset: bool = False,
    ) -> int:
        """End the running watches, and return their number. Clients can watch again at once.

        Args:
            resource: ``pods``, ``deployments.apps``, or a resource as for a client; ``None`` for
                all watches.
            namespace: The namespace of the watches; an empty string means "across all
                namespaces", ``None`` all of these.
            reset: Reset the connections. Otherwise the responses end as after a timeout, once all
                changes are sent.

        Raises:
            NoMatchError: The resource is not served; the message suggests others.
        """
        calls = CallFilter.of("watch", resource, namespace)
        if calls.resource is not None:
            self._cluster.registry.check_served(calls.resource)
        return self._verbs.watches.end(calls, reset=reset)

    @property
    def resource_version(self) -> str:
        """The latest resource version."""
        return str(self._cluster.storage.resource_version)

    def restore(self, resource_version: str) -> None:
        """Go back to the objects of an earlier version, as after a restore from a backup.

        All watches end, and later changes get the versions after this one again. The served
        resources do not change.

        Raises:
            ExpiredError: The version is not in the history.
            StateError: The server has not reached the version.
        """
        version = int(resource_version)
        if version > self._cluster.storage.resource_version:
            raise StateError(
                f"API server {self.name!r} cannot go back to version {resource_version}; "
                f"it is at {self.resource_version}"
            )
        self._cluster.storage.restore(version)

    def compact(self, resource_version: str | None = None) -> None:
        """Discard the history up to a version, or all of it. Older versions then get a 410."""
        limit = None if resource_version is None else int(resource_version)
        self._cluster.storage.compact(limit)


def _call_soon(loop: asyncio.AbstractEventLoop, work: Callable[[], None]) -> None:
    loop.call_soon(work)


def _request_factory(loop: asyncio.AbstractEventLoop) -> Callable[..., web.BaseRequest]:
    def make(
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        return web.BaseRequest(
            message, payload, protocol, writer, task, loop, client_max_size=REQUEST_LIMIT
        )

    return make
