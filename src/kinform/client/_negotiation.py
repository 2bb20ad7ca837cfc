"""Content negotiation: chooses the Accept header of a request.

Servers offer built-in kinds as protobuf, at a fraction of the cost of JSON for both sides. Requests
accept JSON too, so anything else is sent as JSON. A resource that was once sent as JSON is
requested as JSON from then on.
"""

from __future__ import annotations

from typing import Literal

from kinform.api import GVK, GVR, ApiResource
from kinform.client._resources import Place
from kinform.client._wire import PROTOBUF
from kinform.errors import ConfigError
from kinform.models import model_for
from kinform.objects import Handle, PartialObjectMetadata, TypedObject

WireFormat = Literal["auto", "json", "protobuf"]
"""The format to request. ``auto``: protobuf for typed objects and metadata, otherwise JSON."""

JSON_TYPE = "application/json"
_METADATA = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class Negotiation:
    """Chooses formats and learns from responses. Shared by all verbs of a client.

    Raises:
        ConfigError: The format does not exist.
    """

    def __init__(self, wire_format: WireFormat) -> None:
        if wire_format not in ("auto", "json", "protobuf"):
            raise ConfigError(
                f"wire_format must be 'auto', 'json' or 'protobuf', not {wire_format!r}"
            )
        self._wire_format = wire_format
        self._only_json: set[Place] = set()

    def accept(
        self, form: type[Handle], resource: Place | None, *, listing: bool, writing: bool
    ) -> str:
        """Return the Accept header for this form. Writes are sent and answered in JSON."""
        forms = [JSON_TYPE]
        if not writing and self._asks_for_protobuf(form, resource):
            forms.insert(0, PROTOBUF)
        if not issubclass(form, PartialObjectMetadata):
            return ",".join(forms)
        suffix = _METADATA_LIST if listing else _METADATA
        # A server without metadata support sends the whole object, which is stripped here.
        return ",".join([*(f"{each}{suffix}" for each in forms), JSON_TYPE])

    def learn(self, resource: Place | None, content_type: str) -> None:
        """Learn from the response to a request that accepted both formats."""
        if resource is not None and "json" in content_type:
            self._only_json.add(resource)

    def _asks_for_protobuf(self, form: type[Handle], resource: Place | None) -> bool:
        if self._wire_format == "json" or resource in self._only_json:
            return False
        if issubclass(form, PartialObjectMetadata):
            return True
        gvk = _kind_of(form, resource, any_form=self._wire_format == "protobuf")
        if gvk is None:
            return False
        # Imported on first use, so that programs that only use JSON do not load it.
        from kinform.protobuf import codec_for

        return codec_for(gvk) is not None


def _kind_of(form: type[Handle], resource: Place | None, *, any_form: bool) -> GVK | None:
    """Return the kind, if its model is known and protobuf is allowed for this form."""
    if issubclass(form, TypedObject):
        return form.class_gvk
    if not any_form or resource is None:
        return None
    if isinstance(resource, (ApiResource, GVK)):
        return resource if isinstance(resource, GVK) else resource.gvk
    assert isinstance(resource, GVR)
    model = model_for(resource)
    return None if model is None else model.class_gvk
