"""Options of namespaces, of a kind and of a factory: which one applies, and what it covers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kinform import (
    ALL_NAMESPACES,
    Client,
    DynamicSharedInformerFactory,
    KindOptions,
    NamespaceOptions,
    Selectors,
    SharedInformerFactory,
)
from kinform.errors import CacheError, ConfigError, NoMatchError, SelectorError
from kinform.informers import Scope, strip_metadata
from kinform.informers._coverage import coverage_of
from kinform.models.core.v1 import ConfigMap, Node
from kinform.objects import Unstructured
from kinform.testing import ApiServer
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK

WEB, DB, RED = (Selectors(labels=each) for each in ("app=web", "app=db", "color=red"))
FROM_NAMESPACE, FROM_KIND, FROM_DEFAULT_NAMESPACE, FROM_DEFAULTS = (
    f"from={each}" for each in ("namespace", "kind", "default-namespace", "defaults")
)


def by_namespace(options: Any) -> dict[str, NamespaceOptions[Any]]:
    return {"default": options}


def mark(obj: Unstructured) -> None:
    obj["data"] = {"marked": "yes"}


def mark_more(obj: Unstructured) -> None:
    obj["data"] = {"marked": "more"}


@pytest.mark.parametrize("option", ["labels", "fields"])
@pytest.mark.parametrize(
    ("own", "kind", "default", "general", "expected"),
    [
        (FROM_NAMESPACE, FROM_KIND, FROM_DEFAULT_NAMESPACE, FROM_DEFAULTS, FROM_NAMESPACE),
        (None, FROM_KIND, FROM_DEFAULT_NAMESPACE, FROM_DEFAULTS, FROM_KIND),
        (None, None, FROM_DEFAULT_NAMESPACE, FROM_DEFAULTS, FROM_DEFAULT_NAMESPACE),
        (None, None, None, FROM_DEFAULTS, FROM_DEFAULTS),
        (None, None, None, None, ""),
        # Explicitly everything is not the same as unset.
        ("", FROM_KIND, FROM_DEFAULT_NAMESPACE, FROM_DEFAULTS, ""),
        (None, "", FROM_DEFAULT_NAMESPACE, FROM_DEFAULTS, ""),
        (None, None, "", FROM_DEFAULTS, ""),
        (FROM_NAMESPACE, None, None, FROM_DEFAULTS, FROM_NAMESPACE),
    ],
)
def test_selector_of_the_most_specific_options_applies(
    option: str, own: str, kind: str, default: str, general: str, expected: str
) -> None:
    """19.3, CR 23 (TestDefaultOpts): namespace, kind, default namespace, defaults."""

    def given(value: str | None) -> dict[str, Any]:
        return {} if value is None else {option: value}

    found = coverage_of(
        KindOptions(namespace=by_namespace(NamespaceOptions(**given(own))), **given(kind)),
        KindOptions(namespace=by_namespace(NamespaceOptions(**given(default))), **given(general)),
    )
    assert found.scope == Scope.of({"default": Selectors(**{option: expected})})


def test_each_option_is_inherited_by_itself() -> None:
    """19.3, CR 23 (TestDefaultConfigConsidersAllFields): every field is independent."""
    found = coverage_of(
        KindOptions(namespace=by_namespace(NamespaceOptions(fields="a=1")), transform=mark),
        KindOptions(namespace=by_namespace(NamespaceOptions(labels="app=web", transform=None))),
    )
    assert found.scope == Scope.of({"default": Selectors("app=web", "a=1")})
    assert found.transform is mark


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [
        (None, {"default": WEB}),
        (ALL_NAMESPACES, {"": Selectors()}),
        ({}, {}),
        ("other", {"other": Selectors()}),
        (["other", "default"], {"default": WEB, "other": Selectors()}),
        ({"other": NamespaceOptions(labels="app=db")}, {"other": DB}),
    ],
)
def test_namespaces_of_a_kind_replace_the_default_ones(
    namespace: Any, expected: dict[str, Selectors]
) -> None:
    """19.3, CR 23: only a kind without namespaces has the default ones; ``""`` is all of them."""
    defaults: KindOptions[Any] = KindOptions(
        namespace=by_namespace(NamespaceOptions(labels="app=web"))
    )
    found = coverage_of(KindOptions(namespace=namespace), defaults)
    assert found.scope == Scope.of(expected)


def test_options_of_the_kind_apply_to_default_namespaces() -> None:
    """19.3, CR 23: the kind comes before the default options of a namespace."""
    found = coverage_of(
        KindOptions(labels="app=db"),
        KindOptions(namespace={"a": NamespaceOptions(labels="app=web"), "b": NamespaceOptions()}),
    )
    assert found.scope == Scope.of({"a": DB, "b": DB})


def test_several_selectors_and_single_ones_replace_each_other() -> None:
    """19.1, 19.3: the more specific of the two applies."""
    several: KindOptions[Any] = KindOptions(any_of=[WEB, RED])
    single: KindOptions[Any] = KindOptions(labels="app=db")
    for kind, base, expected in (
        (several, single, (WEB, RED)),
        (single, several, (DB,)),
        (several, several, (WEB, RED)),
    ):
        assert coverage_of(kind, base).scope == Scope.of({"": expected})
        assert coverage_of(kind.over(base), KindOptions()).scope == Scope.of({"": expected})
    own: dict[str, NamespaceOptions[Any]] = by_namespace(NamespaceOptions(fields="a=1"))
    found = coverage_of(KindOptions(namespace=own, any_of=[WEB, RED]), KindOptions())
    assert found.scope == Scope.of({"default": Selectors(fields="a=1")})


def test_inputs_are_not_changed() -> None:
    """19.3, CR 23 (TestDefaultOptsRace): options can be shared by factories."""
    namespaces = {"a": NamespaceOptions[Any](labels="app=web"), "": NamespaceOptions[Any]()}
    before = dict(namespaces)
    kind: KindOptions[Any] = KindOptions(namespace=namespaces)
    coverage_of(kind, KindOptions(namespace=namespaces, labels="app=db"))
    assert namespaces == before
    assert kind.namespace is namespaces


def test_all_but_some_namespaces() -> None:
    """19.2: by a field selector that is combined with the others."""
    found = coverage_of(
        KindOptions(except_namespaces=["kube-system", "kube-public"], fields="a=1"),
        KindOptions(namespace="default"),
    )
    assert found.scope.requests == (
        (
            "",
            Selectors(fields="a=1,metadata.namespace!=kube-public,metadata.namespace!=kube-system"),
        ),
    )
    assert not found.scope.covers("kube-system")
    assert found.scope.covers("default")
    mixed = coverage_of(
        KindOptions(
            namespace={"a": NamespaceOptions(labels="app=web"), "": NamespaceOptions()},
            except_namespaces=["b"],
        ),
        KindOptions(),
    )
    assert mixed.scope.requests == (
        ("", Selectors(fields="metadata.namespace!=a,metadata.namespace!=b")),
        ("a", WEB),
    )


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"namespace": "a", "except_namespaces": ["b"]}, "has no effect: namespace= covers only a"),
        ({"namespace": {}, "except_namespaces": ["b"]}, "covers only no namespace"),
        (
            {"namespace": {"": NamespaceOptions(), "b": NamespaceOptions()}}
            | {"except_namespaces": ["b"]},
            "'b' is both in namespace= and in except_namespaces=",
        ),
    ],
)
def test_contradictory_namespaces_are_refused(options: dict[str, Any], why: str) -> None:
    """19.2: errors name the namespace."""
    with pytest.raises(ConfigError, match=why):
        coverage_of(KindOptions(**options), KindOptions())


@pytest.mark.parametrize(
    ("options", "error", "why"),
    [
        ({"except_namespaces": "kube-system"}, ConfigError, "pass a list of names"),
        ({"except_namespaces": ["", "a"]}, ConfigError, "pass non-empty names"),
        ({"namespace": []}, ConfigError, "pass non-empty names"),
        ({"namespace": {"a": "app=web"}}, ConfigError, "dict of names and kinform.Namespace"),
        ({"namespace": {1: NamespaceOptions()}}, ConfigError, "dict of names and"),
        ({"any_of": []}, ConfigError, "pass a list of selectors"),
        ({"any_of": [WEB], "labels": ""}, ConfigError, "any_of= excludes labels="),
        ({"labels": "app in ("}, SelectorError, "app in"),
    ],
)
def test_invalid_options_are_named(
    client: Client, options: dict[str, Any], error: type[Exception], why: str
) -> None:
    """19.1-3: at the latest when an informer is requested."""
    with pytest.raises(error, match=why):
        DynamicSharedInformerFactory(client).for_resource(MAPS, options=KindOptions(**options))


def test_namespace_options_are_checked() -> None:
    """19.3: like those of a kind."""

    async def wait(obj: Unstructured) -> None: ...

    with pytest.raises(ConfigError, match="any_of= excludes"):
        NamespaceOptions(any_of=[WEB], fields="a=1")
    with pytest.raises(ConfigError, match="transform must not be async"):
        NamespaceOptions(transform=wait)  # type: ignore[arg-type]


# -- informers -------------------------------------------------------------------------------


@pytest.fixture
def objects(kinform_api: ApiServer) -> None:
    for namespace in ("a", "b", "c"):
        kinform_api.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        )
        for app in ("web", "db"):
            kinform_api.create(config_map(app, namespace, app=app))


@pytest.mark.usefixtures("objects")
async def test_informer_covers_what_the_options_say(client: Client) -> None:
    """19.2, 19.3: selectors and transforms by namespace, and an excluded one."""
    factory = DynamicSharedInformerFactory(
        client,
        options=QUICK,
        transform=mark,
        namespace={"a": NamespaceOptions(labels="app=web"), "": NamespaceOptions()},
        by_kind={
            "v1/secrets": KindOptions(except_namespaces=["kube-system"]),
            MAPS: KindOptions(
                namespace={
                    "a": NamespaceOptions(transform=mark_more),
                    "b": NamespaceOptions(any_of=[DB, RED], transform=None),
                    "": NamespaceOptions(fields="metadata.name=db"),
                }
            ),
        },
    )
    maps, secrets = factory.for_resource(MAPS), factory.for_resource("v1/secrets")
    async with factory, asyncio.timeout(20):
        await factory.wait_for_cache_sync(strict=True)
        found = {each.key: each.get("data") for each in maps.lister.list()}
        assert found == {
            "a/web": {"marked": "more"},
            "b/db": None,
            "c/db": {"marked": "yes"},
        }
        assert maps.lister.namespace("d").list() == []
        assert secrets.lister.namespace("a").list() == []
        with pytest.raises(CacheError, match="it covers all namespaces except kube-system"):
            secrets.lister.namespace("kube-system").list()


@pytest.mark.usefixtures("objects")
async def test_informer_of_no_namespace_gains_some(client: Client) -> None:
    """19.4: ``namespace={}``, although the factory has default namespaces."""
    factory = DynamicSharedInformerFactory(client, namespace="c", options=QUICK)
    maps = factory.for_resource(MAPS, options=KindOptions(namespace={}))
    assert maps.informer.name == "v1/configmaps in no namespace"
    async with factory, asyncio.timeout(20):
        await factory.wait_for_cache_sync(strict=True)
        assert maps.lister.list() == []
        with pytest.raises(CacheError, match="it covers no namespace"):
            maps.lister.namespace("c").list()
        await maps.informer.add_namespace("a")
        assert sorted(each.key for each in maps.lister.list()) == ["a/db", "a/web"]


@pytest.mark.usefixtures("objects")
async def test_transform_by_namespace_applies_to_bytes_and_to_added_namespaces(
    client: Client,
) -> None:
    """19.3: by the object's namespace, whatever source it comes from."""
    factory = DynamicSharedInformerFactory(client, options=QUICK, transform=mark)
    options: KindOptions[Any] = KindOptions(
        namespace={"a": NamespaceOptions(transform=strip_metadata("labels"))}, streaming=False
    )
    maps = factory.for_resource(MAPS, options=options)
    async with factory, asyncio.timeout(20):
        await factory.wait_for_cache_sync(strict=True)
        await maps.informer.add_namespace("b")
        found = {each.key: (dict(each.labels), each.get("data")) for each in maps.lister.list()}
    assert found["a/web"] == ({}, None)
    assert found["b/web"] == ({"app": "web"}, {"marked": "yes"})


def test_equal_namespace_options_share_an_informer(client: Client) -> None:
    """19.3: they are compared by content."""
    factory = DynamicSharedInformerFactory(client)

    def request(**options: Any) -> Any:
        namespaces = {"a": NamespaceOptions(**options), "": NamespaceOptions()}
        return factory.for_resource(MAPS, options=KindOptions(namespace=namespaces)).informer

    first = request(labels={"app": "web"}, transform=mark)
    assert request(labels="app=web", transform=mark) is first
    assert request(labels="app=web", transform=mark_more) is not first
    assert request(labels="app=db", transform=mark) is not first
    several = factory.for_resource(MAPS, options=KindOptions(any_of=[WEB, RED])).informer
    assert factory.for_resource(MAPS, options=KindOptions(any_of=[RED, WEB])).informer is several


def test_cluster_scoped_kinds_have_no_namespaces(client: Client) -> None:
    """19.3: default namespaces are ignored, explicit ones refused."""
    factory = SharedInformerFactory(
        client, namespace={"a": NamespaceOptions(labels="app=web"), "b": NamespaceOptions()}
    )
    assert factory.for_model(Node).informer.scope == Scope()
    assert factory.for_model(ConfigMap).informer.namespaces == ("a", "b")
    for options in (
        KindOptions[Node](namespace="a"),
        KindOptions[Node](namespace={"a": NamespaceOptions()}),
        KindOptions[Node](except_namespaces=["a"]),
    ):
        with pytest.raises(NoMatchError, match="v1/nodes is cluster-scoped; omit the namespace"):
            factory.for_model(Node, options=options)
    everywhere = factory.for_model(ConfigMap, options=KindOptions(namespace=ALL_NAMESPACES))
    assert everywhere.informer.scope == Scope()


def test_transforms_by_namespace_can_be_called(client: Client) -> None:
    """19.3: with an object, like any transform."""
    found = coverage_of(
        KindOptions(namespace={"a": NamespaceOptions(transform=None), "": NamespaceOptions()}),
        KindOptions(transform=mark),
    )
    assert found.transform is not None
    for namespace, data in (("a", None), ("b", {"marked": "yes"})):
        obj = Unstructured(config_map("x", namespace))
        found.transform(obj)
        assert obj.get("data") == data


@pytest.mark.parametrize(
    ("options", "namespaces"),
    [
        ({"fields": "metadata.namespace=a,metadata.name!=x"}, ("a",)),
        ({"fields": {"metadata.namespace": "a"}}, ("a",)),
        ({"any_of": [Selectors(fields=f"metadata.namespace={each}") for each in "ab"]}, ("a", "b")),
        # For these, all namespaces are needed.
        ({"any_of": [Selectors(fields="metadata.namespace=a"), WEB]}, ()),
        ({"fields": "metadata.namespace!=a"}, ()),
        ({"fields": "metadata.namespace=a", "except_namespaces": ["b"]}, ()),
        # Namespaces that are given win.
        ({"fields": "metadata.namespace=a", "namespace": "b"}, ("b",)),
    ],
)
def test_field_selector_of_a_namespace_is_requested_there(
    options: dict[str, Any], namespaces: tuple[str, ...]
) -> None:
    """19: so access to that namespace is enough. The selectors are sent nevertheless."""
    kind: KindOptions[Any] = KindOptions(**options)
    scope = coverage_of(kind, KindOptions()).scope
    assert scope.namespaces == namespaces
    if not kind.except_namespaces:
        assert all("metadata.namespace" in str(each) or each == WEB for _, each in scope.requests)
    cluster_scoped = coverage_of(
        KindOptions(fields="metadata.namespace=a"), KindOptions(), is_namespaced=False
    )
    assert cluster_scoped.scope.is_all_namespaces
