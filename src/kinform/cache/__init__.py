"""The cache: reads any kind from memory, through informers that are created on first use."""

from __future__ import annotations

from kinform.cache._cache import Cache
from kinform.cache._client import CachedClient, OwnWritesMode
from kinform.cache._field_index import FieldQuery
from kinform.cache._namespace_follower import NamespaceSelector
from kinform.cache._options import CachedKindOptions, UndeclaredReads
from kinform.cache._preflight import MissingAccess, PreflightResult
from kinform.cache._reader import KindReader

__all__ = [
    "Cache",
    "CachedClient",
    "CachedKindOptions",
    "FieldQuery",
    "KindReader",
    "MissingAccess",
    "NamespaceSelector",
    "OwnWritesMode",
    "PreflightResult",
    "UndeclaredReads",
]
