"""List and watch callables in, of whatever colour and shape; pages and batches of frames out."""

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
    place_of,
)
from kinform.client._typed_verbs import checked_form
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
"""What lists or watches: options in, something that can be read as a list or a watch out."""

TweakListOptions = Callable[[ListOptions], ListOptions]
"""Changes the options of every list and every watch: ``return options.replace(...)``."""


class ForResourceOptions(TypedDict, total=False):
    """The options of ``ListWatch.for_resource``."""

    namespace: str | None
    labels: Labels
    fields: Fields
    tweak_list_options: TweakListOptions | None


class ListWatch(Generic[T]):
    """Where the objects of one resource come from.

    Any two callables will do. What is no ``async def`` is called, and its iterator read, in a
    thread, so it may block. A list may be an ``ObjectList``, a dict as servers send it, or any
    iterable of objects and dicts; a watch may be a ``Watch`` or any iterator, async or not, of
    events (``WatchEvent``, ``Frame``, dicts, pairs of type and object, or lists of these).

    Args:
        list: One page for the given options.
        watch: The events for the given options.
        form: What objects come out as.
        name: What it is called in errors and logs.
        tweak_list_options: Sees the options of every page and every watch, and returns others.
        supports_streaming: The watch can begin with all there is (``send_initial_events``).

    Attributes:
        resource: What is listed, if it is a resource of a server.
        namespace: The only namespace that objects come from; ``None`` for all.
        reachability: What is known about the server; shared by all sources of one client.
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
        form: type[T] = Unstructured,  # type: ignore[assignment]  # T is this if nobody says
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
        """What a client finds of a resource, or of the class of its objects.

        A busy server's refusals are raised, not waited out.

        Raises:
            InvalidNameError: The class has no resource of its own, or that is no resource.
            SelectorError: A selector is not legal.
            ConfigError: That is no client.
        """
        expect_client(client, Verbs, taker="ListWatch.for_resource")
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
        source._selectors = ListOptions(
            label_selector=(
                LabelSelector.from_labels(labels) if isinstance(labels, Mapping) else labels
            ),
            field_selector=(
                FieldSelector.from_fields(fields) if isinstance(fields, Mapping) else fields
            ),
        )
        return source

    async def page(self, options: ListOptions) -> ObjectList[T]:
        """One request, one page. Items that do not decode are in ``undecodable``.

        Raises:
            DecodeError: What the callable returned is no list.
            TransportError: It raised something that is not of kinform; that is the cause.
            ConfigError: ``tweak_list_options`` failed.
        """
        options = self._prepared(options)
        what = self._called("list")
        with foreign_errors(what):
            answer = await _ask(lambda: _drained(self._list(options)), self._list, what)
            return await read_page(answer, self.form, what=what)

    def watch(self, options: ListOptions) -> AbstractAsyncContextManager[Batches]:
        """A stream of batches, open inside ``async with``. Refusals of a server come as frames.

        Raises, on entering and while it pours:
            WatchError: What the callable returned is no source of events.
            TransportError: It raised something that is not of kinform; that is the cause.
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

    # -- inside ------------------------------------------------------------------------------

    def _called(self, verb: str) -> str:
        return f"{verb} of {self.name}" if self.name else f"the {verb} callable"

    def _prepared(self, options: ListOptions) -> ListOptions:
        """With the selectors of this source, and then as the caller wants them."""
        own = self._selectors
        options = options.replace(
            label_selector=_both(own.label_selector, options.label_selector),
            field_selector=_both(own.field_selector, options.field_selector),
        )
        if self._tweak is None:
            return options
        try:
            tweaked = self._tweak(options)
        except Exception as error:  # the caller's own code
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
    """A client gives objects of the class it is asked by; ``client.metadata`` has its own form."""
    if isinstance(client, Client) and isinstance(resource, type):
        return client.view(resource)
    return client


def _both(own: S, asked: S) -> S | str:
    """Selectors in a row all have to match."""
    return f"{own},{asked}" if own and asked else own or asked


async def _ask(call: Callable[[], object], function: Asked, what: str) -> object:
    """What the call gives, made where ``function`` can do no harm."""
    answer = call() if _is_async(function) else await call_off_loop(call, name=what)
    while inspect.isawaitable(answer):
        answer = await answer
    return answer


def _is_async(function: Asked) -> bool:
    return any(
        inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each)
        for each in (function, getattr(function, "__call__", None))  # noqa: B004  # not whether
    )


def _drained(answer: object) -> object:
    """An iterator is read where it was made, for reading may block as well."""
    return list(answer) if isinstance(answer, Iterator) else answer
