"""One object, two forms: what others wrote as JSON and as protobuf reads as the same."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from msgspec.structs import replace

from kinform._native import IS_COMPILED
from kinform.api import GVK
from kinform.client import Client
from kinform.models import model_for
from kinform.objects import (
    JSON,
    Model,
    PartialObjectMetadata,
    Record,
    TypedObject,
    Unstructured,
)
from kinform.protobuf import codec_for, unwrap
from kinform.protobuf._parts import parts_reader
from tests.cluster.filled_objects import Filled, filled_objects
from tests.cluster.informer_flows import client_in_new_namespace, config_of
from tests.cluster.test_models import (
    BODIES,
    NOT_GENERATED,
    TEMPLATE,
    served_versions,
)
from tests.support.built import parametrize_samples
from tests.support.cluster import RealCluster
from tools.golden_files import newest_release

pytestmark = pytest.mark.cluster

SEEDS = range(1, 7)
_BODY = "the body of a request or of its answer; it has no metadata to read a head from"
_PARAMETERS = "travels as the parameters of a URL"
NO_OBJECTS = {
    "apiextensions.k8s.io/v1/ConversionReview": _BODY,
    "extensions/v1beta1/DeploymentRollback": _BODY,
    "v1/DeleteOptions": _BODY,
    "v1/NodeProxyOptions": _PARAMETERS,
    "v1/PodAttachOptions": _PARAMETERS,
    "v1/PodExecOptions": _PARAMETERS,
    "v1/PodLogOptions": _PARAMETERS,
    "v1/PodPortForwardOptions": _PARAMETERS,
    "v1/PodProxyOptions": _PARAMETERS,
    "v1/SerializedReference": _BODY,
    "v1/ServiceProxyOptions": _PARAMETERS,
    "meta.k8s.io/v1/PartialObjectMetadata": "it has a form of its own, and no model",
}


def exactly(tree: Any) -> str:
    """Trees as text, for ``True == 1 == 1.0``."""
    return json.dumps(tree, sort_keys=True, indent=1)


def check_fields(ours: Any, theirs: Any, place: str) -> None:
    """One by one, for a view compares as a whole by turning itself into a struct."""
    if isinstance(theirs, Model):
        assert isinstance(ours, type(theirs)), place
        for field in theirs.__struct_fields__:
            check_fields(getattr(ours, field), getattr(theirs, field), f"{place}.{field}")
    elif isinstance(theirs, list):
        for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            check_fields(mine, other, f"{place}[{index}]")
    elif isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), place
        for key, other in theirs.items():
            check_fields(ours[key], other, f"{place}[{key}]")
    else:
        assert ours == theirs, place
        assert type(ours) is type(theirs) or isinstance(theirs, int | float), place


def check_that_handles_are_equal(ours: TypedObject, theirs: TypedObject) -> None:
    assert exactly(ours.to_dict()) == exactly(theirs.to_dict())
    assert ours == theirs
    assert ours.record is not None
    assert theirs.record is not None
    assert ours.record.head == theirs.record.head
    for part in ours.parts.values():
        mine, other = getattr(ours, part.attribute), getattr(theirs, part.attribute)
        check_fields(mine, other, part.name)
        assert mine == other
        assert other == mine
        if isinstance(other, Model):
            assert exactly(mine.to_dict()) == exactly(other.to_dict())


def without_nulls(tree: Any) -> Any:
    """To Go, null is a pointer that is nil, whatever it was before."""
    if isinstance(tree, dict):
        return {key: without_nulls(child) for key, child in tree.items() if child is not None}
    return [without_nulls(child) for child in tree] if isinstance(tree, list) else tree


def check(gvk: GVK, message: bytes, text: bytes) -> None:
    """A message and a text that say the same."""
    codec = codec_for(gvk)
    assert codec is not None, f"{gvk} is not known, and there is no reason why"
    tree = as_servers_say(json.loads(text))
    said = {"apiVersion": gvk.api_version, "kind": gvk.kind}
    raw = unwrap(message).raw
    read = codec.decode(raw)
    assert exactly({**read, **said}) == exactly({**tree, **said})
    again = codec.decode(codec.encode(read))
    assert exactly(without_nulls(again)) == exactly(without_nulls(read))
    model = model_for(gvk)
    if model is None or "metadata" not in tree:
        assert str(gvk) in NO_OBJECTS or model is not None
        return
    check_that_handles_are_equal(
        model.over(Record.read(raw, codec)),
        model.over(Record.read(json.dumps(tree, separators=(",", ":")).encode(), JSON)),
    )


def as_servers_say(tree: Any) -> Any:
    """Servers write the kind of the claims in a set into JSON, and protobuf has no place for it."""
    if tree.get("kind") == "StatefulSet":
        for claim in tree.get("spec", {}).get("volumeClaimTemplates", ()):
            claim |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return tree


# -- Go's own samples ------------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize_samples(metafunc, ".pb")


def test_a_sample_is_the_same_object_in_both_forms(sample: str) -> None:
    if sample in NOT_GENERATED:
        pytest.skip(NOT_GENERATED[sample])
    group, version, kind = sample.rsplit(".", 2)
    gvk = GVK("" if group == "core" else group, version, kind)
    if codec_for(gvk) is None and (gvk.group, gvk.version) not in served_versions():
        pytest.skip(f"no server serves {group}/{version}")
    message = (newest_release() / f"{sample}.pb").read_bytes()
    check(gvk, message, (newest_release() / f"{sample}.json").read_bytes())
    check_that_nothing_is_parsed(gvk, unwrap(message).raw)


def check_that_nothing_is_parsed(gvk: GVK, raw: bytes) -> None:
    """What Go writes is what compiled code takes."""
    codec, model = codec_for(gvk), model_for(gvk)
    if not IS_COMPILED or codec is None or model is None:
        return
    for part in model.parts.values():
        found = parts_reader(codec._message, part.alone).parts(raw)
        assert found is not None, part.name
        if isinstance(view := found[0], Model):
            assert all(hasattr(view, name) for name in view.__struct_fields__)
            assert "_message" not in view.__dict__, part.name


# -- objects filled at random ----------------------------------------------------------------


@pytest.fixture(scope="module")
def filled() -> list[Filled]:
    return list(filled_objects(*SEEDS))


def known(filled: list[Filled]) -> Iterator[tuple[GVK, Filled]]:
    for each in filled:
        gvk = GVK.of(each.api_version, each.kind)
        if codec_for(gvk) is not None:
            yield gvk, each
        else:
            assert (gvk.group, gvk.version) not in served_versions()


@pytest.mark.timeout(300)
def test_objects_filled_at_random_are_the_same_in_both_forms(filled: list[Filled]) -> None:
    seen = set()
    for gvk, each in known(filled):
        check(gvk, each.protobuf, bytes(each.again))
        seen.add(gvk)
    assert len(seen) > 125


def test_where_the_two_forms_cannot_agree_is_what_the_guide_says(filled: list[Filled]) -> None:
    """What Go's own way through protobuf and back changes in the JSON of an object."""
    reasons = {
        _why(gvk, place, was, now)
        for gvk, each in known(filled)
        for place, was, now in differences(*each.trees)
    }
    assert reasons == {"empty list", "null in a map", "object inside of another"}


def _why(gvk: GVK, place: str, was: Any, now: Any) -> str:
    if was == [] and now is None:
        return "empty list"
    if was is None and now in ([], ""):
        return "null in a map"
    if now == "absent" and place.endswith((".kind", ".apiVersion")):
        return "object inside of another"
    raise AssertionError(f"the guide does not say why {gvk}{place} is {was!r} or {now!r}")


def differences(before: Any, after: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() | after.keys():
            yield from differences(
                before.get(key, "absent"), after.get(key, "absent"), f"{place}.{key}"
            )
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for mine, other in zip(before, after, strict=True):
            yield from differences(mine, other, f"{place}[]")
    elif before != after:
        yield place, before, after


# -- what a server holds ---------------------------------------------------------------------


@pytest.fixture
async def clients(real_cluster: RealCluster) -> AsyncIterator[tuple[Client, Client]]:
    """One that asks for protobuf whatever it is asked for, and one that never does."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(client_in_new_namespace(real_cluster))
        config = replace(config_of(real_cluster), namespace=client.namespace)
        binary = await stack.enter_async_context(Client(config, wire_format="protobuf"))
        text = await stack.enter_async_context(Client(config, wire_format="json"))
        for body in BODIES:
            body = {**body, "metadata": {"name": "a"}}
            if body["kind"] in {"Deployment", "DaemonSet", "StatefulSet"}:
                body["spec"] = {"template": TEMPLATE, **body["spec"]}
            await client.create(body)
        yield binary, text


async def test_whatever_a_server_holds_is_the_same_in_both_forms(
    clients: tuple[Client, Client],
) -> None:
    binary, text = clients
    seen = set()
    for resource in await text.discovery.resources():
        if "list" not in resource.verbs:
            continue
        theirs = {obj.key: obj for obj in await text.list(resource, namespace="")}
        for obj in await binary.list(resource, namespace=""):
            other = theirs.get(obj.key)
            if other is None or obj.resource_version != other.resource_version:
                continue  # servers write some objects anew every few seconds
            assert obj.record is not None
            assert other.record is not None
            assert exactly(obj.to_dict()) == exactly(other.to_dict())
            model = model_for(resource.gvr)
            if model is None:  # of a CRD that another test has left
                assert obj.record.codec.name == "json"
                continue
            assert obj.record.codec.name == "protobuf"
            check_that_handles_are_equal(model.over(obj.record), model.over(other.record))
            seen.add(resource.kind)
    assert {body["kind"] for body in BODIES} <= seen
    assert {"APIService", "ClusterRole", "FlowSchema", "Namespace", "PriorityClass"} <= seen


async def test_one_object_and_its_metadata_are_the_same_in_both_forms(
    clients: tuple[Client, Client],
) -> None:
    binary, text = clients
    for body in BODIES:
        model = model_for(GVK.of(body["apiVersion"], body["kind"]))
        assert model is not None
        ours, theirs = await binary.get(model, "a"), await text.get(model, "a")
        check_that_handles_are_equal(ours, theirs)
        assert model.resource is not None
        bare = await binary.view(PartialObjectMetadata).get(model.resource, "a")
        assert bare == await text.view(PartialObjectMetadata).get(model.resource, "a")
        assert bare.record is not None
        assert bare.record.codec.name == "protobuf"
        assert Unstructured.over(ours.record) == theirs.to_dict()  # type: ignore[arg-type]  # it has one
