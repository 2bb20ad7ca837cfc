"""The indexes of an Indexed Job: as a set here, as text such as ``0,2-5`` in the status."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import islice

from kinform.controller_manager.workloads._pods import pod_from_template
from kinform.models.batch.v1 import Job
from kinform.models.core.v1 import (
    Container,
    EnvVar,
    EnvVarSource,
    ObjectFieldSelector,
    Pod,
)

INDEX = "batch.kubernetes.io/job-completion-index"
"""The annotation and the label of a pod with its index."""
FAILURES = "batch.kubernetes.io/job-index-failure-count"
"""The annotation of a pod with the number of failed pods of its index before it."""
IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"
"""The same for failures that do not count."""

_VARIABLE = "JOB_COMPLETION_INDEX"
# The longest prefix that leaves room for the five characters that the server appends.
_LONGEST_PREFIX = 63 - 5


def is_indexed(job: Job) -> bool:
    """Whether each completion of a Job has an index."""
    return job.spec.completion_mode == "Indexed"


def parse_indexes(text: str, completions: int) -> set[int]:
    """Return the indexes in a text that are less than the completions; broken parts are skipped."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        try:
            found.update(range(int(first), min(int(last or first) + 1, completions)))
        except ValueError:
            continue
    return found


def format_indexes(indexes: Iterable[int]) -> str:
    """Return the text of indexes: three and more in a row as a range."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][-1] == index - 1:
            runs[-1][1:] = [index]
        else:
            runs.append([index])
    return ",".join(
        f"{run[0]}-{run[-1]}" if run[-1] - run[0] > 1 else ",".join(map(str, run)) for run in runs
    )


def index_of(pod: Pod, completions: int) -> int | None:
    """Return the index of a pod; ``None`` if it has none, or one that is out of range."""
    text = pod.metadata.annotations.get(INDEX, "")
    if not text.isdecimal():
        return None
    return index if (index := int(text)) < completions else None


def indexes_of(pods: Iterable[Pod], completions: int) -> set[int]:
    """Return the indexes of pods."""
    found = (index_of(pod, completions) for pod in pods)
    return {index for index in found if index is not None}


def first_pending(count: int, completions: int, taken: Collection[int]) -> list[int]:
    """Return the lowest indexes that are not taken, at most so many."""
    return list(islice((each for each in range(completions) if each not in taken), count))


def duplicates(ranked: Sequence[Pod], completions: int) -> list[Pod]:
    """Return the pods that an Indexed Job has no use for.

    Args:
        ranked: The active pods; of several with the same index, the last one stays.
        completions: The number of indexes.
    """
    last = {index_of(pod, completions): pod.uid for pod in ranked}
    return [
        pod
        for pod in ranked
        if (index := index_of(pod, completions)) is None or last[index] != pod.uid
    ]


def count_in(pod: Pod, annotation: str) -> int:
    """Return the number in an annotation; 0 if there is none, or not a number."""
    text = pod.metadata.annotations.get(annotation, "")
    return number if text.isdecimal() and (number := int(text)) < 2**31 else 0


def indexed_pod(job: Job, index: int, failures: tuple[int, int] | None) -> Pod:
    """Return the new pod of an index.

    Args:
        job: The Job.
        index: The index.
        failures: How many pods of the index have failed, and how many failures did not count; for a
            Job that limits them per index.
    """
    pod = pod_from_template(job.spec.template, job)
    end = f"-{index}-"
    pod.metadata.generate_name = job.name[: _LONGEST_PREFIX - len(end)] + end
    pod.metadata.labels[INDEX] = str(index)
    pod.metadata.annotations[INDEX] = str(index)
    pod.spec.hostname = f"{job.name}-{index}"
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        _add_variable(container)
    if failures is not None:
        counted, ignored = failures
        pod.metadata.annotations[FAILURES] = str(counted)
        if ignored:
            pod.metadata.annotations[IGNORED_FAILURES] = str(ignored)
    return pod


def _add_variable(container: Container) -> None:
    if any(each.name == _VARIABLE for each in container.env):
        return
    field = ObjectFieldSelector(field_path=f"metadata.labels['{INDEX}']")
    variable = EnvVar(name=_VARIABLE, value_from=EnvVarSource(field_ref=field))
    container.env = [*container.env, variable]
