"""Kinds, names, selectors and options, shared by all other packages. No I/O."""

from __future__ import annotations

from kinform.api._field_selectors import FieldRequirement, FieldSelector
from kinform.api._label_selectors import LabelSelector, Operator, Requirement
from kinform.api._names import (
    GVK,
    GVR,
    Named,
    ObjectName,
    join_api_version,
    namespace_key,
    split_api_version,
    split_namespace_key,
)
from kinform.api._options import ListOptions, ResourceVersionMatch
from kinform.api._resource_versions import compare_resource_versions, is_comparable, is_older
from kinform.api._resources import ApiResource

__all__ = [
    "GVK",
    "GVR",
    "ApiResource",
    "FieldRequirement",
    "FieldSelector",
    "LabelSelector",
    "ListOptions",
    "Named",
    "ObjectName",
    "Operator",
    "Requirement",
    "ResourceVersionMatch",
    "compare_resource_versions",
    "is_comparable",
    "is_older",
    "join_api_version",
    "namespace_key",
    "split_api_version",
    "split_namespace_key",
]
