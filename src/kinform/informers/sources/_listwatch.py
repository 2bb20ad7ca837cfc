"""ListWatch: a source from two callables, sync or async, or of a client and a resource."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypedDict, TypeVar, Unpack, overload

from kinform._checks import check_callable
from kinform.api import GVR, ApiResource, FieldSelector, LabelSelector, ListOptions
from kinform.client import (
    Fields,
    Labels,
    ObjectList,
    Place,
    Resource,
    ResourceOrModel,
    ViewWatcher,
    Watch,
    Watcher,
    as_field_selector,
    as_label_selector,
    place_of,
    watcher_view,
)
from kinform.informers.sources._foreign_errors import foreign_errors
from kinform.informers.sources._list_shapes import read_page
from kinform.informers.sources._off_loop import call_off_loop
from kinform.informers.sources._source import Source, TweakListOptions, WatchStream
from kinform.informers.sources._watch_shapes import open_stream
from kinform.objects import Handle, TypedObject, Unstructured

T = TypeVar("T", bound=Handle)
H = TypeVar("H", bound=Handle)
M = TypeVar("M", bound=TypedObject)

SourceCallable = Callable[[ListOptions], object]
"""Lists or watches with the given options; returns any accepted shape of list or watch."""


class ForResourceOptions(TypedDict, total=False):
    """The options of ``ListWatch.for_resource``."""

    namespace: str | None
    labels: Labels
    fields: Fields
    tweak_list_options: TweakListOptions | None


class ListWatch(Source[T]):
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

    The attributes are those of ``Source``.
    """

    @overload
    def __init__(
        self: ListWatch[Unstructured],
        list: SourceCallable,
        watch: SourceCallable,
        *,
        name: str = "",
        tweak_list_options: TweakListOptions | None = None,
        supports_streaming: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        list: SourceCallable,
        watch: SourceCallable,
        *,
        form: type[T],
        name: str = "",
        tweak_list_options: TweakListOptions | None = None,
        supports_streaming: bool = False,
    ) -> None: ...
    def __init__(
        self,
        list: SourceCallable,
        watch: SourceCallable,
        *,
        form: type[T] = Unstructured,  # type: ignore[assignment]  # T defaults to Unstructured
        name: str = "",
        tweak_list_options: TweakListOptions | None = None,
        supports_streaming: bool = False,
    ) -> None:
        check_callable("list", list)
        check_callable("watch", watch)
        super().__init__(
            form=form,
            name=name,
            tweak_list_options=tweak_list_options,
            supports_streaming=supports_streaming,
        )
        self._list = list
        self._watch = watch

    @overload
    @classmethod
    def for_resource(
        cls, client: Watcher, resource: type[M], **options: Unpack[ForResourceOptions]
    ) -> ListWatch[M]: ...
    @overload
    @classmethod
    def for_resource(
        cls,
        client: ViewWatcher[H],
        resource: ResourceOrModel,
        **options: Unpack[ForResourceOptions],
    ) -> ListWatch[H]: ...
    @overload
    @classmethod
    def for_resource(
        cls, client: Watcher, resource: Resource, **options: Unpack[ForResourceOptions]
    ) -> ListWatch[Unstructured]: ...
    @classmethod
    def for_resource(
        cls,
        client: Watcher | ViewWatcher[Any],
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
        place = place_of(resource)
        return ClientSource(
            watcher_view(client, resource, receiver="ListWatch.for_resource"),
            place,
            namespace=namespace,
            labels=labels,
            fields=fields,
            tweak_list_options=tweak_list_options,
        )

    async def page(self, options: ListOptions) -> ObjectList[T]:
        options = self._prepare(options)
        what = self._describe("list")
        with foreign_errors(what):
            answer = await _call(lambda: _exhaust(self._list(options)), self._list, what)
            return await read_page(answer, self.form, what=what)

    async def open_watch(self, options: ListOptions) -> WatchStream:
        options = self._prepare(options)
        what = self._describe("watch")
        with foreign_errors(what):
            answer = await _call(lambda: self._watch(options), self._watch, what)
        return await open_stream(answer, what=what)


class ClientSource(ListWatch[T]):
    """A ListWatch that calls a client directly, without callables in between."""

    def __init__(
        self,
        client: ViewWatcher[T],
        place: Place,
        *,
        namespace: str | None,
        labels: Labels,
        fields: Fields,
        tweak_list_options: TweakListOptions | None,
    ) -> None:
        resource = place.gvr if isinstance(place, ApiResource) else place
        Source.__init__(  # it has no callables
            self,
            form=client.form,
            name=f"{resource} in {namespace}" if namespace else str(resource),
            tweak_list_options=tweak_list_options,
            supports_streaming=True,
            selectors=ListOptions(
                label_selector=(
                    LabelSelector.from_labels(labels) if isinstance(labels, Mapping) else labels
                ),
                field_selector=(
                    FieldSelector.from_fields(fields) if isinstance(fields, Mapping) else fields
                ),
            ),
            resource=resource if isinstance(resource, GVR) else str(resource),
            namespace=namespace,
            reachability=client.reachability,
        )
        self._client = client
        self._place = place
        self.labels = str(as_label_selector(labels))
        self.fields = str(as_field_selector(fields))

    def with_scope(
        self, *, namespace: str | None = None, labels: Labels = "", fields: Fields = ""
    ) -> ClientSource[T]:
        return ClientSource(
            self._client,
            self._place,
            namespace=namespace,
            labels=labels,
            fields=fields,
            tweak_list_options=self._tweak,
        )

    async def page(self, options: ListOptions) -> ObjectList[T]:
        options = self._prepare(options)
        # A user's transport may raise anything.
        with foreign_errors(self._describe("list")):
            return await self._client.page(
                self._place, options, namespace=self.namespace, retry=False
            )

    async def open_watch(self, options: ListOptions) -> Watch[T]:
        options = self._prepare(options)
        with foreign_errors(self._describe("watch")):
            return await self._client.watch(
                self._place, options, namespace=self.namespace, retry=False
            ).open()


async def _call(call: Callable[[], object], function: SourceCallable, what: str) -> object:
    """Call on the loop if ``function`` is async, otherwise in a thread; await the result."""
    answer = call() if _is_async(function) else await call_off_loop(call, name=what)
    while inspect.isawaitable(answer):
        answer = await answer
    return answer


def _is_async(function: SourceCallable) -> bool:
    # An object may have an async __call__.
    candidates: tuple[object, ...] = (function, type(function).__call__)
    return any(
        inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in candidates
    )


def _exhaust(answer: object) -> object:
    """Read an iterator in the thread that made it, because reading may block too."""
    return list(answer) if isinstance(answer, Iterator) else answer
