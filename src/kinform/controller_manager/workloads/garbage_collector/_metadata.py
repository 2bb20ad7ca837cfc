"""Reads and changes the metadata of objects of any kind on the server."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kinform.api import GVK
from kinform.controller_manager.workloads.garbage_collector._graph import Node, Work
from kinform.controllers import Context
from kinform.errors import NoMatchError, NotFoundError
from kinform.objects import PartialObjectMetadata as Metadata


async def read_metadata(
    gvk: GVK, name: str, namespace: str, context: Context[Work]
) -> Metadata | None:
    """Read the metadata of an object; ``None`` if there is none of the name."""
    view = context.live.view(Metadata)
    try:
        return await view.get(gvk, name, namespace=namespace or None)
    except NotFoundError as error:
        # Without a name, it is the resource that the server does not have at the moment.
        if error.details.get("name") != name:
            raise NoMatchError(f"{gvk} {name}: {error}") from error
        return None


async def remove_owners(
    node: Node, obj: Metadata, uids: Collection[str], context: Context[Work]
) -> None:
    references: list[Any] = obj.get_path("metadata.ownerReferences") or []
    kept = [dict(each) for each in references if each["uid"] not in uids]
    if len(kept) < len(references):
        await patch_metadata(node, obj, {"ownerReferences": kept}, context)


async def unblock_owners(node: Node, obj: Metadata, context: Context[Work]) -> Metadata:
    """Let the owners of an object go before it."""
    references: list[Any] = obj.get_path("metadata.ownerReferences") or []
    freed = [
        {**each, "blockOwnerDeletion": False} if each.get("blockOwnerDeletion") else dict(each)
        for each in references
    ]
    return await patch_metadata(node, obj, {"ownerReferences": freed}, context)


async def patch_metadata(
    node: Node, obj: Metadata, metadata: dict[str, Any], context: Context[Work]
) -> Metadata:
    """Change the metadata of an object, unless somebody else has changed it meanwhile."""
    version = {"uid": node.uid, "resourceVersion": obj.resource_version}
    written = await context.live.patch(
        node.resource.gvr,
        node.name,
        {"metadata": {**version, **metadata}},
        namespace=node.namespace or None,
    )
    return Metadata(written.to_dict())
