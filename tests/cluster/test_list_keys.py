"""18.2: the keys of lists that kinform knows are those that a real server declares."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kinform.objects._list_keys import identities
from tests.support.cluster import RealCluster

pytestmark = pytest.mark.cluster

Key = tuple[str, ...]


def keyed_lists(schemas: dict[str, Any]) -> Iterator[tuple[str, Key, set[str]]]:
    """The name of each list with a key, the key, and the fields of its elements."""
    for schema in schemas.values():
        for field, declared in schema.get("properties", {}).items():
            key = declared.get("x-kubernetes-list-map-keys") or [
                declared.get("x-kubernetes-patch-merge-key")
            ]
            reference = declared.get("items", {}).get("$ref")
            if all(key) and reference is not None:
                element = schemas[reference.removeprefix("#/definitions/")]
                yield field, tuple(key), set(element["properties"])


def test_elements_are_identified_by_the_keys_of_the_server(real_cluster: RealCluster) -> None:
    """18.2: ``x-kubernetes-list-map-keys``, else ``x-kubernetes-patch-merge-key``."""
    schemas = json.loads(real_cluster.kubectl("get", "--raw", "/openapi/v2"))["definitions"]
    found = sorted({(field, key, frozenset(each)) for field, key, each in keyed_lists(schemas)})
    assert len(found) > 30
    for field, key, fields in found:
        element = dict.fromkeys(fields, "a")
        edited = {**element, **dict.fromkeys(fields - {*key}, "b")}
        others = [{**element, name: "b"} for name in key]
        given = identities(field, [element], [edited], *([each] for each in others))
        assert given is not None, (field, key)
        first, same, *different = given
        assert first == same, (field, key)
        assert all(first != each for each in different), (field, key)
