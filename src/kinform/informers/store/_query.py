"""Queries: select stored Kubernetes objects by namespace, labels and indexed fields."""

from __future__ import annotations

from collections.abc import Sequence

from kinform.api import LabelSelector, Operator
from kinform.informers.store._index_functions import NAMESPACE_INDEX, LabelIndex, namespace_index
from kinform.informers.store._table import IndexCondition, Table
from kinform.objects import Record

_ONE_OF = frozenset({Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN})


def select_records(
    table: Table,
    *,
    namespace: str = "",
    labels: LabelSelector | None = None,
    conditions: Sequence[IndexCondition] = (),
    limit: int | None = None,
) -> tuple[list[Record], str]:
    """Return the matching records ordered by key, and the version of the table they are of.

    Indices by namespace and by label are used if the table has them; other label conditions are
    checked for each candidate.

    Raises:
        UnknownIndexError: An index of ``conditions`` does not exist.
    """
    conditions = list(conditions)
    requirements = () if labels is None else labels.requirements
    indices = table.indices
    is_filtered = False
    if namespace:
        index = indices.get(NAMESPACE_INDEX)
        if index is not None and index.function is namespace_index:
            conditions.append(IndexCondition(NAMESPACE_INDEX, frozenset((namespace,))))
        else:
            is_filtered = True
    if requirements:
        by_label = {
            index.function.label: name
            for name, index in indices.items()
            if isinstance(index.function, LabelIndex)
        }
        for requirement in requirements:
            name = by_label.get(requirement.key)
            if name is not None and requirement.operator in _ONE_OF:
                conditions.append(IndexCondition(name, requirement.values))
    found, version = table.select(conditions)
    keys = sorted(found)
    if not requirements and not is_filtered:
        return [found[key] for key in keys[:limit]], version
    records: list[Record] = []
    for key in keys:
        record = found[key]
        if is_filtered and record.head.namespace != namespace:
            continue
        if labels is None or labels.matches(record.head.labels):
            records.append(record)
            if len(records) == limit:
                break
    return records, version
