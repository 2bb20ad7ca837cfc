"""Reads kinds that a cache does not hold from the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinform.api import GVR, ObjectName, split_namespace_key
from kinform.cache._field_index import FieldQuery
from kinform.client import ClusterReader, Fields, Labels, ObjectList
from kinform.errors import ConfigError
from kinform.objects import Handle


class LiveRead:
    """Reads a kind from the server, because the cache does not hold it."""

    def __init__(self, client: ClusterReader, gvr: GVR, form: type[Handle]) -> None:
        self._view = client.view(form)
        self._gvr = gvr

    async def get(self, name: str | ObjectName, namespace: str | None) -> Handle:
        found = name if isinstance(name, ObjectName) else split_namespace_key(name)
        return await self._view.get(self._gvr, found.name, namespace=found.namespace or namespace)

    async def list(
        self, namespace: str | None, labels: Labels, fields: FieldQuery, limit: int | None
    ) -> ObjectList[Any]:
        return await self._view.list(
            self._gvr, namespace=namespace, labels=labels, fields=live_fields(fields), limit=limit
        )


def live_fields(fields: FieldQuery) -> Fields:
    """Return a field query as the server accepts it.

    Raises:
        ConfigError: A field has several allowed values, which servers do not support.
    """
    if not isinstance(fields, Mapping):
        return fields
    for field, value in fields.items():
        if not isinstance(value, str):
            raise ConfigError(
                f"field {field!r} has several values, which only a cache supports, and this kind "
                "is read from the server"
            )
    return {field: str(value) for field, value in fields.items()}
