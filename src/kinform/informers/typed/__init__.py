"""Informers of typed objects."""

from __future__ import annotations

from kinform.informers._lease import ResourceInformer
from kinform.informers.typed._accessors import Group, ModelFactory, accessor
from kinform.informers.typed._factory import SharedInformerFactory
from kinform.informers.typed._generated_groups import Groups
from kinform.informers.typed._new_informer import namespaces_of, new_informer

__all__ = [
    "Group",
    "Groups",
    "ModelFactory",
    "ResourceInformer",
    "SharedInformerFactory",
    "accessor",
    "namespaces_of",
    "new_informer",
]
