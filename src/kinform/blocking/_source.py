"""The blocking source of lists and watches."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypedDict, TypeVar, Unpack, overload

from kinform._checks import expect, expect_client
from kinform.api import GVR, ListOptions
from kinform.blocking._client import Client
from kinform.blocking._facade import (
    BlockingFacade,
    BlockingIterator,
    ForwardedAttribute,
    blocking_method,
)
from kinform.blocking._loop_thread import LoopThread
from kinform.blocking._owner import Owner
from kinform.blocking._verbs import Verbs
from kinform.client import Fields, Frame, Labels, ResourceOrModel
from kinform.errors import ConfigError
from kinform.informers import ForResourceOptions, SourceCallable, TweakListOptions
from kinform.informers import ListWatch as AsyncListWatch
from kinform.objects import Handle, TypedObject, Unstructured

T = TypeVar("T", bound=Handle)
M = TypeVar("M", bound=TypedObject)


class ListWatchOptions(TypedDict, total=False):
    """The options of ``kinform.ListWatch``, documented there, and the loop thread."""

    name: str
    tweak_list_options: TweakListOptions | None
    supports_streaming: bool
    loop: LoopThread | None


class ListWatch(BlockingFacade, Generic[T]):
    """The source of the objects of one resource: the blocking ``kinform.ListWatch``.

        pods = blocking.ListWatch.for_resource(client, GVR("", "v1", "pods"))
        mine = blocking.ListWatch(list_all, watch_from)

    ``def`` callables run in their own threads, so they may block. Informers run on the loop thread
    of the client. A source of callables has its own loop thread, which ends when neither the source
    nor an informer of it is referenced.

    Args:
        list: Returns a page for the given options.
        watch: Returns the events for the given options.
        form: The class of the objects.
        options: The options of ``kinform.ListWatch``, and ``loop``: a loop thread to share, which
            its owner stops.
    """

    _inner: AsyncListWatch[T]

    form = ForwardedAttribute[type[T]]()
    name = ForwardedAttribute[str]()
    metrics_name = ForwardedAttribute[str]()
    supports_streaming = ForwardedAttribute[bool]()
    resource = ForwardedAttribute[GVR | str | None]()
    namespace = ForwardedAttribute[str | None]()
    labels = ForwardedAttribute[str]()
    fields = ForwardedAttribute[str]()

    @overload
    def __init__(
        self: ListWatch[Unstructured],
        list: SourceCallable,
        watch: SourceCallable,
        **options: Unpack[ListWatchOptions],
    ) -> None: ...
    @overload
    def __init__(
        self,
        list: SourceCallable,
        watch: SourceCallable,
        *,
        form: type[T],
        **options: Unpack[ListWatchOptions],
    ) -> None: ...
    def __init__(
        self,
        list: SourceCallable,
        watch: SourceCallable,
        *,
        form: type[T] = Unstructured,  # type: ignore[assignment]  # the default of T
        **options: Unpack[ListWatchOptions],
    ) -> None:
        loop = options.pop("loop", None)
        # mypy does not see that the remaining options are exactly those of the async source.
        inner: AsyncListWatch[T] = AsyncListWatch(
            list,
            watch,
            form=form,
            **options,  # type: ignore[call-overload]
        )
        name = f"the blocking ListWatch {inner.name}".rstrip()
        super().__init__(
            inner, Owner(_nothing, name=name, instead="kinform.informers.ListWatch", loop=loop)
        )

    @overload
    @classmethod
    def for_resource(
        cls, client: Client, resource: type[M], **options: Unpack[ForResourceOptions]
    ) -> ListWatch[M]: ...
    @overload
    @classmethod
    def for_resource(
        cls, client: Verbs[T], resource: ResourceOrModel, **options: Unpack[ForResourceOptions]
    ) -> ListWatch[T]: ...
    @classmethod
    def for_resource(
        cls,
        client: Verbs[Any],
        resource: ResourceOrModel,
        **options: Unpack[ForResourceOptions],
    ) -> ListWatch[Any]:
        """Create a source from a client and a resource; ``client.metadata`` lists metadata only.

        Raises:
            SelectorError: A selector is invalid.
            ConfigError: ``client`` is not a blocking client.
        """
        expect_client(
            client,
            Verbs,
            receiver="kinform.blocking.ListWatch.for_resource",
            package="kinform.blocking",
        )
        source = cls.__new__(cls)
        inner = AsyncListWatch.for_resource(client._inner, resource, **options)
        BlockingFacade.__init__(source, inner, client._owner)
        return source

    def with_scope(
        self, *, namespace: str | None = None, labels: Labels = "", fields: Fields = ""
    ) -> ListWatch[T]:
        """Return a source for the same resource with another namespace or other selectors."""
        source: ListWatch[T] = ListWatch.__new__(ListWatch)
        inner = self._inner.with_scope(namespace=namespace, labels=labels, fields=fields)
        BlockingFacade.__init__(source, inner, self._owner)
        return source

    page = blocking_method(AsyncListWatch[T].page)

    @contextmanager
    def watch(self, options: ListOptions) -> Generator[Iterator[list[Frame]], None, None]:
        """Open a stream of event batches as a context manager: see ``kinform.ListWatch.watch``."""
        watch = self._inner.watch(options)

        async def leave() -> None:
            with suppress(RuntimeError):  # it ends with the interrupted step
                await watch.__aexit__(None, None, None)

        batches = self._owner.run(watch.__aenter__())
        try:
            yield BlockingIterator(batches, self._owner)
        finally:
            self._owner.run_if_open(leave())

    def __repr__(self) -> str:
        return f"<blocking {self._inner!r}>"


def inner_sources(*sources: ListWatch[T]) -> list[AsyncListWatch[T]]:
    """Return the async sources of blocking ones.

    Raises:
        ConfigError: They are async sources, or have different loops.
    """
    for source in sources:
        expect(
            source,
            ListWatch,
            receiver="an informer of kinform.blocking",
            expected="a kinform.blocking.ListWatch",
        )
    if len({source._owner.loop for source in sources}) > 1:
        raise ConfigError(
            "the sources of an informer must share a loop thread; create them with the same "
            "client, or pass the same loop=LoopThread(...) to each"
        )
    return [source._inner for source in sources]


async def _nothing() -> None:
    return
