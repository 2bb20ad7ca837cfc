"""The parts of a client that all its verbs share, in whatever form they return objects."""

from __future__ import annotations

import msgspec

from kinform.client._discovery import Discovery
from kinform.client._negotiation import Negotiation
from kinform.client._resolver import Resolver
from kinform.client._retrying_sender import RetryingSender
from kinform.client._write_hooks import WritePipeline


class SharedParts(msgspec.Struct, frozen=True, eq=False):
    """Shared by a client and its views.

    Attributes:
        sender: Sends requests.
        discovery: Looks up resources.
        negotiation: Chooses the wire format.
        writes: Sends all writes, through the hooks.
        resolver: Finds paths.
        namespace: The default namespace of verbs on a single object.
        page_size: The number of objects per page of a list.
    """

    sender: RetryingSender
    discovery: Discovery
    negotiation: Negotiation
    writes: WritePipeline
    resolver: Resolver
    namespace: str
    page_size: int
