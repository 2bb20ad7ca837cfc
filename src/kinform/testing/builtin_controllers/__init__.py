"""What a cluster does by itself after a write: CRDs are served, deleted namespaces are emptied."""

from __future__ import annotations

from kinform.testing.builtin_controllers._definitions import DefinitionController
from kinform.testing.builtin_controllers._namespaces import NamespaceController

__all__ = [
    "DefinitionController",
    "NamespaceController",
]
