"""A kubelet for pods that end: by their image, they succeed or fail."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from kinform.errors import KinformError
from kinform.models.core.v1 import Pod
from tests.support.simulated_kubelet import SimulatedKubelet

DONE = "done"
"""The image of containers that succeed."""
FAIL = "fail"
"""The image of containers that fail; the tag is the exit code, such as in ``fail:3``."""
FIRST_FAILS = "first-fails"
"""The image of containers that succeed, except for those of index 0."""

_INDEX = "batch.kubernetes.io/job-completion-index"


class JobKubelet(SimulatedKubelet):
    """Ends the pods that another kubelet has made run, as their images want it."""

    def _attend(self, pod: Pod) -> None:
        if pod.metadata.deletion_timestamp is None and pod.status.phase == "Running":
            code = exit_code(pod)
            if code is not None:
                self._start(self._end(pod, code))

    async def _end(self, pod: Pod, code: int) -> None:
        patch = {"status": ended_status(pod, code)}
        with suppress(KinformError):  # gone meanwhile
            await self._client.patch(
                Pod, pod.name, patch, namespace=pod.namespace, subresource="status"
            )


def exit_code(pod: Pod) -> int | None:
    """Return the exit code of the container of a pod; ``None`` if it runs for ever."""
    image, _, tag = (pod.spec.containers[0].image or "").partition(":")
    if image == FIRST_FAILS:
        return int(pod.metadata.annotations.get(_INDEX) == "0")
    if image == FAIL:
        return int(tag or "1")
    return 0 if image == DONE else None


def ended_status(pod: Pod, code: int) -> dict[str, Any]:
    """Return the status of a pod whose container has ended."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    types = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    reason = "PodCompleted" if code == 0 else "PodFailed"
    terminated = {"exitCode": code, "startedAt": now, "finishedAt": now}
    container = pod.spec.containers[0]
    return {
        "phase": "Failed" if code else "Succeeded",
        "conditions": [
            {
                "type": each,
                "status": "False" if "Ready" in each else "True",
                "lastTransitionTime": now,
                **({"reason": reason} if "Ready" in each else {}),
            }
            for each in types
        ],
        "containerStatuses": [
            {
                "name": container.name,
                "image": container.image,
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {"terminated": terminated},
            }
        ],
    }
