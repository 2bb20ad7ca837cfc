"""Asks the server which permissions a cache lacks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import msgspec

from kinform.api import GVR
from kinform.cache._informers import CacheInformers
from kinform.cache._kind import CachedKind
from kinform.cache._kind_names import KindNames
from kinform.cache._namespace_follower import NAMESPACES, NamespaceSelector
from kinform.cache._options import KindTable
from kinform.client import ClusterReader, Writer
from kinform.errors import CacheError, ForbiddenError
from kinform.informers import ALL_NAMESPACES, Scope, Selectors
from kinform.objects import PartialObjectMetadata

# What an informer needs of its resource.
_VERBS = ("list", "watch")
_CONCURRENT = 8


class MissingAccess(msgspec.Struct, frozen=True):
    """Verbs that are not allowed on a resource.

    Attributes:
        resource: The resource.
        namespace: The namespace; empty for all namespaces or a cluster-scoped resource.
        verbs: The missing verbs.
    """

    resource: GVR
    namespace: str
    verbs: tuple[str, ...]

    def __str__(self) -> str:
        where = f"in namespace {self.namespace}" if self.namespace else "in the whole cluster"
        return f"{' and '.join(self.verbs)} {self.resource} {where}"


class PreflightResult:
    """The permissions that a cache lacks. True if there are none.

    Attributes:
        missing: What is not allowed.
    """

    def __init__(self, missing: Sequence[MissingAccess]) -> None:
        self.missing = tuple(missing)

    def __bool__(self) -> bool:
        return not self.missing

    def __str__(self) -> str:
        if not self.missing:
            return "nothing is missing"
        return f"not allowed: {'; '.join(map(str, self.missing))}"

    def __repr__(self) -> str:
        return f"<PreflightResult {self}>"

    def raise_for_missing(self) -> None:
        """Raise an error unless everything is allowed.

        Raises:
            CacheError: The message names what is missing.
        """
        if self.missing:
            raise CacheError(f"{self}; grant these verbs in a Role or ClusterRole")


async def needed_scopes(
    kinds: Iterable[CachedKind], options: KindTable, informers: CacheInformers, names: KindNames
) -> dict[GVR, Scope]:
    """Return what the kinds of a cache, and those with options, are to list and watch.

    Raises:
        NoMatchError: The server does not have a kind.
    """
    scopes: dict[GVR, Scope] = {}
    for kind in kinds:
        if kind.resource is None:
            kind.resource = await names.resource(kind.gvr)
        if kind.informer is not None:
            scopes[kind.gvr] = kind.informer.scope
        else:
            key = informers.key(kind.resource, only_metadata=kind.only_metadata)
            scopes[kind.gvr] = key.scope
    for gvr in options.cached_resources:
        if gvr not in scopes:
            resource = await names.resource(gvr)
            scopes[gvr] = informers.key(resource, only_metadata=False).scope
    return scopes


async def with_followed_namespaces(
    scopes: Mapping[GVR, Scope], selector: NamespaceSelector, client: ClusterReader
) -> dict[GVR, Scope]:
    """Add the access that a selector of namespaces needs.

    Kinds without namespaces of their own are needed in those that match now.
    """
    try:
        listed = await client.view(PartialObjectMetadata).list(NAMESPACES, labels=selector.labels)
        names = [each.name for each in listed]
    except ForbiddenError:
        names = []  # the result says so
    matching = Scope.of(dict.fromkeys(names, Selectors()))
    needed = {gvr: scope if scope.parts else matching for gvr, scope in scopes.items()}
    return {**needed, NAMESPACES: Scope.of({ALL_NAMESPACES: Selectors()})}


async def preflight(client: Writer, scopes: Mapping[GVR, Scope]) -> PreflightResult:
    """Ask the server whether these resources may be listed and watched.

    Raises:
        ApiError: The server does not answer such questions.
    """
    limit = asyncio.Semaphore(_CONCURRENT)

    async def is_allowed(resource: GVR, namespace: str, verb: str) -> bool:
        question = {
            "verb": verb,
            "group": resource.group,
            "version": resource.version,
            "resource": resource.resource,
            "namespace": namespace,
        }
        async with limit:
            answer = await client.create(
                {
                    "apiVersion": "authorization.k8s.io/v1",
                    "kind": "SelfSubjectAccessReview",
                    "spec": {"resourceAttributes": question},
                }
            )
        return bool(answer.get_path("status.allowed"))

    places = [
        (resource, namespace) for resource, scope in scopes.items() for namespace in scope.selectors
    ]
    questions = list(product(places, _VERBS))
    answers = await asyncio.gather(
        *(is_allowed(resource, namespace, verb) for (resource, namespace), verb in questions)
    )
    refused: dict[tuple[GVR, str], tuple[str, ...]] = {}
    for (place, verb), allowed in zip(questions, answers, strict=True):
        if not allowed:
            refused[place] = (*refused.get(place, ()), verb)
    return PreflightResult([MissingAccess(*place, verbs) for place, verbs in refused.items()])
