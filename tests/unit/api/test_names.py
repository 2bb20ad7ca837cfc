"""Keys, kinds and resources: parsed, printed, and refused with a way out."""

from __future__ import annotations

import pickle

import pytest

from kinform.api import (
    GVK,
    GVR,
    ApiResource,
    ObjectName,
    join_api_version,
    namespace_key,
    split_api_version,
    split_namespace_key,
)
from kinform.errors import InvalidNameError


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("web", ObjectName("", "web")),
        ("default/web", ObjectName("default", "web")),
        # As client-go splits them: it is not the key's place to judge a name.
        ("", ObjectName("", "")),
        ("/web", ObjectName("", "web")),
        ("default/", ObjectName("default", "")),
    ],
)
def test_a_key_splits_into_namespace_and_name(key: str, expected: ObjectName) -> None:
    assert split_namespace_key(key) == expected


@pytest.mark.parametrize("key", ["a/b/c", "//", "a//b", "/a/", "a/b/c/d"])
def test_a_key_with_more_than_one_slash_is_refused_by_name(key: str) -> None:
    with pytest.raises(InvalidNameError, match="more than one slash") as caught:
        split_namespace_key(key)
    assert repr(key) in str(caught.value)
    assert "namespace/name" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "key"),
    [(ObjectName("default", "web"), "default/web"), (ObjectName("", "node-1"), "node-1")],
)
def test_a_name_makes_its_key_and_comes_back_from_it(name: ObjectName, key: str) -> None:
    assert name.key == str(name) == namespace_key(name) == key
    assert split_namespace_key(key) == name


def test_an_object_name_is_a_tuple_that_unpacks_and_sorts_by_namespace() -> None:
    namespace, name = ObjectName("default", "web")
    assert (namespace, name) == ("default", "web")
    assert sorted([ObjectName("b", "a"), ObjectName("a", "z")]) == [("a", "z"), ("b", "a")]


@pytest.mark.parametrize(
    ("api_version", "group", "version"),
    [
        ("v1", "", "v1"),
        ("apps/v1", "apps", "v1"),
        ("x.example.com/v1beta2", "x.example.com", "v1beta2"),
    ],
)
def test_an_api_version_splits_and_joins(api_version: str, group: str, version: str) -> None:
    assert split_api_version(api_version) == (group, version)
    assert join_api_version(group, version) == api_version


@pytest.mark.parametrize("api_version", ["", "/", "/v1", "apps/", "a/b/v1", "//v1"])
def test_an_illegal_api_version_is_refused_with_an_example(api_version: str) -> None:
    with pytest.raises(InvalidNameError, match="write 'v1' or 'group/version'") as caught:
        split_api_version(api_version)
    assert repr(api_version) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v1/pods", GVR("", "v1", "pods")),
        ("apps/v1/deployments", GVR("apps", "v1", "deployments")),
        (
            "rbac.authorization.k8s.io/v1/clusterroles",
            GVR("rbac.authorization.k8s.io", "v1", "clusterroles"),
        ),
        ("example.com/v1alpha1/my-things", GVR("example.com", "v1alpha1", "my-things")),
        # Metrics servers name resources after metrics, or after other resources.
        (
            "external.metrics.k8s.io/v1beta1/job:queue_length:avg",
            GVR("external.metrics.k8s.io", "v1beta1", "job:queue_length:avg"),
        ),
        (
            "custom.metrics.k8s.io/v1beta1/jobs.batch",
            GVR("custom.metrics.k8s.io", "v1beta1", "jobs.batch"),
        ),
    ],
)
def test_a_resource_is_parsed_and_printed_back(text: str, expected: GVR) -> None:
    assert GVR.parse(text) == expected
    assert str(expected) == text
    assert f"{expected.api_version}/{expected.resource}" == text


@pytest.mark.parametrize("text", ["", "pods", "a/b/c/d", "apps/v1/deployments/status"])
def test_text_of_the_wrong_number_of_parts_is_no_resource(text: str) -> None:
    with pytest.raises(InvalidNameError, match="apps/v1/deployments") as caught:
        GVR.parse(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("group", "version", "resource", "complaint"),
    [
        ("Apps", "v1", "pods", "cannot be a group"),
        ("apps/v1", "v1", "pods", "cannot be a group"),
        ("apps ", "v1", "pods", "cannot be a group"),
        (None, "v1", "pods", "cannot be a group"),
        ("..", "v1", "pods", "cannot be a group"),
        ("", "", "pods", "cannot be a version"),
        ("", "apps/v1", "pods", "cannot be a version"),
        ("", "v1-", "pods", "cannot be a version"),
        ("", None, "pods", "cannot be a version"),
        ("", "v1", "", "cannot be a resource"),
        ("", "v1", "Pod", "cannot be a resource"),
        ("", "v1", "pods/status", "cannot be a resource"),
        ("", "v1", "..", "cannot be a resource"),
        ("", "v1", "pods?watch=1", "cannot be a resource"),
        ("", "v1", "pods%2f", "cannot be a resource"),
        ("", "v1", "pods\n", "cannot be a resource"),
        ("", "v1", "p" * 254, "cannot be a resource"),
        ("", "v1", 7, "cannot be a resource"),
    ],
)
def test_an_illegal_resource_never_gets_as_far_as_a_url(
    group: str, version: str, resource: str, complaint: str
) -> None:
    with pytest.raises(InvalidNameError, match=complaint) as caught:
        GVR(group, version, resource)
    assert "such as" in str(caught.value)


def test_a_kind_in_the_place_of_a_resource_is_told_where_it_belongs() -> None:
    with pytest.raises(InvalidNameError, match="goes into a GVK"):
        GVR("apps", "v1", "Deployment")


@pytest.mark.parametrize("kind", ["", "Pod/status", "My Kind", "1Pod", "Pod\n", None])
def test_an_illegal_kind_is_refused(kind: str) -> None:
    with pytest.raises(InvalidNameError, match="cannot be a kind"):
        GVK("", "v1", kind)


def test_a_kind_is_made_from_what_an_object_says_of_itself() -> None:
    gvk = GVK.of("apps/v1", "Deployment")
    assert gvk == GVK("apps", "v1", "Deployment")
    assert gvk.api_version == "apps/v1"
    assert str(gvk) == "apps/v1/Deployment"
    assert str(GVK.of("v1", "Pod")) == "v1/Pod"


def test_an_illegal_api_version_makes_no_kind() -> None:
    with pytest.raises(InvalidNameError, match="not an apiVersion"):
        GVK.of("", "Pod")


def test_kinds_and_resources_are_values() -> None:
    assert {GVR.parse("v1/pods"), GVR("", "v1", "pods")} == {GVR("", "v1", "pods")}
    assert sorted([GVK.of("v1", "Pod"), GVK.of("v1", "Node")])[0].kind == "Node"
    assert pickle.loads(pickle.dumps(GVK.of("v1", "Pod"))) == GVK.of("v1", "Pod")
    with pytest.raises(AttributeError):
        GVR.parse("v1/pods").group = "apps"  # type: ignore[misc]  # that it is frozen is the point


def test_a_described_resource_knows_the_kind_of_its_objects() -> None:
    resource = ApiResource(GVR.parse("apps/v1/deployments"), "Deployment", namespaced=True)
    assert resource.gvk == GVK.of("apps/v1", "Deployment")
