"""The resources that the server serves: built-in ones from a generated table, and custom ones.

The facts by which resources differ are here, too: traits and selectable fields.
"""

from __future__ import annotations

from kinform.testing.resources._generated_resources import KUBERNETES_VERSION
from kinform.testing.resources._registry import (
    ResourceRegistry,
    ScalePaths,
    ServedResource,
    StoredKind,
    Subresource,
)
from kinform.testing.resources._selectable_fields import (
    FIELD_ALIASES,
    FieldReader,
    SelectableField,
    matches_fields,
    unsupported_field,
)
from kinform.testing.resources._traits import ResourceTraits

__all__ = [
    "FIELD_ALIASES",
    "KUBERNETES_VERSION",
    "FieldReader",
    "ResourceRegistry",
    "ResourceTraits",
    "ScalePaths",
    "SelectableField",
    "ServedResource",
    "StoredKind",
    "Subresource",
    "matches_fields",
    "unsupported_field",
]
