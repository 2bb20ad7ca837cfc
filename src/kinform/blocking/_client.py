"""The client of one cluster, for plain code: every verb of ``kinform.Client`` without await."""

from __future__ import annotations

from os import PathLike
from types import TracebackType
from typing import Self, TypedDict, Unpack

from kinform._checks import expect_client
from kinform.blocking._facade import blocking_method
from kinform.blocking._loop_thread import LoopThread
from kinform.blocking._owned import Owned
from kinform.blocking._typed_verbs import MetadataVerbs, TypedVerbs
from kinform.client import Client as AsyncClient
from kinform.client import WireFormat
from kinform.transport import ClusterConfig, Transport


class ClientOptions(TypedDict, total=False):
    """The options of ``kinform.Client``, where they are explained, and the loop thread."""

    transport: Transport | None
    page_size: int
    max_retries: int
    max_body_size: int
    timeout: float | None
    wire_format: WireFormat
    watch_latency: float
    loop: LoopThread | None


class Client(TypedVerbs):
    """Talks to one cluster. Safe for any number of threads.

        with blocking.Client.from_env() as client:
            pods = client.list(Pod, namespace="default")
            things = client.list(GVR("example.com", "v1", "things"))

    Its work is done by a ``kinform.Client`` on a thread that starts with the first call. Without
    a ``with`` block or ``close()``, that thread ends when nobody holds the client any more, nor
    a watch or an iterator that came from it. After a fork, make a new one.

    ``client.metadata`` has the same verbs for metadata only.

    Args:
        config: Where the cluster is and who is asking.
        options: Those of ``kinform.Client``; and ``loop``, a thread to share with other clients,
            whose owner stops it.

    Raises:
        ConfigError: An option makes no sense.
    """

    def __init__(self, config: ClusterConfig, **options: Unpack[ClientOptions]) -> None:
        loop = options.pop("loop", None)
        # mypy does not see that what is left is exactly what the other one takes.
        client = AsyncClient(config, **options)  # type: ignore[misc]
        owned = Owned(
            client.close,
            name=f"the blocking client of {config.server}",
            instead="kinform.Client",
            loop=loop,
        )
        super().__init__(client, owned)
        self.config = config
        self.metadata = MetadataVerbs(client.metadata, owned)
        """The same verbs, for metadata only: less to send, to hold and to watch."""

    @classmethod
    def from_env(cls, **options: Unpack[ClientOptions]) -> Self:
        """For where the program runs: inside a cluster its service account, else the kubeconfig.

        Raises:
            ConfigError: Neither is there, or one is wrong.
        """
        return cls(ClusterConfig.from_env(), **options)

    @classmethod
    def from_kubeconfig(
        cls,
        path: str | PathLike[str] | None = None,
        context: str | None = None,
        **options: Unpack[ClientOptions],
    ) -> Self:
        """From a file, or ``KUBECONFIG``, or ``~/.kube/config``.

        Raises:
            ConfigError: The file, the context, or what they lead to is missing or wrong.
        """
        return cls(ClusterConfig.from_kubeconfig(path, context), **options)

    @classmethod
    def in_cluster(cls, **options: Unpack[ClientOptions]) -> Self:
        """With the service account of the pod that the program runs in.

        Raises:
            ConfigError: This is no pod.
        """
        return cls(ClusterConfig.in_cluster(), **options)

    @classmethod
    def from_official(cls, source: object, **options: Unpack[ClientOptions]) -> Self:
        """As the official client: from its ``ApiClient`` or ``Configuration``, also asyncio's.

        Its tokens stay in its care: its hook renews them for both.

        Raises:
            ConfigError: It has a setting that kinform cannot do; names it.
        """
        from kinform.transport._official import official_config

        return cls(official_config(source), **options)

    def __enter__(self) -> Self:
        self._owned.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop all connections, those of open watches too, and end the thread. Idempotent."""
        self._owned.close()

    def __repr__(self) -> str:
        return f"<blocking Client of {self.config.server}>"

    server_version = blocking_method(AsyncClient.server_version)
    request = blocking_method(AsyncClient.request)


def inner_client(client: Client, *, taker: str) -> AsyncClient:
    """The client as the other side knows it.

    Raises:
        ConfigError: It is none, or of the other side already.
    """
    expect_client(client, Client, taker=f"kinform.blocking.{taker}", room="kinform.blocking")
    inner: AsyncClient = client._inner
    return inner
