"""Objects go to the official client's models and come back as they were."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from kinform.api import GVK
from kinform.errors import ConfigError, DecodeError, EncodeError
from kinform.models import known_kinds, model_for
from kinform.models._table import KINDS
from kinform.models.apps.v1 import Deployment
from kinform.models.coordination.v1 import Lease
from kinform.models.core.v1 import Node, Pod
from kinform.objects import PartialObjectMetadata, TypedObject, Unstructured
from kinform.objects._official import MICRO_TIMES
from tests.support.objects import record_of

METADATA = {"name": "one", "namespace": "default", "creationTimestamp": "2026-01-02T03:04:05Z"}

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        **METADATA,
        "labels": {"app": "web"},
        "finalizers": ["example.com/hold"],
        "managedFields": [{"manager": "me", "fieldsV1": {"f:spec": {"f:nodeName": {}}}}],
    },
    "spec": {
        "containers": [
            {
                "name": "web",
                "image": "nginx",
                "resources": {"limits": {"cpu": "500m", "memory": "64Mi"}},
                "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http"}},
                "readinessProbe": {"tcpSocket": {"port": 8080}},
            }
        ],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    },
    "status": {"phase": "Running", "hostIP": "10.0.0.1", "startTime": "2026-01-02T03:04:06Z"},
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": METADATA,
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"app": "web"}},
        "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
        "template": {"spec": {"containers": [{"name": "web"}]}},
    },
}
LEASE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": METADATA,
    "spec": {
        "holderIdentity": "me",
        "acquireTime": "2026-01-02T03:04:05.000000Z",
        "renewTime": "2026-01-02T03:04:05.678901Z",
    },
}
POLICY = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": METADATA,
    "spec": {
        "podSelector": {},
        "ingress": [{"from": [{"podSelector": {}}], "ports": [{"port": 80}, {"port": "http"}]}],
    },
}
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": METADATA,
    "data": {"password": "aHVudGVyMg=="},
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Thing", "plural": "things"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "not": {"required": ["old"]},
                        "properties": {
                            "size": {"x-kubernetes-int-or-string": True, "enum": [1, "all"]},
                        },
                    }
                },
            }
        ],
    },
}
EVENTS = [
    {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": METADATA,
        "involvedObject": {"kind": "Pod", "name": "web"},
        "eventTime": "2026-01-02T03:04:05.000000Z",
        "lastTimestamp": "2026-01-02T03:04:05Z",
    },
    {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": METADATA,
        "eventTime": "2026-01-02T03:04:05.000000Z",
    },
]
TREES: list[dict[str, Any]] = [POD, DEPLOYMENT, LEASE, POLICY, SECRET, DEFINITION, *EVENTS]
IDS = [f"{tree['apiVersion']} {tree['kind']}" for tree in TREES]


@pytest.fixture(scope="module")
def official() -> Any:
    # By name: it is large, and mypy need not read all of it.
    return import_module("kubernetes.client")


def _model(tree: dict[str, Any]) -> type[TypedObject]:
    model = model_for(GVK.of(tree["apiVersion"], tree["kind"]))
    assert model is not None
    return model


@pytest.mark.parametrize("tree", TREES, ids=IDS)
def test_an_object_comes_back_from_the_official_model_as_it_was(tree: dict[str, Any]) -> None:
    loose, typed = Unstructured(tree), _model(tree).from_dict(tree)

    assert Unstructured.from_official(loose.to_official()).to_dict() == tree
    assert type(typed).from_official(typed.to_official()).to_dict() == tree


@pytest.mark.parametrize("tree", TREES, ids=IDS)
def test_the_official_client_sends_what_we_would_send(tree: dict[str, Any], official: Any) -> None:
    model = _model(tree).from_dict(tree).to_official()

    sent = official.ApiClient(official.Configuration()).sanitize_for_serialization(model)

    # It writes times in its own way; what they stand for is the same.
    assert _with_times(sent) == _with_times(tree)


def _with_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_times(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_with_times(child) for child in value]
    if isinstance(value, str) and value.startswith("2026-"):
        return datetime.fromisoformat(value)
    return value


def test_attributes_are_those_of_the_official_client(official: Any) -> None:
    pod = Pod.from_dict(POD).to_official()

    assert isinstance(pod, official.V1Pod)
    assert pod.metadata.creation_timestamp == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert pod.spec.containers[0].resources.limits == {"cpu": "500m", "memory": "64Mi"}
    assert pod.spec.containers[0].liveness_probe.http_get.port == "http"
    assert pod.status.host_ip == "10.0.0.1"


@pytest.mark.parametrize("tree", EVENTS, ids=["core", "events"])
def test_kinds_of_one_name_go_to_the_class_of_their_group(tree: Any, official: Any) -> None:
    expected = official.CoreV1Event if tree["apiVersion"] == "v1" else official.EventsV1Event

    assert isinstance(Unstructured(tree).to_official(), expected)


def test_what_a_cache_hands_out_converts_too(official: Any) -> None:
    record = record_of(POD)

    assert Pod.over(record).to_official() == Unstructured(POD).to_official()
    metadata = PartialObjectMetadata.over(record).to_official()
    assert isinstance(metadata, official.V1Pod)
    assert (metadata.metadata.name, metadata.spec) == ("one", None)


def test_every_kind_of_a_current_server_has_an_official_class(official: Any) -> None:
    if int(import_module("kubernetes").__version__.split(".")[0]) < 37:
        pytest.skip("this official client is older than our models")
    missing = []
    for gvk in (GVK(group, version, kind) for group, version, kind in _built_in_kinds()):
        try:
            Unstructured({"apiVersion": gvk.api_version, "kind": gvk.kind}).to_official()
        except EncodeError as error:
            if "has no class" in str(error):
                missing.append(gvk)

    assert {gvk.group for gvk in missing} <= {"extensions"}


def _built_in_kinds() -> Iterator[tuple[str, str, str]]:
    for (group, version, _), kinds in KINDS.items():
        yield from ((group, version, kind) for kind, (plural, _) in kinds.items() if plural)


# -- made by the official client -------------------------------------------------------------


def test_a_model_made_by_hand_becomes_an_editable_object(official: Any) -> None:
    made = official.V1Deployment(
        metadata=official.V1ObjectMeta(name="web", labels={"app": "web"}),
        spec=official.V1DeploymentSpec(
            replicas=3,
            selector=official.V1LabelSelector(match_labels={"app": "web"}),
            template=official.V1PodTemplateSpec(),
        ),
    )

    deployment = Deployment.from_official(made)
    deployment.spec.replicas = 4

    assert deployment.to_dict() == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"replicas": 4, "selector": {"matchLabels": {"app": "web"}}, "template": {}},
    }
    assert made.spec.replicas == 3


def test_models_of_the_asyncio_flavour_are_taken_too() -> None:
    flavour: Any
    try:
        flavour = import_module("kubernetes.aio.client")
    except ImportError:
        flavour = pytest.importorskip("kubernetes_asyncio.client")

    pod = Pod.from_official(flavour.V1Pod(metadata=flavour.V1ObjectMeta(name="web")))

    assert pod.metadata.name == "web"


def test_a_dict_is_taken_as_json_has_it() -> None:
    assert Pod.from_official(POD).to_dict() == POD
    assert Unstructured.from_official(POD).to_dict() == POD


def test_times_that_need_microseconds_get_them(official: Any) -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    lease = official.V1Lease(
        metadata=official.V1ObjectMeta(creation_timestamp=moment),
        spec=official.V1LeaseSpec(renew_time=moment),
    )

    tree = Lease.from_official(lease).to_dict()

    assert tree["spec"]["renewTime"] == "2026-01-02T03:04:05.000000Z"
    assert tree["metadata"]["creationTimestamp"] == "2026-01-02T03:04:05Z"


def test_the_names_of_such_times_are_those_of_the_models_and_mean_nothing_else() -> None:
    micro: set[str] = set()
    others: set[str] = set()
    for name, hint in _all_fields():
        (micro if "'micro'" in repr(hint) else others).add(name)

    assert micro == MICRO_TIMES
    assert not micro & others


def _all_fields() -> Iterator[tuple[str, Any]]:
    """The times in the models of all kinds, by their names in JSON."""
    seen: set[Any] = set()
    waiting: list[Any] = []
    for gvk in known_kinds():
        model = model_for(gvk)
        assert model is not None
        for part in model.parts.values():
            waiting.append(part.type)
            if "datetime" in repr(part.type):
                yield part.name, part.type
    while waiting:
        hint = waiting.pop()
        waiting.extend(get_args(hint))
        if not (isinstance(hint, type) and issubclass(hint, msgspec.Struct)) or hint in seen:
            continue
        seen.add(hint)
        hints = get_type_hints(hint, include_extras=True)
        for field in msgspec.structs.fields(hint):
            waiting.append(hints[field.name])
            if "datetime" in repr(hints[field.name]):
                yield field.encode_name, hints[field.name]


# -- what does not go ------------------------------------------------------------------------


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes.client", None)

    with pytest.raises(ConfigError, match=r"kinform\[official\]"):
        Unstructured(POD).to_official()


@pytest.mark.parametrize("kind", ["Thing", "Pod"])
def test_a_kind_that_the_official_client_does_not_know_is_named(kind: str) -> None:
    thing = Unstructured({"apiVersion": "example.com/v1", "kind": kind})

    with pytest.raises(EncodeError, match=rf"no class for example.com/v1/{kind}.*to_dict\(\)"):
        thing.to_official()


def test_a_part_of_an_object_is_no_kind() -> None:
    with pytest.raises(EncodeError, match="no class for v1/PodSpec"):
        Unstructured({"apiVersion": "v1", "kind": "PodSpec"}).to_official()


def test_an_object_that_its_class_refuses_is_named_without_what_it_holds() -> None:
    broken = {**DEPLOYMENT, "metadata": {"name": "web"}, "spec": {"paused": "hunter2"}}

    with pytest.raises(
        EncodeError, match=r"Deployment web.* does not fit .*V1Deployment"
    ) as caught:
        Unstructured(broken).to_official()

    assert "hunter2" not in str(caught.value)


def test_another_kind_is_refused_also_if_only_its_class_says_so(official: Any) -> None:
    item_of_a_list = official.V1Pod(metadata=official.V1ObjectMeta(name="web"))

    assert Pod.from_official(item_of_a_list).name == "web"
    with pytest.raises(DecodeError, match="this is a V1Pod, not a v1/Node"):
        Node.from_official(item_of_a_list)
    with pytest.raises(DecodeError, match="not a v1/Node"):
        Node.from_official(Pod.from_dict(POD).to_official())
    with pytest.raises(DecodeError, match=r"V1Pod does not say .*Pod.from_official"):
        Unstructured.from_official(item_of_a_list)


def test_the_official_dicts_with_python_names_are_refused(official: Any) -> None:
    with pytest.raises(DecodeError, match="give the model itself"):
        Pod.from_official(official.V1Pod().to_dict())


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(DecodeError, match="a str is not a model"):
        Pod.from_official("pod")


def test_bytes_and_times_without_a_zone_are_refused_with_their_place(official: Any) -> None:
    lease = official.V1Lease(spec=official.V1LeaseSpec(renew_time=datetime(2026, 1, 2)))
    secret = official.V1Secret()
    secret.data = {"password": b"hunter2"}

    with pytest.raises(EncodeError, match=r"V1Lease: spec.renewTime: .* has no time zone"):
        Lease.from_official(lease)
    with pytest.raises(EncodeError, match=r"V1Secret\.data\.password holds bytes"):
        Unstructured.from_official(secret)
