"""Creates a single informer of a kind, independent of any factory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kinform._checks import expect_client
from kinform.client import Fields, Labels, Watcher
from kinform.errors import InvalidNameError, NoMatchError
from kinform.informers._namespace_options import NamespaceNames, as_namespaces
from kinform.informers._shared_informer import SharedIndexInformer
from kinform.informers.dispatch import HandlerFailure
from kinform.informers.reflector import ReflectorOptions, Transform, WatchFailure
from kinform.informers.sources import ListWatch, TweakListOptions
from kinform.informers.store import Indexers
from kinform.metrics import NO_METRICS, Metrics
from kinform.objects import TypedObject

M = TypeVar("M", bound=TypedObject)


def new_informer(
    model: type[M],
    client: Watcher,
    *,
    namespace: NamespaceNames = None,
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
    """Create an informer for a kind, with its own list, watch and store.

        nodes = new_informer(Node, client, indexers={"zone": label_index(ZONE)})
        async with nodes:
            await nodes.has_synced

    Use a factory if several parts of a program watch the same resource: they share one informer.

    Args:
        model: The model class of the kind.
        client: The client of the cluster to read from.
        namespace: One or several namespaces; ``None`` for all.
        labels: Only objects that match this label selector.
        fields: Only objects that match this field selector.
        resync_period: Default number of seconds between resyncs of a handler; 0 disables them.
        indexers: Index functions by name. An index by namespace is always present.
        tweak_list_options: Called with the options of every list and watch; returns the options
            to use.
        transform: Called once for each version of an object, before it is stored.
        on_watch_error: Called on the event loop for every lost connection and every refusal.
        on_handler_error: Called for every exception a handler raises, on the thread or loop of
            that handler.
        options: Reflector settings such as page size and backoff.
        metrics: Receives the informer's metrics.

    Raises:
        InvalidNameError: The kind has no resource, or ``model`` is not a model class.
        NoMatchError: A namespace was given for a cluster-scoped kind.
        SelectorError: A selector is invalid.
        ConfigError: ``client`` is not a client, or an option is invalid.
    """
    expect_client(client, Watcher, receiver="new_informer")
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


def namespaces_of(model: type[TypedObject], namespace: NamespaceNames) -> tuple[str | None, ...]:
    """Return the namespace of each source of an informer; ``None`` for all namespaces.

    Raises:
        InvalidNameError: ``model`` is not a model class.
        NoMatchError: The kind is cluster-scoped.
        ConfigError: A name is empty, or the sequence is empty.
    """
    given: object = model  # callers may be untyped
    if not (isinstance(given, type) and issubclass(given, TypedObject)):
        raise InvalidNameError(
            f"{given!r} is not a model class; for a resource without one, use "
            "SharedIndexInformer(ListWatch.for_resource(client, resource))"
        )
    named = as_namespaces(namespace)
    if named and model.resource is not None and not model.resource.namespaced:
        raise NoMatchError(f"{model.resource.gvr} is cluster-scoped; omit the namespace")
    return named or (None,)
