"""Asks the server which permissions a cache lacks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import product

import msgspec

from kinform.api import GVR
from kinform.client import Writer
from kinform.errors import CacheError
from kinform.informers import Scope

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
