"""Objects in; the picture and the news that come of them."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.cli.demo._picture import DEPLOYMENTS, NODES, PODS, Health, Picture
from kinform.objects import Unstructured


def _pod(name: str = "web-1", **changes: Any) -> Unstructured:
    metadata = {"name": name, "namespace": "shop", "resourceVersion": "5"}
    if changes.get("leaving"):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    spec = {"nodeName": changes["node"]} if "node" in changes else {}
    status: dict[str, Any] = {"phase": changes.get("phase", "Pending")}
    if "ready" in changes:
        status["conditions"] = [{"type": "Ready", "status": str(changes["ready"])}]
    if "crashed" in changes:
        state = {"waiting": {"reason": "CrashLoopBackOff"}}
        status["containerStatuses"] = [{"restartCount": changes["crashed"], "state": state}]
    return Unstructured(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}
    )


def _deployment(*, tag: str = "1.0", wanted: int = 3, ready: int = 3) -> Unstructured:
    return Unstructured(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop", "resourceVersion": "6"},
            "spec": {
                "replicas": wanted,
                "template": {"spec": {"containers": [{"image": f"r.example:443/web:{tag}"}]}},
            },
            "status": {"readyReplicas": ready},
        }
    )


def _node(*, ready: bool) -> Unstructured:
    return Unstructured(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "node-1", "resourceVersion": "7"},
            "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
        }
    )


def _told(picture: Picture, gvr: Any, event: str, obj: Unstructured) -> tuple[str, Health] | None:
    news = picture.apply(gvr, obj, gone=event == "DELETED")
    return None if news is None else (f"{news.subject} {news.text}", news.health)


def test_the_life_of_a_pod_is_told_stage_by_stage() -> None:
    picture = Picture()

    told = [
        _told(picture, PODS, "ADDED", _pod()),
        _told(picture, PODS, "UPDATED", _pod(node="node-1")),
        _told(picture, PODS, "UPDATED", _pod(node="node-1", phase="Running", ready=True)),
        _told(picture, PODS, "UPDATED", _pod(node="node-1", phase="Running", crashed=2)),
        _told(picture, PODS, "UPDATED", _pod(node="node-1", phase="Running", ready=False)),
        _told(picture, PODS, "UPDATED", _pod(node="node-1", phase="Running", leaving=True)),
        _told(picture, PODS, "DELETED", _pod(node="node-1", phase="Running", leaving=True)),
    ]

    assert told == [
        ("pod shop/web-1 was created", Health.WAITING),
        ("pod shop/web-1 was scheduled to node-1", Health.WAITING),
        ("pod shop/web-1 is running", Health.GOOD),
        ("pod shop/web-1 crashed (restart 2)", Health.BAD),
        ("pod shop/web-1 is running, not ready", Health.BAD),
        ("pod shop/web-1 is terminating", Health.LEAVING),
        ("pod shop/web-1 was deleted", Health.LEAVING),
    ]
    assert picture.pods == {}
    assert picture.changes == 7


@pytest.mark.parametrize(
    ("new", "told"),
    [
        (_deployment(tag="1.1"), ("deployment shop/web rolls out 1.1 (was 1.0)", Health.WAITING)),
        (_deployment(wanted=5), ("deployment shop/web scales from 3 to 5", Health.WAITING)),
        (_deployment(ready=2), None),
    ],
    ids=["rolled", "scaled", "less ready"],
)
def test_a_deployment_tells_what_changed(
    new: Unstructured, told: tuple[str, Health] | None
) -> None:
    picture = Picture()
    picture.put(DEPLOYMENTS, _deployment())

    assert _told(picture, DEPLOYMENTS, "UPDATED", new) == told


def test_a_deployment_tells_when_it_is_complete_again() -> None:
    picture = Picture()
    picture.put(DEPLOYMENTS, _deployment(ready=2))

    told = _told(picture, DEPLOYMENTS, "UPDATED", _deployment(ready=3))

    assert told == ("deployment shop/web is available (3 of 3 ready)", Health.GOOD)


def test_a_node_tells_when_it_goes_silent_and_when_it_is_back() -> None:
    picture = Picture()

    told = [
        _told(picture, NODES, "ADDED", _node(ready=True)),
        _told(picture, NODES, "UPDATED", _node(ready=True)),
        _told(picture, NODES, "UPDATED", _node(ready=False)),
        _told(picture, NODES, "UPDATED", _node(ready=True)),
        _told(picture, NODES, "DELETED", _node(ready=True)),
    ]

    assert told == [
        ("node node-1 joined", Health.GOOD),
        None,
        ("node node-1 stopped reporting", Health.BAD),
        ("node node-1 is ready again", Health.GOOD),
        ("node node-1 was deleted", Health.LEAVING),
    ]


def test_what_was_there_from_the_beginning_is_no_news() -> None:
    picture = Picture()

    picture.put(PODS, _pod("a"))
    picture.put(NODES, _node(ready=True))

    assert list(picture.pods) == ["shop/a"]
    assert (list(picture.nodes), picture.changes, list(picture.news)) == (["node-1"], 0, [])


def test_the_resource_version_is_the_newest_of_all() -> None:
    picture = Picture()

    picture.put(NODES, _node(ready=True))
    picture.apply(PODS, _pod())

    assert picture.resource_version == "7"
