"""A request, as the server parsed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kinform.api import GVR


@dataclass(frozen=True, slots=True)
class Call:
    """A request as parsed by the server, before it is handled.

    Attributes:
        method: The HTTP method.
        path: The path, decoded, without the query.
        query: The query parameters; the first value of a repeated one.
        headers: The request's headers; look-ups ignore case.
        verb: ``get list watch create update patch delete deletecollection``, or empty
            if the path is not that of a resource (``/version``).
        gvr: The resource, or ``None`` if the path is not that of a resource.
        namespace: The namespace in the path, or empty.
        name: The object's name in the path, or empty.
        subresource: ``status``, ``scale``, … or empty.
        custom: Whether it is a custom resource.
        body: The request's body.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    verb: str = ""
    gvr: GVR | None = None
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    custom: bool = False
    body: bytes = field(default=b"", repr=False)
