"""Resolves the names of kinds that a cache accepts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence

from kinform._runtime import Backoff
from kinform.api import GVK, GVR, ApiResource
from kinform.client import ClusterReader, ResourceOrModel, checked_form, gvr_of
from kinform.errors import CacheSyncError, ConfigError, InvalidNameError, KinformError
from kinform.models import model_for
from kinform.objects import Handle, TypedObject, Unstructured

logger = logging.getLogger("kinform.cache")


class KindNames:
    """Resolves kinds to resources, with requests to the server where necessary.

    Args:
        client: Asks the server for resources that have no model.
    """

    def __init__(self, client: ClusterReader) -> None:
        self._client = client
        self._resources: dict[GVK, ApiResource] = {}

    async def gvr(self, kind: ResourceOrModel) -> GVR:
        """Return the GVR of a kind.

        Raises:
            NoMatchError: The server does not have the kind.
            InvalidNameError: This is not a kind.
        """
        if isinstance(kind, GVK) and self._known(kind) is None:
            self._resources[kind] = await self._client.discovery.for_kind(kind)
        return self.known_gvr(kind)

    async def wait_for_gvr(self, kind: ResourceOrModel, timeout: float) -> GVR:
        """Like ``gvr``, but wait for a kind that the server does not have yet.

        Raises:
            CacheSyncError: The server does not have the kind in time; the message has the reason.
            InvalidNameError: This is not a kind.
        """
        if not isinstance(kind, GVK) or self._known(kind) is not None:
            return self.known_gvr(kind)
        pauses = Backoff(0.2, cap=10.0)
        problem: KinformError | None = None
        try:
            async with asyncio.timeout(timeout):
                while True:
                    try:
                        return await self.gvr(kind)
                    except KinformError as error:
                        if problem is None:
                            logger.warning("waiting for %s: %s", kind, error)
                        problem = error
                    await asyncio.sleep(pauses.next())
        except TimeoutError:
            raise CacheSyncError(
                f"{kind} has no informer after {timeout:.1f} s: "
                f"{problem or 'the server has not answered'}"
            ) from problem

    def known_gvr(self, kind: ResourceOrModel) -> GVR:
        """Return the GVR of a kind without a request.

        Raises:
            InvalidNameError: This is not a kind, or a GVK that has not been resolved yet.
        """
        known = self._known(kind) if isinstance(kind, GVK) else None
        return gvr_without_request(kind) if known is None else known.gvr

    async def resource(self, gvr: GVR) -> ApiResource:
        """Return the description of a resource.

        Raises:
            NoMatchError: The server does not have the resource.
        """
        model = model_for(gvr)
        known = None if model is None else model.resource
        return known or await self._client.discovery.for_resource(gvr)

    def _known(self, kind: GVK) -> ApiResource | None:
        model = model_for(kind)
        return self._resources.get(kind) if model is None else model.resource


def gvr_without_request(kind: ResourceOrModel) -> GVR:
    """Return the GVR of a kind whose resource is known without the server.

    Raises:
        InvalidNameError: This is not a kind, or a GVK without a model.
    """
    if not isinstance(kind, GVK):
        return gvr_of(kind)
    model = model_for(kind)
    if model is None or model.resource is None:
        raise InvalidNameError(
            f"the resource of {kind} is not known yet; pass its GVR, or read it with get() or "
            "list() first"
        )
    return model.resource.gvr


def listed_kinds(option: str, kinds: Iterable[ResourceOrModel]) -> Sequence[ResourceOrModel]:
    """Return the kinds of an option as a sequence.

    Raises:
        ConfigError: It is a single kind, or something else.
    """
    given: object = kinds  # callers may be untyped
    if isinstance(given, str | type) or not isinstance(given, Iterable):
        raise ConfigError(f"{option} must be a list of kinds, not {given!r}")
    return list(kinds)


def form_of(kind: ResourceOrModel, form: type[Handle] | None) -> type[Handle]:
    """Return the class of the objects that a read returns.

    Raises:
        ConfigError: It is not a class of objects, or the class of another kind.
    """
    if form is not None:
        checked_form(form)
        if issubclass(form, TypedObject) and isinstance(kind, type) and form is not kind:
            raise ConfigError(f"{kind.__name__} cannot be read as {form.__name__}")
        return form
    return kind if isinstance(kind, type) else Unstructured
