"""Helpers for reconcilers: owners, finalizers, conditions, create-or-update, waiting."""

from __future__ import annotations

from kinform.controllers.helpers._conditions import (
    ConditionStatus,
    find_condition,
    is_condition_false,
    is_condition_true,
    remove_condition,
    set_condition,
)
from kinform.controllers.helpers._create_or_update import create_or_patch, create_or_update
from kinform.controllers.helpers._finalizers import add_finalizer, has_finalizer, remove_finalizer
from kinform.controllers.helpers._object_change import (
    ObjectChange,
    OperationResult,
    ReaderWriter,
    check_mutate,
)
from kinform.controllers.helpers._objects import AnyObject, EditableObject
from kinform.controllers.helpers._owners import (
    controller_of,
    has_owner_reference,
    is_controlled_by,
    owners_of,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)
from kinform.controllers.helpers._resuming_watch import ResumingWatch, resuming_watch
from kinform.controllers.helpers._retry import retry_delays, retry_on_conflict
from kinform.controllers.helpers._waiting import wait_until, wait_until_gone

__all__ = [
    "AnyObject",
    "ConditionStatus",
    "EditableObject",
    "ObjectChange",
    "OperationResult",
    "ReaderWriter",
    "ResumingWatch",
    "add_finalizer",
    "check_mutate",
    "controller_of",
    "create_or_patch",
    "create_or_update",
    "find_condition",
    "has_finalizer",
    "has_owner_reference",
    "is_condition_false",
    "is_condition_true",
    "is_controlled_by",
    "owners_of",
    "remove_condition",
    "remove_finalizer",
    "remove_owner_reference",
    "resuming_watch",
    "retry_delays",
    "retry_on_conflict",
    "set_condition",
    "set_controller_reference",
    "set_owner_reference",
    "wait_until",
    "wait_until_gone",
]
