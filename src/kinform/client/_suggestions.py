"""Suggests similar names for a resource or kind that does not exist."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kinform.api import GVK, GVR, ApiResource

_MOST = 3


def suggest_resource(wanted: GVR, known: Collection[ApiResource]) -> str:
    """Return the end of an error message about a missing resource."""
    word = wanted.resource
    meant = [resource for resource in known if word in _names(resource)]
    by_word = _group((resource.gvr.resource, str(resource.gvr)) for resource in known)
    return _question(word, [str(resource.gvr) for resource in meant], by_word, str(wanted))


def suggest_kind(wanted: GVK, known: Collection[ApiResource]) -> str:
    """Return the end of an error message about a missing kind."""
    word = wanted.kind.lower()
    meant = [resource for resource in known if word in _names(resource)]
    by_word = _group((resource.kind, str(resource.gvk)) for resource in known)
    return _question(wanted.kind, [str(resource.gvk) for resource in meant], by_word, str(wanted))


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


def _question(word: str, meant: list[str], by_word: Mapping[str, list[str]], wanted: str) -> str:
    import difflib

    if not meant:
        close = difflib.get_close_matches(word, by_word, n=_MOST)
        meant = [text for match in close for text in by_word[match]]
    if not meant:
        texts = [text for texts in by_word.values() for text in texts]
        meant = difflib.get_close_matches(wanted, texts, n=_MOST)
    if not meant:
        return f"; is its CRD installed, and is {word!r} spelt as the server spells it?"
    return f"; did you mean {' or '.join(meant[:_MOST])}?"
