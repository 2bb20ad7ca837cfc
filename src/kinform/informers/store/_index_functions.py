"""Index functions for common cases: namespace, owner, label and field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from kinform._checks import expect
from kinform.objects import Handle, Head, Path, Record, Unstructured

T = TypeVar("T")

IndexFunc = Callable[[T], Iterable[str] | None]
"""Returns the index values of an object; may return none.

A single string is one value. The result must depend on the object only.
"""

Indexers = Mapping[str, IndexFunc[T]]
"""Index functions by index name."""

NAMESPACE_INDEX = "namespace"
"""The name of the index by namespace."""


class HeadIndex:
    """An index function that reads the head of a record only, so no handle is created for it.

    Args:
        of_head: Returns the values for a head.
        of_object: Returns the values for an object without a record. Defaults to ``of_head``,
            which then must use only attributes that such an object has.
        of_record: Returns the values for a record, if there is a faster way than ``of_head``.

    Attributes:
        of_record: The same function, or one over ``of_head``.
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


# Every store has this index and every event calls it, so two calls less are measurable.
namespace_index = HeadIndex(lambda head: (head.namespace,), of_record=attrgetter("head.namespace"))
"""Indexes by namespace; cluster-scoped objects have the empty namespace."""

owner_index = HeadIndex(
    lambda head: head.owner_uids,
    lambda obj: [owner.get("uid", "") for owner in obj.get_path("metadata.ownerReferences") or ()],
)
"""Indexes by the uids of all owners."""


class LabelIndex(HeadIndex):
    """Indexes by the value of one label. Listers use it for selectors on this label."""

    def __init__(self, label: str) -> None:
        super().__init__(lambda head: (head.labels[label],) if label in head.labels else ())
        self.label = label


def label_index(label: str) -> LabelIndex:
    """Return an index function for the value of a label. Objects without it are not indexed.

    Raises:
        ConfigError: ``label`` is not a str.
    """
    expect(label, str, receiver="label_index", expected="a label such as 'app'")
    return LabelIndex(label)


def field_index(path: Path) -> IndexFunc[Handle]:
    """Return an index function for a field such as ``"spec.nodeName"``.

    The value is a scalar, or a list of which each element is indexed. The part of the object
    that contains the path is decoded once per version.

    Raises:
        ConfigError: ``path`` is neither a str nor a sequence.
        InvalidNameError: ``path`` is empty or has an empty step.
    """
    expect(path, Sequence, receiver="field_index", expected="a path such as 'spec.nodeName'")
    Unstructured().get_path(path)

    def values(obj: Handle) -> list[str]:
        found = obj.get_path(path)
        each = found if isinstance(found, list) else [found]
        return [_scalar(path, value) for value in each if value is not None]

    return values


def _scalar(path: Path, value: object) -> str:
    """Return the JSON text of a scalar, without quotes for a string."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise TypeError(f"{path!r} is a {type(value).__name__}, which cannot be an index value")
