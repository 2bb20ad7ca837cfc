"""What the server does with a request, one module per verb.

``VerbHandlers`` handles HTTP requests. The functions (``create_object``, ...) do the work, also
for callers in the same process and for the built-in controllers.
"""

from __future__ import annotations

from kinform.testing.verbs._create import create_object, restore_object
from kinform.testing.verbs._delete import delete_object
from kinform.testing.verbs._handlers import Caller, VerbHandlers, VerbSettings
from kinform.testing.verbs._patch import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, patch_object
from kinform.testing.verbs._selection import Selection
from kinform.testing.verbs._subresources import set_namespace_finalizers
from kinform.testing.verbs._update import replace_object
from kinform.testing.verbs._watch import WatchSettings
from kinform.testing.verbs._writes import find_object, remove_object, store_object

__all__ = [
    "JSON_PATCH",
    "MERGE_PATCH",
    "STRATEGIC_PATCH",
    "Caller",
    "Selection",
    "VerbHandlers",
    "VerbSettings",
    "WatchSettings",
    "create_object",
    "delete_object",
    "find_object",
    "patch_object",
    "remove_object",
    "replace_object",
    "restore_object",
    "set_namespace_finalizers",
    "store_object",
]
