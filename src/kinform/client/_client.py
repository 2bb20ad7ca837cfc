"""The client of one cluster: every verb, for objects of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from types import TracebackType
from typing import Any, Self

from kinform._checks import expect
from kinform.client._discovery import Discovery
from kinform.client._exchange import Exchange
from kinform.client._negotiation import Negotiation, WireFormat
from kinform.client._typed_verbs import MetadataVerbs
from kinform.client._writing import Writing
from kinform.errors import ConfigError, DecodeError, InvalidNameError
from kinform.objects import PartialObjectMetadata, Unstructured
from kinform.transport import AiohttpTransport, ClusterConfig, Request, Transport

# An informer that is later than this on purpose is not what anybody wants.
_LONGEST_LATENCY = 1.0


class Client(Writing):
    """Talks to one cluster. Safe for any number of concurrent calls on one event loop.

        async with kinform.Client.from_env() as client:
            pods = await client.list(Pod, namespace="default")
            things = await client.list(GVR("example.com", "v1", "things"))

    A class gives objects of that class; a resource or a kind gives ``Unstructured`` ones.
    ``client.metadata`` has the same verbs for metadata only.

    Args:
        config: Where the cluster is and who is asking.
        transport: Carries the requests instead of HTTP by aiohttp.
        page_size: How many objects a list asks for at a time.
        max_retries: How often a request is sent again when the answer says when (Retry-After, up
            to a minute; who is told to wait longer gets the error).
        max_body_size: The largest answer, and the longest line of a watch, in bytes.
        timeout: Seconds for one request and its whole answer; for a watch until it is open.
        wire_format: What to ask servers for. ``auto``: protobuf for typed objects and metadata,
            where the server has it, and JSON for the rest; ``json`` for everything; ``protobuf``
            also for ``Unstructured`` objects of kinds that have a model.
        watch_latency: How many seconds a change may wait to be read together with those after it,
            when hundreds a second come. With 0.004 each costs about half the CPU; 0 reads at once.

    Raises:
        ConfigError: An option makes no sense.
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
            taker="Client",
            meant="a kinform.ClusterConfig",
            way_out="Client.from_env() and Client.from_kubeconfig() find one",
        )
        _check_options(page_size, max_retries, max_body_size, timeout, watch_latency)
        self.config = config
        self._transport = (
            transport
            if transport is not None
            else AiohttpTransport(config, watch_latency=watch_latency)
        )
        exchange = Exchange(
            self._transport, max_retries=max_retries, max_body_size=max_body_size, timeout=timeout
        )
        discovery = Discovery(exchange)
        negotiation = Negotiation(wire_format)
        super().__init__(
            Unstructured, exchange, discovery, negotiation, config.namespace, page_size
        )
        self.metadata = MetadataVerbs(
            PartialObjectMetadata, exchange, discovery, negotiation, config.namespace, page_size
        )
        """The same verbs, for metadata only: less to send, to hold and to watch."""

    @classmethod
    def from_env(cls, **options: Any) -> Self:
        """For where the program runs: inside a cluster its service account, else the kubeconfig.

        Raises:
            ConfigError: Neither is there, or one is wrong.
        """
        return cls(ClusterConfig.from_env(), **options)

    @classmethod
    def from_kubeconfig(
        cls, path: str | PathLike[str] | None = None, context: str | None = None, **options: Any
    ) -> Self:
        """From a file, or ``KUBECONFIG``, or ``~/.kube/config``.

        Raises:
            ConfigError: The file, the context, or what they lead to is missing or wrong.
        """
        return cls(ClusterConfig.from_kubeconfig(path, context), **options)

    @classmethod
    def in_cluster(cls, **options: Any) -> Self:
        """With the service account of the pod that the program runs in.

        Raises:
            ConfigError: This is no pod.
        """
        return cls(ClusterConfig.in_cluster(), **options)

    @classmethod
    def from_official(cls, source: object, **options: Any) -> Self:
        """As the official client: from its ``ApiClient`` or ``Configuration``, also asyncio's.

        Its tokens stay in its care: its hook renews them for both.

        Raises:
            ConfigError: It has a setting that kinform cannot do; names it.
        """
        from kinform.transport._official import official_config

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
        """Drop all connections, those of open watches too. Idempotent."""
        await self.discovery.close()
        await self._transport.close()

    def __repr__(self) -> str:
        return f"<Client of {self.config.server}>"

    async def server_version(self) -> dict[str, Any]:
        """What ``/version`` says."""
        try:
            return self._codec.decode(await self.request("GET", "/version"))
        except DecodeError as error:
            raise DecodeError(f"GET /version: the answer is {error}") from error.__cause__

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Any request, for what has no verb (a pod's log, ``/openapi/v3``); the answer's body.

        Raises:
            InvalidNameError: The path is not one below the server's address.
            ConfigError: The body is no bytes, or something else is not what it should be.
        """
        for option, given, form, meant in (
            ("method", method, str, "text"),
            ("path", path, str, "text"),
            ("query", query or {}, Mapping, "a dict of text"),
            ("headers", headers or {}, Mapping, "a dict of text"),
            ("body", body or b"", bytes, "bytes"),
        ):
            expect(given, form, taker=f"{option}= of request()", meant=meant)
        if not path.startswith("/") or "?" in path or "#" in path:
            raise InvalidNameError(
                f"{path!r} is no path; it starts with '/', and what follows a '?' goes into query="
            )
        request = Request(method, path, query or {}, headers or {}, body)
        _, answer = await self._exchange.fetch(request)
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
        raise ConfigError(f"timeout must be above 0, not {timeout!r}; None turns it off")
    if not _is_number(watch_latency) or not 0 <= watch_latency <= _LONGEST_LATENCY:
        raise ConfigError(
            f"watch_latency must be between 0 and {_LONGEST_LATENCY:g} seconds, "
            f"not {watch_latency!r}"
        )


def _is_number(given: object) -> bool:
    return isinstance(given, int | float)
