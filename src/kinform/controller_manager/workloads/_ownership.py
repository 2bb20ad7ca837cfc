"""Which objects belong to a workload: found by an index, adopted and released by its selector."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from kinform.api import LabelSelector
from kinform.cache import Cache, CachedClient
from kinform.controllers import (
    Cluster,
    OpenSource,
    Request,
    Source,
    Watch,
    controller_of,
)
from kinform.errors import CacheError, InvalidError, NotFoundError
from kinform.informers import InformerEvent
from kinform.models.meta.v1 import LabelSelector as SelectorModel
from kinform.objects import TypedObject
from kinform.workqueue import WorkQueue

M = TypeVar("M", bound=TypedObject)

CONTROLLER = "controller.uid"
"""The index by the uid of the controller; objects without a controller have the empty value."""


def controller_uid(obj: TypedObject) -> tuple[str]:
    """The index function of ``CONTROLLER``."""
    owner = controller_of(obj)
    return ("" if owner is None else owner.uid,)


def selector_of(owner: Any) -> LabelSelector | None:
    """Return the selector of a workload; ``None`` if it has none or an empty one.

    For the server an empty selector matches everything, which no workload ever means.

    Raises:
        SelectorError: The selector is invalid.
    """
    selector: SelectorModel | None = owner.spec.selector
    if selector is None:
        return None
    return LabelSelector.from_match(selector.to_dict()) or None


def is_being_deleted(obj: Any) -> bool:
    """Whether an object was deleted, and is kept by finalizers or a grace period."""
    return obj.metadata.deletion_timestamp is not None


class Claim(enum.Enum):
    """What an owner does about an object: nothing if it is somebody else's."""

    KEEP = enum.auto()
    ADOPT = enum.auto()
    RELEASE = enum.auto()
    IGNORE = enum.auto()


def claim_of(owner: TypedObject, obj: TypedObject, selector: LabelSelector) -> Claim:
    """Decide whether an object belongs to an owner, or should.

    The controller reference comes first: two workloads whose selectors overlap do not fight. An
    owner that is being deleted changes nothing.
    """
    is_leaving = is_being_deleted(owner)
    matches = selector.matches(obj.labels)
    controller = controller_of(obj)
    if controller is not None:
        if controller.uid != owner.uid:
            return Claim.IGNORE
        if matches:
            return Claim.KEEP
        return Claim.IGNORE if is_leaving else Claim.RELEASE
    if matches and not is_leaving and not is_being_deleted(obj):
        return Claim.ADOPT
    return Claim.IGNORE


def is_own(owner: TypedObject, obj: TypedObject, selector: LabelSelector) -> bool:
    """Whether an object belongs to an owner already."""
    return claim_of(owner, obj, selector) is Claim.KEEP


async def owned_or_orphaned(client: CachedClient, kind: type[M], owner: TypedObject) -> list[M]:
    """Return the objects of the namespace that an owner controls, and those without a controller.

    An open source of ``orphans`` has to watch the kind: it adds the index.
    """
    fields = {CONTROLLER: [owner.uid, ""]}
    return list(await client.list(kind, namespace=owner.namespace, fields=fields))


async def claim(
    client: CachedClient, owner: TypedObject, objects: Sequence[M], selector: LabelSelector
) -> list[M]:
    """Adopt and release objects, and return those that belong to the owner now.

    Before the first adoption, the owner is read from the server: the cache may not know yet that it
    was deleted, and that its objects were orphaned on purpose.

    Raises:
        ApiError: The server refuses a patch, such as because another owner was faster.
    """
    claimed: list[M] = []
    may_adopt: bool | None = None
    for obj in objects:
        verdict = claim_of(owner, obj, selector)
        if verdict is Claim.KEEP:
            claimed.append(obj)
        elif verdict is Claim.RELEASE:
            await _release(client, owner, obj)
        elif verdict is Claim.ADOPT:
            if may_adopt is None:
                may_adopt = await _still_exists(client, owner)
            if may_adopt and (adopted := await _adopt(client, owner, obj)) is not None:
                claimed.append(adopted)
    return claimed


async def _still_exists(client: CachedClient, owner: TypedObject) -> bool:
    try:
        fresh = await client.live.get(type(owner), owner.name, namespace=owner.namespace)
    except NotFoundError:
        return False
    return fresh.uid == owner.uid and not is_being_deleted(fresh)


async def _adopt(client: CachedClient, owner: TypedObject, obj: M) -> M | None:
    reference = {
        "apiVersion": owner.gvk.api_version,
        "kind": owner.gvk.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return await _patch_owners(client, obj, reference)


async def _release(client: CachedClient, owner: TypedObject, obj: TypedObject) -> None:
    try:
        await _patch_owners(client, obj, {"$patch": "delete", "uid": owner.uid})
    except InvalidError:
        return  # another object of this name


async def _patch_owners(client: CachedClient, obj: M, reference: dict[str, object]) -> M | None:
    # With the uid, the patch fails if the object was replaced by another one of its name.
    patch = {"metadata": {"uid": obj.uid, "ownerReferences": [reference]}}
    try:
        return await client.patch(
            type(obj), obj.name, patch, namespace=obj.namespace, type="strategic"
        )
    except NotFoundError:
        return None


class CacheWatch(Source[Request]):
    """A watch whose map function may read from the cache of the cluster.

    Args:
        kind: The kind to watch.
        map: Returns the requests for an object.
        when: Selects the events.
        index: Whether to index the kind by ``CONTROLLER``.
    """

    def __init__(
        self,
        kind: type[TypedObject],
        map: Callable[[Any, Cache], Iterable[Request]],
        *,
        when: Callable[[InformerEvent[Any]], bool],
        index: bool = False,
    ) -> None:
        self.name = f"{kind.__name__} by cache"
        self._kind = kind
        self._map = map
        self._when = when
        self._index = index

    def open(self, queue: WorkQueue[Request], cluster: Cluster) -> OpenSource:
        if self._index:
            cluster.cache.index_field(self._kind, CONTROLLER, controller_uid)

        def requests(obj: Any) -> Iterable[Request]:
            try:
                return list(self._map(obj, cluster.cache))
            except CacheError:
                return ()  # not complete yet: each owner is reconciled when it arrives

        watch = Watch[Request](self._kind, map=requests, when=self._when, name=self.name)
        return watch.open(queue, cluster)


def orphans(kind: type[TypedObject], owner: type[TypedObject]) -> Source[Request]:
    """Reconcile the owners whose selector matches an object without a controller."""

    def owners_for(obj: Any, cache: Cache) -> Iterable[Request]:
        if controller_of(obj) is not None or not obj.labels:
            return
        for each in cache.peek(owner).list(namespace=obj.namespace):
            selector = selector_of(each)
            if selector is not None and selector.matches(obj.labels):
                yield Request(each.namespace, each.name)

    return CacheWatch(kind, owners_for, when=_may_be_adopted, index=True)


def _may_be_adopted(event: InformerEvent[Any]) -> bool:
    """Whether an orphan is new, or its labels or its controller have changed."""
    new, old = event.object, event.old
    if event.deleted is not None or new is None or controller_of(new) is not None:
        return False
    return old is None or old.labels != new.labels or controller_of(old) is not None
