"""What wakes the controller of Jobs: Jobs, their pods, and pods that were left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from kinform.cache import Cache
from kinform.controller_manager.workloads._job_status import finished_condition, is_tracked
from kinform.controller_manager.workloads._ownership import (
    CONTROLLER,
    controller_uid,
    is_being_deleted,
    selector_of,
)
from kinform.controllers import Cluster, OpenSource, Request, Source, Watch, controller_of
from kinform.errors import CacheError, NotFoundError
from kinform.informers import InformerEvent
from kinform.models.batch.v1 import Job
from kinform.models.core.v1 import Pod
from kinform.objects import TypedObject
from kinform.workqueue import WorkQueue

_BATCH = 1.0


class TrackedPod(msgspec.Struct, frozen=True):
    """The key of a pod whose Job may be gone, so that nobody else removes its finalizer."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"pod {self.namespace}/{self.name}"


Key = Request | TrackedPod
"""What the controller of Jobs works on."""


class Batched(Source[Key]):
    """A watch whose keys wait for a moment, so that many changes cause one reconcile.

    Args:
        kind: The kind to watch.
        map: Returns the keys of an object; it may read from the cache.
        delay: The seconds to wait.
        when: Selects the events.
        index: Whether to index the kind by its controller.
    """

    def __init__(
        self,
        kind: type[TypedObject],
        map: Callable[[Any, Cache], Iterable[Key]],
        *,
        delay: float = 0.0,
        when: Callable[[InformerEvent[Any]], bool] = lambda event: True,
        index: bool = False,
    ) -> None:
        self.name = f"{kind.__name__} in batches" if delay else f"{kind.__name__} by cache"
        self._kind = kind
        self._map = map
        self._delay = delay
        self._when = when
        self._index = index

    def open(self, queue: WorkQueue[Key], cluster: Cluster) -> OpenSource:
        if self._index:
            cluster.cache.index_field(self._kind, CONTROLLER, controller_uid)

        def add(obj: Any) -> Iterable[Key]:
            try:
                for key in self._map(obj, cluster.cache):
                    queue.add(key, after=self._delay)
            except CacheError:
                pass  # not complete yet: each Job is reconciled when it arrives
            return ()

        watch = Watch[Key](self._kind, map=add, when=self._when, name=self.name)
        return watch.open(queue, cluster)


def job_of(pod: Pod) -> Request | None:
    """Return the Job that controls a pod."""
    owner = controller_of(pod)
    if owner is None or owner.kind != "Job" or owner.api_version != "batch/v1":
        return None
    return Request(pod.namespace, owner.name)


def is_urgent(event: InformerEvent[Job]) -> bool:
    """Whether a Job is new, gone, or has a new spec."""
    new, old = event.object, event.old
    return new is None or old is None or new.generation != old.generation


def is_over(event: InformerEvent[Job]) -> bool:
    new = event.object
    return event.deleted is not None or (new is not None and finished_condition(new) is not None)


def itself(job: Job, cache: Cache) -> Iterable[Key]:
    yield Request(job.namespace, job.name)


def jobs_of_pod(pod: Pod, cache: Cache) -> Iterable[Key]:
    """Return the Job of a pod, or those that may adopt it."""
    request = job_of(pod)
    if request is not None:
        yield request
    elif controller_of(pod) is None and pod.labels:
        for job in cache.peek(Job).list(namespace=pod.namespace):
            selector = selector_of(job)
            if selector is not None and selector.matches(pod.labels):
                yield Request(job.namespace, job.name)


def orphan(pod: Pod, cache: Cache) -> Iterable[Key]:
    """Return a pod that nobody will count."""
    if not is_tracked(pod):
        return
    request = job_of(pod)
    if request is None:
        is_left = controller_of(pod) is None
    else:
        is_left = is_being_deleted(pod) and not _goes_on(request, cache)
    if is_left:
        yield TrackedPod(pod.namespace, pod.name)


def _goes_on(request: Request, cache: Cache) -> bool:
    try:
        job = cache.peek(Job).get(request.name, namespace=request.namespace)
    except NotFoundError:
        return False
    return finished_condition(job) is None


def pods_left_by(job: Job, cache: Cache) -> Iterable[Key]:
    """Return the pods of a Job that is gone or over."""
    for pod in cache.peek(Pod).list(namespace=job.namespace, fields={CONTROLLER: job.uid}):
        if is_tracked(pod):
            yield TrackedPod(pod.namespace, pod.name)


def sources() -> list[Source[Key]]:
    """Return the sources of the controller."""
    return [
        Watch[Key](Job, when=is_urgent),
        Batched(Job, itself, delay=_BATCH, when=lambda event: not is_urgent(event)),
        Batched(Pod, jobs_of_pod, delay=_BATCH, index=True),
        Batched(Pod, orphan),
        Batched(Job, pods_left_by, when=is_over),
    ]
