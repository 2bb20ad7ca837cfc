"""Resolves the names of kinds that a cache accepts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kinform.api import GVK, GVR, ApiResource
from kinform.client import ClusterReader, ResourceOrModel, checked_form, gvr_of
from kinform.errors import ConfigError, InvalidNameError
from kinform.models import model_for
from kinform.objects import Handle, TypedObject, Unstructured


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

    def known_gvr(self, kind: ResourceOrModel) -> GVR:
        """Return the GVR of a kind without a request.

        Raises:
            InvalidNameError: This is not a kind, or a GVK that has not been resolved yet.
        """
        if isinstance(kind, ApiResource):
            return kind.gvr
        if isinstance(kind, GVK):
            known = self._known(kind)
            if known is None:
                raise InvalidNameError(
                    f"the resource of {kind} is not known yet; pass its GVR, or read it with "
                    "get() or list() first"
                )
            return known.gvr
        return gvr_of(kind)

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
