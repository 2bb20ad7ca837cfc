"""The client of one cluster: every verb, for objects of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from types import TracebackType
from typing import Any, Self

from kinform.client._arguments import patch_media_type, write_query
from kinform.client._discovery import Discovery
from kinform.client._exchange import Exchange
from kinform.client._paths import resource_path
from kinform.client._resolver import Resource
from kinform.client._verbs import Verbs
from kinform.errors import ConfigError, DecodeError, EncodeError, InvalidNameError
from kinform.objects import Handle, PartialObjectMetadata, Unstructured
from kinform.transport import AiohttpTransport, ClusterConfig, Request, Transport

Body = Handle | Mapping[str, Any]
"""An object to send: a handle, or a dict that says its apiVersion and kind."""


class Client(Verbs[Unstructured]):
    """Talks to one cluster. Safe for any number of concurrent calls on one event loop.

        async with kinform.Client.from_env() as client:
            pods = await client.list(GVR("", "v1", "pods"), namespace="default")

    ``client.metadata`` has the same verbs for metadata only.

    Args:
        config: Where the cluster is and who is asking.
        transport: Carries the requests instead of HTTP by aiohttp.
        page_size: How many objects a list asks for at a time.
        max_retries: How often a request is sent again when the answer says when (Retry-After, up
            to a minute; who is told to wait longer gets the error).
        max_body_size: The largest answer, and the longest line of a watch, in bytes.
        timeout: Seconds for one request and its whole answer; for a watch until it is open.

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
    ) -> None:
        _check_options(page_size, max_retries, max_body_size, timeout)
        self.config = config
        self._transport = transport if transport is not None else AiohttpTransport(config)
        exchange = Exchange(
            self._transport, max_retries=max_retries, max_body_size=max_body_size, timeout=timeout
        )
        discovery = Discovery(exchange)
        super().__init__(Unstructured, exchange, discovery, config.namespace, page_size)
        self.metadata = Verbs(
            PartialObjectMetadata, exchange, discovery, config.namespace, page_size
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

    async def create(
        self,
        obj: Body,
        *,
        resource: Resource | None = None,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str = "",
        field_manager: str = "",
        field_validation: str = "",
        dry_run: bool = False,
    ) -> Unstructured:
        """Create an object, or a subresource of the object ``name``: ``subresource="eviction"``.

        Raises:
            AlreadyExistsError: The name is taken.
        """
        handle = _as_handle(obj)
        if subresource and not name:
            raise InvalidNameError(f"which object's {subresource!r}? pass name=")
        if name and not subresource:
            raise InvalidNameError(
                f"name={name!r} is for subresources; a new object's name stands in its metadata"
            )
        found = await self._resolver.resolve_body(handle, resource, subresource)
        home = self._resolver.home(found, namespace, handle.namespace)
        path = resource_path(found.gvr, namespace=home, name=name, subresource=subresource)
        query = write_query(
            field_manager=field_manager, field_validation=field_validation, dry_run=dry_run
        )
        answer = await self._asking.ask("POST", path, query, body=handle.to_bytes())
        return self._handle(answer, f"POST {path}")

    async def update(
        self,
        obj: Body,
        *,
        resource: Resource | None = None,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str = "",
        field_manager: str = "",
        field_validation: str = "",
        dry_run: bool = False,
    ) -> Unstructured:
        """Replace an object, or a subresource of it such as ``status``.

        Raises:
            ConflictError: It changed since it was read. Read, edit and update again.
        """
        handle = _as_handle(obj)
        found = await self._resolver.resolve_body(handle, resource, subresource)
        home = self._resolver.home(found, namespace, handle.namespace)
        path = resource_path(
            found.gvr, namespace=home, name=name or handle.name, subresource=subresource
        )
        query = write_query(
            field_manager=field_manager, field_validation=field_validation, dry_run=dry_run
        )
        answer = await self._asking.ask("PUT", path, query, body=handle.to_bytes())
        return self._handle(answer, f"PUT {path}")

    async def apply(
        self,
        obj: Body,
        *,
        field_manager: str,
        force: bool = False,
        resource: Resource | None = None,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str = "",
        field_validation: str = "",
        dry_run: bool = False,
    ) -> Unstructured:
        """Server-side apply: create it, or make these fields so and own them.

        Raises:
            ConflictError: Another manager owns one of the fields; ``force`` takes it.
        """
        handle = _as_handle(obj)
        found = await self._resolver.resolve_body(handle, resource, subresource)
        home = self._resolver.home(found, namespace, handle.namespace)
        path = resource_path(
            found.gvr, namespace=home, name=name or handle.name, subresource=subresource
        )
        query = write_query(
            field_manager=field_manager,
            field_validation=field_validation,
            force=force or None,
            dry_run=dry_run,
        )
        answer = await self._asking.ask(
            "PATCH", path, query, body=handle.to_bytes(), media=patch_media_type("apply")
        )
        return self._handle(answer, f"PATCH {path}")

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
        """
        if not path.startswith("/") or "?" in path or "#" in path:
            raise InvalidNameError(
                f"{path!r} is no path; it starts with '/', and what follows a '?' goes into query="
            )
        request = Request(method, path, query or {}, headers or {}, body)
        _, answer = await self._exchange.fetch(request)
        return answer


def _as_handle(obj: Body) -> Handle:
    if isinstance(obj, PartialObjectMetadata):
        raise EncodeError(
            f"{obj!r} has metadata only, and would erase the rest; change it with a patch"
        )
    if isinstance(obj, Handle):
        return obj
    if isinstance(obj, Mapping):
        return Unstructured(obj)
    raise EncodeError(f"a {type(obj).__name__} is no object; pass an Unstructured or a dict")


def _check_options(
    page_size: int, max_retries: int, max_body_size: int, timeout: float | None
) -> None:
    if page_size < 1:
        raise ConfigError(f"page_size must be at least 1, not {page_size!r}")
    if max_retries < 0:
        raise ConfigError(f"max_retries must be 0 or more, not {max_retries!r}")
    if max_body_size < 1:
        raise ConfigError(f"max_body_size must be at least 1 byte, not {max_body_size!r}")
    if timeout is not None and not timeout > 0:
        raise ConfigError(f"timeout must be above 0, not {timeout!r}; None turns it off")
