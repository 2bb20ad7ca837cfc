"""The client of one cluster, with all verbs for objects of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from types import TracebackType
from typing import Any, Self

from kinform._checks import expect
from kinform.client._discovery import Discovery
from kinform.client._metadata_verbs import MetadataVerbs
from kinform.client._negotiation import Negotiation, WireFormat
from kinform.client._resolver import Resolver
from kinform.client._retrying_sender import RetryingSender
from kinform.client._shared_parts import SharedParts
from kinform.client._typed_verbs import TypedVerbs
from kinform.client._write_hooks import WriteHook, WritePipeline
from kinform.errors import ConfigError, DecodeError, InvalidNameError
from kinform.objects import PartialObjectMetadata
from kinform.transport import AiohttpTransport, ClusterConfig, Request, Transport

# A longer intentional delay is certainly a mistake.
_LONGEST_LATENCY = 1.0


class Client(TypedVerbs):
    """A client of one cluster, for any number of concurrent calls on one event loop.

        async with kinform.Client.from_env() as client:
            pods = await client.list(Pod, namespace="default")
            things = await client.list(GVR("example.com", "v1", "things"))

    Requests for a model class return objects of that class; requests for a resource or a kind
    return ``Unstructured`` objects. ``client.metadata`` has the same verbs for metadata only.

    Args:
        config: The address of the cluster and the credentials.
        transport: Sends the requests, instead of HTTP through aiohttp.
        page_size: The number of objects to request per page of a list.
        max_retries: How often a request is retried if the response has a Retry-After of up to a
            minute. With a longer one, the error is raised.
        max_body_size: The maximum size in bytes of a response, and of a single watch event.
        timeout: Seconds for a request with its complete response; for a watch, until it is open.
        wire_format: The format to request. ``auto``: protobuf for typed objects and metadata if
            the server supports it, otherwise JSON; ``json`` for everything; ``protobuf`` also for
            ``Unstructured`` objects of kinds that have a model.
        watch_latency: Seconds an event may wait to be read together with later ones, at hundreds
            of events per second. With 0.004 an event costs about half the CPU; 0 disables it.

    Raises:
        ConfigError: An option is invalid.
    """

    def __init__(
        self,
        config: ClusterConfig,
        *,
        transport: Transport | None = None,
        page_size: int = 500,
        max_retries: int = 10,
        max_body_size: int = 1 << 30,
        timeout: float | None = 120.0,
        wire_format: WireFormat = "auto",
        watch_latency: float = 0.0,
    ) -> None:
        expect(
            config,
            ClusterConfig,
            receiver="Client",
            expected="a kinform.ClusterConfig",
            hint="Client.from_env() and Client.from_kubeconfig() read one",
        )
        _check_options(page_size, max_retries, max_body_size, timeout, watch_latency)
        self.config = config
        self._transport = (
            transport
            if transport is not None
            else AiohttpTransport(config, watch_latency=watch_latency)
        )
        sender = RetryingSender(
            self._transport, max_retries=max_retries, max_body_size=max_body_size, timeout=timeout
        )
        discovery = Discovery(sender)
        state = SharedParts(
            sender=sender,
            discovery=discovery,
            negotiation=Negotiation(wire_format),
            writes=WritePipeline(),
            resolver=Resolver(discovery, config.namespace),
            namespace=config.namespace,
            page_size=page_size,
        )
        super().__init__(state)
        self.metadata = MetadataVerbs(PartialObjectMetadata, state)
        """The same verbs for metadata only, which saves bandwidth and memory."""

    @classmethod
    def from_env(cls, **options: Any) -> Self:
        """Create a client from the environment: the service account of a pod, or the kubeconfig.

        Raises:
            ConfigError: Neither exists, or it is invalid.
        """
        return cls(ClusterConfig.from_env(), **options)

    @classmethod
    def from_kubeconfig(
        cls, path: str | PathLike[str] | None = None, context: str | None = None, **options: Any
    ) -> Self:
        """Create a client from a file, or else from ``KUBECONFIG`` or ``~/.kube/config``.

        Raises:
            ConfigError: The file, the context or a file they refer to is missing or invalid.
        """
        return cls(ClusterConfig.from_kubeconfig(path, context), **options)

    @classmethod
    def in_cluster(cls, **options: Any) -> Self:
        """Create a client from the service account of the pod that the program runs in.

        Raises:
            ConfigError: The program does not run in a pod.
        """
        return cls(ClusterConfig.in_cluster(), **options)

    @classmethod
    def from_official(cls, source: object, **options: Any) -> Self:
        """Create a client from an ``ApiClient`` or ``Configuration`` of the official client.

        Objects of the official asyncio client are accepted too. The official configuration keeps
        managing its tokens: its refresh hook serves both clients.

        Raises:
            ConfigError: A setting is not supported; the message names it.
        """
        from kinform.transport.official import official_config

        return cls(official_config(source), **options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections, including those of open watches. Idempotent."""
        await self.discovery.close()
        await self._transport.close()

    def __repr__(self) -> str:
        return f"<Client of {self.config.server}>"

    def add_write_hook(self, hook: WriteHook) -> None:
        """Call a hook before and after every write of this client, its metadata and its views.

        Hooks are called in the order in which they were added, and in reverse order after the
        write. ``request`` calls no hooks. Callable from any thread.

        Raises:
            ConfigError: It is not a ``WriteHook``, or one of its methods is async.
            StateError: It was added before.
        """
        self._state.writes.add(hook)

    def remove_write_hook(self, hook: WriteHook) -> None:
        """Stop calling a hook, except for writes in progress. Idempotent."""
        self._state.writes.remove(hook)

    async def server_version(self) -> dict[str, Any]:
        """Return the document at ``/version``."""
        try:
            return self._codec.decode(await self.request("GET", "/version"))
        except DecodeError as error:
            raise DecodeError(f"GET /version: the response is {error}") from error.__cause__

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Send any request, such as for a pod's log or ``/openapi/v3``, and return the body.

        Raises:
            InvalidNameError: ``path`` is not an absolute path, or contains a query.
            ConfigError: An argument has the wrong type.
        """
        for option, given, form, expected in (
            ("method", method, str, "a string"),
            ("path", path, str, "a string"),
            ("query", query or {}, Mapping, "a dict of strings"),
            ("headers", headers or {}, Mapping, "a dict of strings"),
            ("body", body or b"", bytes, "bytes"),
        ):
            expect(given, form, receiver=f"{option}= of request()", expected=expected)
        if not path.startswith("/") or "?" in path or "#" in path:
            raise InvalidNameError(
                f"{path!r} is not a path; start it with '/', and pass the part after '?' as query="
            )
        request = Request(method, path, query or {}, headers or {}, body)
        _, answer = await self._state.sender.fetch(request)
        return answer


def _check_options(
    page_size: int,
    max_retries: int,
    max_body_size: int,
    timeout: float | None,
    watch_latency: float,
) -> None:
    if not _is_number(page_size) or page_size < 1:
        raise ConfigError(f"page_size must be at least 1, not {page_size!r}")
    if not _is_number(max_retries) or max_retries < 0:
        raise ConfigError(f"max_retries must be 0 or more, not {max_retries!r}")
    if not _is_number(max_body_size) or max_body_size < 1:
        raise ConfigError(f"max_body_size must be at least 1 byte, not {max_body_size!r}")
    if timeout is not None and (not _is_number(timeout) or not timeout > 0):
        raise ConfigError(f"timeout must be above 0, not {timeout!r}; None disables it")
    if not _is_number(watch_latency) or not 0 <= watch_latency <= _LONGEST_LATENCY:
        raise ConfigError(
            f"watch_latency must be between 0 and {_LONGEST_LATENCY:g} seconds, "
            f"not {watch_latency!r}"
        )


def _is_number(given: object) -> bool:
    return isinstance(given, int | float)
