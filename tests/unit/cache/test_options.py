"""Options of kinds: precedence and errors."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.api import GVK, GVR
from kinform.cache import CachedKindOptions
from kinform.cache._options import KindTable
from kinform.errors import ConfigError, InvalidNameError
from kinform.informers import KindOptions
from kinform.models.core.v1 import ConfigMap, Pod

MAPS = GVR("", "v1", "configmaps")
PODS = GVR("", "v1", "pods")
SECRETS = GVR("", "v1", "secrets")


def table(by_kind: Any) -> KindTable:
    return KindTable(by_kind, undeclared_reads="live", idle_timeout=10.0, soft_memory_limit=1_000)


def test_options_of_a_kind_go_before_those_of_the_cache() -> None:
    options = table(
        {
            ConfigMap: CachedKindOptions[Any](
                undeclared_reads="error", idle_timeout=None, fallback_namespaces=["a"]
            ),
            "v1/pods": KindOptions[Any](labels="app=web"),
        }
    )
    assert options.undeclared_reads(MAPS) == "error"
    assert options.idle_timeout(MAPS) is None
    assert options.soft_memory_limit(MAPS) == 1_000
    assert options.fallback_namespaces(MAPS) == ["a"]
    assert options.undeclared_reads(PODS) == "create"  # its options declare it
    assert options.undeclared_reads(SECRETS) == "live"
    for kind in (PODS, SECRETS):
        assert options.idle_timeout(kind) == 10.0
        assert options.soft_memory_limit(kind) == 1_000
        assert options.fallback_namespaces(kind) == ()
    assert MAPS in options
    assert PODS in options
    assert SECRETS not in options


def test_kinds_are_named_by_class_text_resource_and_gvk() -> None:
    """19: all of them name the same entry."""
    names = (Pod, "v1/pods", PODS, GVK("", "v1", "Pod"))
    for name in names:
        assert PODS in table({name: KindOptions[Any]()})
    for name in names[1:]:
        with pytest.raises(ConfigError, match="two entries for v1/pods"):
            table({Pod: KindOptions[Any](), name: KindOptions[Any]()})
    with pytest.raises(InvalidNameError, match="pass its GVR"):
        table({GVK("example.com", "v1", "Gadget"): KindOptions[Any]()})


def test_informers_receive_only_their_options() -> None:
    given = CachedKindOptions[Any](labels="app=web", idle_timeout=1.0)
    found = table({ConfigMap: given}).of_informers()
    assert found == {MAPS: KindOptions(labels="app=web")}
    assert type(found[MAPS]) is KindOptions


@pytest.mark.parametrize(
    ("by_kind", "message"),
    [
        ({ConfigMap: KindOptions[Any](), "v1/configmaps": KindOptions[Any]()}, "two entries for"),
        ({Pod: {"labels": "a=b"}}, r"by_kind\[v1/pods\]"),
        ([Pod], "by_kind="),
    ],
)
def test_invalid_tables(by_kind: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        table(by_kind)


@pytest.mark.parametrize(
    "options",
    [
        {"undeclared_reads": "sometimes"},
        {"idle_timeout": 0},
        {"idle_timeout": "long"},
        {"soft_memory_limit": -1},
        {"soft_memory_limit": True},
    ],
)
def test_invalid_options(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(ConfigError, match=name):
        CachedKindOptions[Any](**options)
