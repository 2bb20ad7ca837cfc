"""A kind and a client in; an informer of its own, shared with no factory, out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kinform._checks import expect_client
from kinform.client import Client, Fields, Labels
from kinform.errors import InvalidNameError, NoMatchError
from kinform.informers._informer_key import Namespaces, as_namespaces
from kinform.informers._shared_informer import SharedIndexInformer
from kinform.informers.dispatch._invoker import HandlerFailure
from kinform.informers.reflector._admission import Transform
from kinform.informers.reflector._options import ReflectorOptions
from kinform.informers.reflector._state import WatchFailure
from kinform.informers.sources._listwatch import ListWatch, TweakListOptions
from kinform.informers.store._index_functions import Indexers
from kinform.metrics import NO_METRICS, Metrics
from kinform.objects import TypedObject

M = TypeVar("M", bound=TypedObject)


def new_informer(
    model: type[M],
    client: Client,
    *,
    namespace: Namespaces = None,
    labels: Labels = "",
    fields: Fields = "",
    resync_period: float = 0.0,
    indexers: Indexers[M] | None = None,
    tweak_list_options: TweakListOptions | None = None,
    transform: Transform[M] | None = None,
    on_watch_error: Callable[[WatchFailure], object] | None = None,
    on_handler_error: Callable[[HandlerFailure], None] | None = None,
    options: ReflectorOptions | None = None,
    metrics: Metrics = NO_METRICS,
) -> SharedIndexInformer[M]:
    """An informer of a kind that nobody else has: its own list and watch, its own store.

        nodes = new_informer(Node, client, indexers={"zone": label_index(ZONE)})
        async with nodes:
            await nodes.has_synced

    Prefer a factory where several parts of a program watch the same: they share one.

    Args:
        model: The kind.
        client: Whose cluster it is.
        namespace: One or several; ``None`` for all.
        labels: Only objects whose labels match.
        fields: Only objects whose fields match.
        resync_period: Seconds between resyncs, for handlers that do not say; 0 for never.
        indexers: Index functions by name; an index by namespace is always there.
        tweak_list_options: Sees the options of every list and every watch, and returns them.
        transform: Changes each version of an object once, before anybody sees it.
        on_watch_error: Hears every lost connection and refusal, on the loop.
        on_handler_error: Hears every failure of a handler, where the handler runs.
        options: How reflectors go about it: page size, backoff and the like.
        metrics: Is told what happens.

    Raises:
        InvalidNameError: The kind has no resource of its own, or it is no class of a kind.
        NoMatchError: The kind has no namespaces, and one was given.
        SelectorError: A selector is not legal.
        ConfigError: That is no client, or an option cannot be meant.
    """
    expect_client(client, Client, taker="new_informer")
    return SharedIndexInformer(
        [
            ListWatch.for_resource(
                client,
                model,
                namespace=each,
                labels=labels,
                fields=fields,
                tweak_list_options=tweak_list_options,
            )
            for each in namespaces_of(model, namespace)
        ],
        indexers=indexers,
        resync_period=resync_period,
        transform=transform,
        on_watch_error=on_watch_error,
        on_handler_error=on_handler_error,
        options=options,
        metrics=metrics,
    )


def namespaces_of(model: type[TypedObject], namespace: Namespaces) -> tuple[str | None, ...]:
    """What each source of an informer of this kind is limited to; ``None`` for no limit.

    Raises:
        InvalidNameError: It is no class of a kind.
        NoMatchError: The kind has no namespaces.
        ConfigError: One of them has no name, or none of several is named.
    """
    given: object = model  # callers are not all type-checked
    if not (isinstance(given, type) and issubclass(given, TypedObject)):
        raise InvalidNameError(
            f"{given!r} is no class of kinform.models; of a resource without one, an informer is "
            "made with SharedIndexInformer(ListWatch.for_resource(client, resource))"
        )
    named = as_namespaces(namespace)
    if named and model.resource is not None and not model.resource.namespaced:
        raise NoMatchError(f"{model.resource.gvr} is not in namespaces; leave the namespace out")
    return named or (None,)
