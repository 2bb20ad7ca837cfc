"""An object in, the values it is found under out: the index functions that everybody needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, TypeVar

from kinform.objects import Handle, Head, Path, Record, Unstructured

T = TypeVar("T")

IndexFunc = Callable[[T], Iterable[str] | None]
"""The values that an object is found under; none at all is fine.

A single string is one value, not its letters. It must tell the same of the same object.
"""

Indexers = Mapping[str, IndexFunc[T]]
"""Index functions by the name of their index."""

NAMESPACE_INDEX = "namespace"
"""What the index by namespace is called everywhere."""


class HeadIndex:
    """An index function that needs the head alone: a store makes no handle to call it.

    Args:
        of_head: The values, from a head.
        of_object: The values, from an object that is not a view of a record; if it is left out,
            ``of_head`` uses nothing that such an object has not as well.
        of_record: The values, from a record, if there is a shorter way to them.
    """

    def __init__(
        self,
        of_head: Callable[[Head], Iterable[str]],
        of_object: Callable[[Any], Iterable[str]] | None = None,
        of_record: Callable[[Record], Iterable[str]] | None = None,
    ) -> None:
        self._of_head = of_head
        self.of_record: Callable[[Record], Iterable[str]] = of_record or (
            lambda record: of_head(record.head)
        )
        self._of_object: Callable[[Any], Iterable[str]] = of_object or of_head

    def __call__(self, obj: Any) -> Iterable[str]:
        record = obj.record if isinstance(obj, Handle) else None
        return self._of_object(obj) if record is None else self._of_head(record.head)


# Every store has it, and it is asked of every event: then two calls are worth saving.
namespace_index = HeadIndex(lambda head: (head.namespace,), of_record=attrgetter("head.namespace"))
"""By namespace; cluster-scoped objects are under the empty one."""

owner_index = HeadIndex(
    lambda head: head.owner_uids,
    lambda obj: [owner.get("uid", "") for owner in obj.get_path("metadata.ownerReferences") or ()],
)
"""By the uids of all owners."""


class LabelIndex(HeadIndex):
    """By the value of one label. Listers use it for selectors that name the label."""

    def __init__(self, label: str) -> None:
        super().__init__(lambda head: (head.labels[label],) if label in head.labels else ())
        self.label = label


def label_index(label: str) -> LabelIndex:
    """By the value of a label; objects without it are not in the index."""
    return LabelIndex(label)


def field_index(path: Path) -> IndexFunc[Handle]:
    """By what is at a path, such as ``"spec.nodeName"``: a value, or each value of a list.

    It decodes the part that the path is in, once for each version of an object.

    Raises:
        InvalidNameError: That is no path.
    """
    Unstructured().get_path(path)

    def values(obj: Handle) -> list[str]:
        found = obj.get_path(path)
        each = found if isinstance(found, list) else [found]
        return [_scalar(path, value) for value in each if value is not None]

    return values


def _scalar(path: Path, value: object) -> str:
    """As it stands in JSON, but a string without its quotes."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise TypeError(f"{path!r} leads to a {type(value).__name__}, which is no value to index by")
