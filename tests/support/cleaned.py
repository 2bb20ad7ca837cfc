"""Objects without what varies between two runs: times, uids, and the names of revisions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kinform.objects import Unstructured

_TIMES = {"lastTransitionTime", "lastUpdateTime", "lastProbeTime", "startTime", "lastHeartbeatTime"}
_IDENTITY = {
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "managedFields",
    "generateName",
    "generation",
    "namespace",
    "name",
}


def revision_names(revisions: Iterable[Unstructured]) -> dict[str, str]:
    """Return a name without a hash for each ControllerRevision."""
    return {
        each.name: f"{each.name.rpartition('-')[0]} {each.get_path('revision')}"
        for each in revisions
    }


class Cleaner:
    """Cleans objects.

    Args:
        names: What to say for an owner, by uid.
        revisions: What to say for a revision, by name.
    """

    def __init__(self, names: Mapping[str, str], revisions: Mapping[str, str]) -> None:
        self._names = names
        hashes = {name.rpartition("-")[2]: said for name, said in revisions.items()}
        self._said = {**revisions, **hashes}

    def __call__(self, obj: Unstructured) -> Any:
        found = obj.to_dict()
        metadata = found["metadata"]
        owners = [
            {**each, "uid": self._names.get(each["uid"], "gone")}
            for each in metadata.pop("ownerReferences", [])
        ]
        for field in _IDENTITY:
            metadata.pop(field, None)
        status = found.get("status", {})
        if "observedGeneration" in status:
            status["observedGeneration"] = status["observedGeneration"] == obj.generation
        return {"owners": self._cleaned(owners), **self._cleaned(found)}

    def _cleaned(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: self._cleaned(each) for key, each in sorted(value.items()) if key not in _TIMES
            }
        if isinstance(value, list):
            cleaned = [self._cleaned(each) for each in value]
            if cleaned and all(isinstance(each, dict) and "type" in each for each in cleaned):
                cleaned.sort(key=lambda each: str(each["type"]))
            return cleaned
        if isinstance(value, str):
            for name, said in self._said.items():
                value = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said, value)
        return value
