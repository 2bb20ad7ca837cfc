"""The keyword arguments of each verb, shared by typed and untyped, async and blocking verbs.

They are documented at the verbs: ``Verbs`` for reading, ``Client`` for writing.
"""

from __future__ import annotations

from typing import Required, TypedDict

from kinform.api import ResourceVersionMatch
from kinform.client._arguments import Fields, Labels, PatchType, Propagation
from kinform.client._resources import ResourceOrModel


class GetKeywords(TypedDict, total=False):
    """The options of ``get``."""

    namespace: str | None
    subresource: str
    resource_version: str


class ListKeywords(TypedDict, total=False):
    """The options of ``list``."""

    namespace: str | None
    labels: Labels
    fields: Fields
    resource_version: str
    resource_version_match: ResourceVersionMatch
    limit: int | None
    continue_token: str


class PageKeywords(TypedDict, total=False):
    """The options of ``page``."""

    namespace: str | None
    retry: bool


class WatchKeywords(TypedDict, total=False):
    """The options of ``watch``."""

    namespace: str | None
    labels: Labels
    fields: Fields
    resource_version: str
    bookmarks: bool
    timeout_seconds: int | None
    retry: bool


class PatchKeywords(TypedDict, total=False):
    """The options of ``patch``."""

    type: PatchType
    namespace: str | None
    subresource: str
    field_manager: str
    field_validation: str
    force: bool | None
    dry_run: bool


class DeleteKeywords(TypedDict, total=False):
    """The options of ``delete``."""

    namespace: str | None
    grace_period: int | None
    propagation: Propagation | None
    uid: str
    resource_version: str
    dry_run: bool


class DeleteCollectionKeywords(TypedDict, total=False):
    """The options of ``delete_collection``."""

    namespace: str | None
    labels: Labels
    fields: Fields
    grace_period: int | None
    propagation: Propagation | None
    dry_run: bool


class _Sent(TypedDict, total=False):
    resource: ResourceOrModel | None
    namespace: str | None
    name: str | None
    subresource: str
    field_validation: str
    dry_run: bool


class WriteKeywords(_Sent, total=False):
    """The options of ``create`` and ``update``."""

    field_manager: str


class ApplyKeywords(_Sent, total=False):
    """The options of ``apply``."""

    field_manager: Required[str]
    force: bool
