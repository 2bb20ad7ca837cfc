"""The interface of sources: what a reflector lists and watches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from kinform._checks import check_plain
from kinform._runtime import Demand, ReadOutcome
from kinform.api import GVR, ListOptions
from kinform.client import (
    BatchConsumer,
    Fields,
    Frame,
    Labels,
    ObjectList,
    Reachability,
    checked_form,
)
from kinform.errors import ConfigError, StateError
from kinform.objects import Handle, PartialObjectMetadata

T = TypeVar("T", bound=Handle)
S = TypeVar("S")

TweakListOptions = Callable[[ListOptions], ListOptions]
"""Changes the options of every list and watch: ``return options.replace(...)``."""


class WatchStream(Protocol):
    """An open watch. A ``Watch`` of a client is one."""

    async def read_into(self, consumer: BatchConsumer) -> ReadOutcome:
        """Call ``consumer`` with each batch as it arrives, until it answers ``STOP``.

        After ``ReadOutcome.STOPPED``, another call continues.

        Raises:
            TransportError: The connection was lost, or a callable raised a foreign exception.
        """
        ...

    async def close(self) -> None:
        """End the watch. Idempotent."""
        ...


class Source(ABC, Generic[T]):
    """One resource to list and watch.

    Args:
        form: The class of the objects.
        name: The name used in errors and logs.
        tweak_list_options: Called with the options of every page and watch; returns the options
            to use.
        supports_streaming: Whether the watch can start with all objects
            (``send_initial_events``).
        selectors: Selectors that every list and watch has.

    Attributes:
        resource: The resource, if the source is a resource of a server.
        namespace: The only namespace of the objects; ``None`` for all.
        labels, fields: The selectors, as strings, if the source is a resource of a server.
        reachability: The connection state of the server, shared by all sources of one client.
    """

    def __init__(
        self,
        *,
        form: type[T],
        name: str,
        tweak_list_options: TweakListOptions | None,
        supports_streaming: bool,
        selectors: ListOptions | None = None,
        resource: GVR | str | None = None,
        namespace: str | None = None,
        reachability: Reachability | None = None,
    ) -> None:
        check_plain("tweak_list_options", tweak_list_options)
        checked_form(form)
        self.form = form
        self.name = name
        self.supports_streaming = supports_streaming
        self.resource = resource
        self.namespace = namespace
        self.labels = ""
        self.fields = ""
        self.reachability = reachability or Reachability()
        self._tweak = tweak_list_options
        self._selectors = selectors or ListOptions()

    @abstractmethod
    async def page(self, options: ListOptions) -> ObjectList[T]:
        """Request one page. Items that cannot be decoded are in ``undecodable``.

        Raises:
            DecodeError: The answer is not a list.
            TransportError: The connection was lost, or a callable raised a foreign exception.
            ConfigError: ``tweak_list_options`` failed.
        """

    @abstractmethod
    async def open_watch(self, options: ListOptions) -> WatchStream:
        """Open a watch; the caller closes it. Refusals of a server may also arrive as frames.

        Raises:
            WatchError: A callable returned something other than a source of events.
            TransportError: The connection was lost, or a callable raised a foreign exception.
            ConfigError: ``tweak_list_options`` failed.
        """

    def watch(self, options: ListOptions) -> Batches:
        """Open a stream of batches with ``async with``; iterate over it.

        Raises the errors of ``open_watch`` on entering and while reading.
        """
        return Batches(self, options)

    def with_scope(
        self, *, namespace: str | None = None, labels: Labels = "", fields: Fields = ""
    ) -> Source[T]:
        """Return a source for the same resource with another namespace or other selectors.

        Raises:
            ConfigError: The source is not a resource of a server, so its scope cannot change.
            SelectorError: A selector is invalid.
        """
        raise ConfigError(
            f"the scope of {self!r} cannot change, because it consists of callables; create the "
            "source with ListWatch.for_resource"
        )

    @property
    def metrics_name(self) -> str:
        """The name used in metrics: the resource and the namespace, without selectors."""
        return metrics_name(self.resource, self.form, self.namespace) or self.name

    def __repr__(self) -> str:
        return f"<ListWatch {self.name or 'of two callables'} as {self.form.__name__}>"

    # -- for implementations -----------------------------------------------------------------

    def _describe(self, verb: str) -> str:
        return f"{verb} of {self.name}" if self.name else f"the {verb} callable"

    def _prepare(self, options: ListOptions) -> ListOptions:
        """Add the selectors of this source, then apply ``tweak_list_options``."""
        own = self._selectors
        options = options.replace(
            label_selector=_combined(own.label_selector, options.label_selector),
            field_selector=_combined(own.field_selector, options.field_selector),
        )
        if self._tweak is None:
            return options
        try:
            tweaked = self._tweak(options)
        except Exception as error:  # user code
            raise ConfigError(
                f"tweak_list_options of {self.name or 'a ListWatch'} failed: {error!r}"
            ) from error
        if not isinstance(tweaked, ListOptions):
            raise ConfigError(
                f"tweak_list_options of {self.name or 'a ListWatch'} returned a "
                f"{type(tweaked).__name__}; options are frozen: return options.replace(...)"
            )
        return tweaked


def _combined(own: S, given: S) -> S | str:
    """Combine two selectors; both must match."""
    return f"{own},{given}" if own and given else own or given


class Batches:
    """A watch of a source as an async context manager and an iterator of batches."""

    def __init__(self, source: Source[Any], options: ListOptions) -> None:
        self._source = source
        self._options = options
        self._stream: WatchStream | None = None

    async def __aenter__(self) -> Self:
        if self._stream is not None:
            raise StateError("this watch was already opened; call source.watch(...) again")
        self._stream = await self._source.open_watch(self._options)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._stream is not None:
            await self._stream.close()

    async def read_into(self, consumer: BatchConsumer) -> ReadOutcome:
        """Like ``WatchStream.read_into``."""
        if self._stream is None:
            raise StateError("this watch is not open; use `async with source.watch(...)`")
        return await self._stream.read_into(consumer)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[Frame]:
        received: list[Frame] = []

        def keep(batch: list[Frame]) -> Demand:
            received.extend(batch)
            return Demand.STOP

        if await self.read_into(keep) is ReadOutcome.ENDED:
            raise StopAsyncIteration
        return received


def metrics_name(
    resource: GVR | str | None, form: type[Handle], namespace: str | None = None
) -> str:
    """Return the name of a resource in metrics; empty if it has none."""
    if resource is None:
        return ""
    place = f"/{namespace}" if namespace else ""
    return f"{resource}{place}{':metadata' if issubclass(form, PartialObjectMetadata) else ''}"
