"""ListWatch: adapts list and watch callables, sync or async, to pages and batches of frames."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Generic, TypedDict, TypeVar, Unpack, overload

from kinform._checks import check_callable, check_plain, expect_client
from kinform.api import GVR, ApiResource, FieldSelector, LabelSelector, ListOptions
from kinform.client import (
    Client,
    Fields,
    Labels,
    MetadataVerbs,
    ObjectList,
    Reachability,
    Resource,
    ResourceOrModel,
    Verbs,
    Watch,
    as_field_selector,
    as_label_selector,
    checked_form,
    place_of,
)
from kinform.errors import ConfigError
from kinform.informers.sources._list_shapes import read_page
from kinform.informers.sources._off_loop import call_off_loop
from kinform.informers.sources._watch_shapes import Batches, foreign_errors, open_batches
from kinform.objects import Handle, PartialObjectMetadata, TypedObject, Unstructured

T = TypeVar("T", bound=Handle)
H = TypeVar("H", bound=Handle)
M = TypeVar("M", bound=TypedObject)
S = TypeVar("S")

Asked = Callable[[ListOptions], object]
"""Lists or watches with the given options; returns any accepted shape of list or watch."""

TweakListOptions = Callable[[ListOptions], ListOptions]
"""Changes the options of every list and watch: ``return options.replace(...)``."""


class ForResourceOptions(TypedDict, total=False):
    """The options of ``ListWatch.for_resource``."""

    namespace: str | None
    labels: Labels
    fields: Fields
    tweak_list_options: TweakListOptions | None


class ListWatch(Generic[T]):
    """The source of the objects of one resource: a list and a watch callable.

    Callables that are not ``async def`` run in a thread, as do their iterators, so they may block.
    A list may be an ``ObjectList``, a dict as sent by a server, or an iterable of objects and
    dicts. A watch may be a ``Watch`` or any iterator, sync or async, of events (``WatchEvent``,
    ``Frame``, dicts, pairs of type and object, or lists of these).

    Args:
        list: Returns one page for the given options.
        watch: Returns the events for the given options.
        form: The class of the objects.
        name: The name used in errors and logs.
        tweak_list_options: Called with the options of every page and watch; returns the options
            to use.
        supports_streaming: Whether the watch can start with all objects
            (``send_initial_events``).

    Attributes:
        resource: The resource, if the source is a resource of a server.
        namespace: The only namespace of the objects; ``None`` for all.
        labels, fields: The selectors of a resource, as strings.
        reachability: The connection state of the server, shared by all sources of one client.
    """

    @overload
    def __init__(
        self: ListWatch[Unstructured],
        list: Asked,
        watch: Asked,
        *,
        name: str = "",
        tweak_list_options: TweakListOptions | None = None,
        supports_streaming: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        list: Asked,
        watch: Asked,
        *,
        form: type[T],
        name: str = "",
        tweak_list_options: TweakListOptions | None = None,
        supports_streaming: bool = False,
    ) -> None: ...
    def __init__(
        self,
        list: Asked,
        watch: Asked,
        *,
        form: type[T] = Unstructured,  # type: ignore[assignment]  # T defaults to Unstructured
        name: str = "",
        tweak_list_options: TweakListOptions | None = None,
        supports_streaming: bool = False,
    ) -> None:
        check_callable("list", list)
        check_callable("watch", watch)
        check_plain("tweak_list_options", tweak_list_options)
        checked_form(form)
        self._list = list
        self._watch = watch
        self._tweak = tweak_list_options
        self._selectors = ListOptions()
        self.form = form
        self.name = name
        self.supports_streaming = supports_streaming
        self.labels = ""
        self.fields = ""
        self._for_scope: Callable[[str | None, str, str], ListWatch[T]] | None = None
        self.resource: GVR | str | None = None
        self.namespace: str | None = None
        self.reachability = Reachability()

    @overload
    @classmethod
    def for_resource(
        cls, client: Client, resource: type[M], **options: Unpack[ForResourceOptions]
    ) -> ListWatch[M]: ...
    @overload
    @classmethod
    def for_resource(
        cls,
        client: MetadataVerbs,
        resource: type[TypedObject],
        **options: Unpack[ForResourceOptions],
    ) -> ListWatch[PartialObjectMetadata]: ...
    @overload
    @classmethod
    def for_resource(
        cls, client: Verbs[H], resource: Resource, **options: Unpack[ForResourceOptions]
    ) -> ListWatch[H]: ...
    @classmethod
    def for_resource(
        cls,
        client: Verbs[Any],
        resource: ResourceOrModel,
        *,
        namespace: str | None = None,
        labels: Labels = "",
        fields: Fields = "",
        tweak_list_options: TweakListOptions | None = None,
    ) -> ListWatch[Any]:
        """Return a source for a resource of a client, given by name or by model class.

        Refusals of an overloaded server are raised, not retried.

        Raises:
            InvalidNameError: The class has no resource, or ``resource`` is not a valid name.
            SelectorError: A selector is invalid.
            ConfigError: ``client`` is not a client.
        """
        expect_client(client, Verbs, receiver="ListWatch.for_resource")
        place, verbs = place_of(resource), _view(client, resource)

        async def page(options: ListOptions) -> ObjectList[Any]:
            return await verbs.page(place, options, namespace=namespace, retry=False)

        async def watch(options: ListOptions) -> Watch[Any]:
            return verbs.watch(place, options, namespace=namespace, retry=False)

        found = place.gvr if isinstance(place, ApiResource) else place
        source: ListWatch[Any] = cls(
            page,
            watch,
            form=verbs.form,
            name=f"{found} in {namespace}" if namespace else str(found),
            tweak_list_options=tweak_list_options,
            supports_streaming=True,
        )
        source.resource = found if isinstance(found, GVR) else str(found)
        source.namespace = namespace
        source.reachability = client.reachability
        source.labels = str(as_label_selector(labels))
        source.fields = str(as_field_selector(fields))
        source._for_scope = lambda namespace, labels, fields: cls.for_resource(
            verbs,
            place,
            namespace=namespace,
            labels=labels,
            fields=fields,
            tweak_list_options=tweak_list_options,
        )
        source._selectors = ListOptions(
            label_selector=(
                LabelSelector.from_labels(labels) if isinstance(labels, Mapping) else labels
            ),
            field_selector=(
                FieldSelector.from_fields(fields) if isinstance(fields, Mapping) else fields
            ),
        )
        return source

    def with_scope(
        self, *, namespace: str | None = None, labels: str = "", fields: str = ""
    ) -> ListWatch[T]:
        """Return a source for the same resource with another namespace or other selectors.

        Raises:
            ConfigError: This source was made from callables, which have a scope of their own.
        """
        if self._for_scope is None:
            raise ConfigError(
                f"{self!r} is made from callables, so its scope cannot change; use a source made "
                "with ListWatch.for_resource"
            )
        return self._for_scope(namespace, labels, fields)

    async def page(self, options: ListOptions) -> ObjectList[T]:
        """Request one page. Items that cannot be decoded are in ``undecodable``.

        Raises:
            DecodeError: The callable returned something other than a list.
            TransportError: The callable raised a foreign exception, which is the cause.
            ConfigError: ``tweak_list_options`` failed.
        """
        options = self._prepared(options)
        what = self._called("list")
        with foreign_errors(what):
            answer = await _ask(lambda: _drained(self._list(options)), self._list, what)
            return await read_page(answer, self.form, what=what)

    def watch(self, options: ListOptions) -> AbstractAsyncContextManager[Batches]:
        """Open a stream of batches with ``async with``. Refusals of a server arrive as frames.

        Raises, on entering and while reading:
            WatchError: The callable returned something other than a source of events.
            TransportError: The callable raised a foreign exception, which is the cause.
            ConfigError: ``tweak_list_options`` failed.
        """
        return self._open(options)

    @asynccontextmanager
    async def _open(self, options: ListOptions) -> AsyncIterator[Batches]:
        options = self._prepared(options)
        what = self._called("watch")
        with foreign_errors(what):
            source = await _ask(lambda: self._watch(options), self._watch, what)
        async with open_batches(source, what=what) as batches:
            yield batches

    def __repr__(self) -> str:
        return f"<ListWatch {self.name or 'of two callables'} as {self.form.__name__}>"

    # -- private -----------------------------------------------------------------------------

    def _called(self, verb: str) -> str:
        return f"{verb} of {self.name}" if self.name else f"the {verb} callable"

    def _prepared(self, options: ListOptions) -> ListOptions:
        """Add the selectors of this source, then apply ``tweak_list_options``."""
        own = self._selectors
        options = options.replace(
            label_selector=_both(own.label_selector, options.label_selector),
            field_selector=_both(own.field_selector, options.field_selector),
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


def _view(client: Verbs[Any], resource: ResourceOrModel) -> Verbs[Any]:
    """Return the view for a model class; ``client.metadata`` keeps its own form."""
    if isinstance(client, Client) and isinstance(resource, type):
        return client.view(resource)
    return client


def _both(own: S, asked: S) -> S | str:
    """Combine two selectors; both must match."""
    return f"{own},{asked}" if own and asked else own or asked


async def _ask(call: Callable[[], object], function: Asked, what: str) -> object:
    """Call on the loop if ``function`` is async, otherwise in a thread; await the result."""
    answer = call() if _is_async(function) else await call_off_loop(call, name=what)
    while inspect.isawaitable(answer):
        answer = await answer
    return answer


def _is_async(function: Asked) -> bool:
    return any(
        inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each)
        for each in (function, getattr(function, "__call__", None))  # noqa: B004  # needs its value
    )


def _drained(answer: object) -> object:
    """Read an iterator in the thread that made it, because reading may block too."""
    return list(answer) if isinstance(answer, Iterator) else answer
