"""Suggests similar names for a resource or kind that does not exist."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kinform.api import GVK, GVR, ApiResource

_LIMIT = 3


def suggest_resource(wanted: GVR, known: Collection[ApiResource]) -> str:
    """Return the end of an error message about a missing resource."""
    word = wanted.resource
    matches = [resource for resource in known if word in _names(resource)]
    by_name = _group((resource.gvr.resource, str(resource.gvr)) for resource in known)
    return _suggestion(word, [str(resource.gvr) for resource in matches], by_name, str(wanted))


def suggest_kind(wanted: GVK, known: Collection[ApiResource]) -> str:
    """Return the end of an error message about a missing kind."""
    word = wanted.kind.lower()
    matches = [resource for resource in known if word in _names(resource)]
    by_name = _group((resource.kind, str(resource.gvk)) for resource in known)
    return _suggestion(
        wanted.kind, [str(resource.gvk) for resource in matches], by_name, str(wanted)
    )


def _names(resource: ApiResource) -> tuple[str, ...]:
    """Return all names of a resource, independent of its group and version."""
    return (
        resource.gvr.resource,
        resource.singular,
        resource.kind.lower(),
        *resource.short_names,
    )


def _group(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for word, text in pairs:
        grouped.setdefault(word, []).append(text)
    return grouped


def _suggestion(
    word: str, matches: list[str], by_name: Mapping[str, list[str]], wanted: str
) -> str:
    import difflib

    if not matches:
        close = difflib.get_close_matches(word, by_name, n=_LIMIT)
        matches = [text for match in close for text in by_name[match]]
    if not matches:
        texts = [text for texts in by_name.values() for text in texts]
        matches = difflib.get_close_matches(wanted, texts, n=_LIMIT)
    if not matches:
        return f"; is the CRD installed, and is {word!r} spelled correctly?"
    return f"; did you mean {' or '.join(matches[:_LIMIT])}?"
