"""The blocking client of one cluster: all verbs of ``kinform.Client`` without ``await``."""

from __future__ import annotations

from os import PathLike
from types import TracebackType
from typing import Self, TypedDict, Unpack

from kinform._checks import expect_client
from kinform.blocking._facade import blocking_method, direct_method
from kinform.blocking._loop_thread import LoopThread
from kinform.blocking._owner import Owner
from kinform.blocking._typed_verbs import MetadataVerbs, TypedVerbs
from kinform.client import Client as AsyncClient
from kinform.client import WireFormat
from kinform.transport import ClusterConfig, Transport


class ClientOptions(TypedDict, total=False):
    """The options of ``kinform.Client``, documented there, and the loop thread."""

    transport: Transport | None
    page_size: int
    max_retries: int
    max_body_size: int
    timeout: float | None
    wire_format: WireFormat
    watch_latency: float
    loop: LoopThread | None


class Client(TypedVerbs):
    """A client of one cluster, for any number of threads.

        with blocking.Client.from_env() as client:
            pods = client.list(Pod, namespace="default")
            things = client.list(GVR("example.com", "v1", "things"))

    A ``kinform.Client`` does the work, on a thread that starts with the first call. Without a
    ``with`` block or ``close()``, the thread ends when the client and all watches and iterators
    created by it are garbage collected. After a fork, create a new client.

    ``client.metadata`` has the same verbs for metadata only.

    Args:
        config: The address of the cluster and the credentials.
        options: The options of ``kinform.Client``, and ``loop``: a loop thread to share with other
            clients, which its owner stops.

    Raises:
        ConfigError: An option is invalid.
    """

    def __init__(self, config: ClusterConfig, **options: Unpack[ClientOptions]) -> None:
        loop = options.pop("loop", None)
        # mypy does not see that the remaining options are exactly those of the async client.
        client = AsyncClient(config, **options)  # type: ignore[misc]
        owner = Owner(
            client.close,
            name=f"the blocking client of {config.server}",
            instead="kinform.Client",
            loop=loop,
        )
        super().__init__(client, owner)
        self.config = config
        self.metadata = MetadataVerbs(client.metadata, owner)
        """The same verbs for metadata only, which saves bandwidth and memory."""

    @classmethod
    def from_env(cls, **options: Unpack[ClientOptions]) -> Self:
        """Create a client from the environment: the service account of a pod, or the kubeconfig.

        Raises:
            ConfigError: Neither exists, or it is invalid.
        """
        return cls(ClusterConfig.from_env(), **options)

    @classmethod
    def from_kubeconfig(
        cls,
        path: str | PathLike[str] | None = None,
        context: str | None = None,
        **options: Unpack[ClientOptions],
    ) -> Self:
        """Create a client from a file, or else from ``KUBECONFIG`` or ``~/.kube/config``.

        Raises:
            ConfigError: The file, the context or a file they refer to is missing or invalid.
        """
        return cls(ClusterConfig.from_kubeconfig(path, context), **options)

    @classmethod
    def in_cluster(cls, **options: Unpack[ClientOptions]) -> Self:
        """Create a client from the service account of the pod that the program runs in.

        Raises:
            ConfigError: The program does not run in a pod.
        """
        return cls(ClusterConfig.in_cluster(), **options)

    @classmethod
    def from_official(cls, source: object, **options: Unpack[ClientOptions]) -> Self:
        """Create a client from the ``ApiClient`` or ``Configuration`` of an official client.

        The official client may be the asyncio one. Its hook keeps renewing the tokens, for both
        clients.

        Raises:
            ConfigError: The configuration has a setting that kinform does not support.
        """
        from kinform.transport.official import official_config

        return cls(official_config(source), **options)

    def __enter__(self) -> Self:
        self._owner.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections, including those of watches, and end the thread. Idempotent."""
        self._owner.close()

    def __repr__(self) -> str:
        return f"<blocking Client of {self.config.server}>"

    server_version = blocking_method(AsyncClient.server_version)
    request = blocking_method(AsyncClient.request)
    # Hooks are called on the client's loop thread.
    add_write_hook = direct_method(AsyncClient.add_write_hook)
    remove_write_hook = direct_method(AsyncClient.remove_write_hook)


def inner_client(client: Client, *, receiver: str) -> AsyncClient:
    """Return the async client of a blocking one.

    Raises:
        ConfigError: It is not a client, or it is an async client.
    """
    expect_client(
        client, Client, receiver=f"kinform.blocking.{receiver}", package="kinform.blocking"
    )
    inner: AsyncClient = client._inner
    return inner
