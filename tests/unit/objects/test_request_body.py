"""What leaves for a server is what the model says, and who made it otherwise is told where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kinform.errors import EncodeError
from kinform.models.core.v1 import (
    ConfigMap,
    Container,
    ContainerPort,
    Pod,
    PodSpec,
    ResourceRequirements,
)
from kinform.models.meta.v1 import ObjectMeta
from kinform.objects import JSON, Quantity, TypedObject, Unstructured, request_body
from tests.support.objects import pod_tree, record_of

WRONG: Any = 5  # a checker would have said so
NAMED = ObjectMeta(name="a")


def pod(**spec: Any) -> Pod:
    return Pod(metadata=ObjectMeta(name="a"), spec=PodSpec(**spec))


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (
            lambda: pod(containers=[Container(name=WRONG)]),
            r"spec\.containers\[0\]\.name: expected",
        ),
        (
            lambda: pod(node_selector={"a": WRONG}),
            r"spec\.nodeSelector\[a\]: expected str",
        ),
        (lambda: pod(host_network="yes"), r"spec\.hostNetwork: expected bool, got str"),
        (lambda: pod(priority=True), r"spec\.priority: expected int \| null, got bool"),
        (lambda: pod(priority=1.5), r"spec\.priority: expected int \| null, got float"),
        (lambda: pod(containers={"a": WRONG}), r"spec\.containers: expected array, got object"),
        (
            lambda: Pod(metadata=ObjectMeta(labels={"a": WRONG})),
            r"metadata\.labels\[a\]: expected",
        ),
        (lambda: ConfigMap(metadata=NAMED, data={"a": WRONG}), r"data\[a\]: expected str, got int"),
    ],
)
def test_a_value_of_another_type_is_named_with_its_path(
    make: Callable[[], TypedObject], complaint: str
) -> None:
    with pytest.raises(EncodeError, match=f"editable>: {complaint}"):
        request_body(make())


def test_a_wrong_edit_of_a_copy_is_named() -> None:
    copied = Pod.over(record_of(pod_tree())).copy()
    copied.spec.containers[0].ports.append(ContainerPort(container_port=WRONG, protocol=WRONG))
    with pytest.raises(EncodeError, match=r"spec\.containers\[0\]\.ports\[\d\]\.protocol: "):
        request_body(copied)


def test_what_is_right_goes_as_to_bytes_has_it() -> None:
    limits: Any = {"cpu": Quantity("500m"), "memory": 5}
    right = pod(containers=[Container(name="a", resources=ResourceRequirements(limits=limits))])
    assert request_body(right) == right.to_bytes()
    handle = Pod.over(record_of(pod_tree()))
    assert JSON.decode(request_body(handle)) == JSON.decode(request_body(handle.copy()))
    anything = Unstructured({"apiVersion": "v1", "kind": "Pod", "spec": {"priority": "high"}})
    assert request_body(anything) == anything.to_bytes()


def test_what_came_wrong_and_was_not_touched_goes_as_it_came() -> None:
    tree = pod_tree()
    tree["spec"]["priority"] = "high"
    copied = Pod.over(record_of(tree)).copy()
    copied.metadata.labels["new"] = "yes"
    assert JSON.decode(request_body(copied))["spec"] == tree["spec"]
