"""The content of the debug pages: informers and controllers, as JSON and as HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from kinform.controllers.manager._clusters import ClusterSet
from kinform.controllers.manager._engine import Engine
from kinform.controllers.manager._html import Page, bytes_text, seconds_text
from kinform.controllers.manager._http_server import DebugPage
from kinform.controllers.manager._status import ManagerStatus
from kinform.controllers.manager._supervisor import describe
from kinform.informers import InformerStatus


def debug_pages(
    engine: Engine, clusters: ClusterSet, status: Callable[[], ManagerStatus]
) -> Mapping[str, DebugPage]:
    """Return the pages by path."""
    return {
        "/debug/informers": DebugPage(data=lambda: informers_data(clusters), html=informers_html),
        "/debug/controllers": DebugPage(
            data=lambda: controllers_data(engine, status()), html=controllers_html
        ),
    }


def informers_data(clusters: ClusterSet) -> Any:
    """Return the informers of all caches, by cluster and kind."""
    return {
        "clusters": [
            {
                "name": name,
                "problems": dict(cluster.cache.health().problems),
                "informers": {
                    kind: _informer_data(each) for kind, each in cluster.cache.status().items()
                },
            }
            for name, cluster in clusters.by_name.items()
        ]
    }


def _informer_data(status: InformerStatus) -> dict[str, Any]:
    error = status.last_error
    return {
        "phase": status.phase.value,
        "synced": status.sync.synced,
        "staleness": status.staleness,
        "objects": status.objects,
        "bytes": status.bytes,
        "index_bytes": dict(status.index_bytes),
        "resource_version": status.resource_version,
        "queue_depth": status.queue_depth,
        "quarantined": status.quarantined,
        "watch_opens": status.watch_opens,
        "event_age": status.event_age,
        "list_age": status.list_age,
        "relists": dict(status.relists),
        "errors": dict(status.errors),
        "last_error": None if error is None else describe(error),
        "recent_errors": [
            {"age": each.age, "kind": each.kind, "message": each.message}
            for each in status.recent_errors
        ],
        "handlers": {
            name: {
                "depth": each.depth,
                "age": each.age,
                "processed": each.processed,
                "failed": each.failed,
                "last_error": None if each.last_error is None else describe(each.last_error),
            }
            for name, each in status.handlers.items()
        },
    }


def controllers_data(engine: Engine, manager: ManagerStatus) -> Any:
    """Return the manager, and each component with the status of its controller."""
    components = []
    for member, status in zip(engine.members, manager.components, strict=True):
        data = to_data(status)
        controller = member.component.controller
        data["controller"] = None if controller is None else to_data(controller.status())
        components.append(data)
    return {**to_data(manager), "components": components}


def to_data(value: Any) -> Any:
    """Return a status as JSON types. Keys of a queue may be of any type: they become text."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=str)


def informers_html(data: Any) -> str:
    """Return the page of the informers."""
    page = Page("Informers")
    for cluster in data["clusters"]:
        page.heading(f"Cluster {cluster['name']}" if cluster["name"] else "Cache")
        page.problems([f"{kind}: {text}" for kind, text in cluster["problems"].items()])
        rows = cluster["informers"]
        page.table(
            ("kind", "phase", "current as of", "objects", "size", "version", "queued", "last event",
             "watches", "relists", "quarantined", "last error"),
            [
                (
                    kind,
                    each["phase"] if each["synced"] else f"{each['phase']}, not synced",
                    seconds_text(each["staleness"], " ago"),
                    each["objects"],
                    bytes_text(each["bytes"]),
                    each["resource_version"],
                    each["queue_depth"],
                    seconds_text(each["event_age"], " ago"),
                    each["watch_opens"],
                    _counts(each["relists"]),
                    each["quarantined"],
                    each["last_error"] or "",
                )
                for kind, each in rows.items()
            ],
            empty="no informers",
        )  # fmt: skip
        page.table(
            ("kind", "handler", "pending", "oldest", "processed", "failed", "last error"),
            [
                (kind, name, handler["depth"], seconds_text(handler["age"]), handler["processed"],
                 handler["failed"], handler["last_error"] or "")
                for kind, each in rows.items()
                for name, handler in each["handlers"].items()
            ],
            title="Handlers",
        )  # fmt: skip
        page.table(
            ("kind", "when", "error", "message"),
            [
                (kind, seconds_text(error["age"], " ago"), error["kind"], error["message"])
                for kind, each in rows.items()
                for error in reversed(each["recent_errors"])
            ],
            title="Recent errors",
        )
    return page.render()


def controllers_html(data: Any) -> str:
    """Return the page of the controllers."""
    page = Page(f"Controllers of {data['name']}")
    leader = f", the leader is {data['leader']}" if data["leader"] else ""
    role = "leader" if data["is_leader"] else "not the leader"
    page.text(f"{data['state']}, {role}{leader}")
    page.problems([f"{c['name']}: {c['problem']}" for c in data["components"] if c["problem"]])
    page.table(
        ("component", "kind", "cluster", "runs", "state", "restarts", "last error"),
        [
            (
                each["name"],
                each["kind"],
                each["cluster"],
                "on the leader" if each["needs_leader"] else "everywhere",
                each["state"],
                each["restarts"],
                each["last_error"],
            )
            for each in data["components"]
        ],
        empty="no components",
    )
    for component in data["components"]:
        if isinstance(component["controller"], dict):
            _controller_html(page, component["name"], component["controller"])
    return page.render()


def _controller_html(page: Page, name: str, status: dict[str, Any]) -> None:
    """Add one controller. Unknown fields are shown, too: a controller may be of another class."""
    page.heading(name)
    simple = {key: value for key, value in status.items() if not isinstance(value, dict | list)}
    page.table(tuple(simple), [tuple(simple.values())])
    queue = status.get("queue")
    if isinstance(queue, dict):
        page.table(
            ("ready", "delayed", "in work", "oldest key", "waits", "longest running key", "runs",
             "next due", "adds", "retries"),
            [(
                queue.get("ready"), queue.get("delayed"), queue.get("processing"),
                queue.get("oldest_key"), seconds_text(queue.get("oldest_age")),
                queue.get("longest_running_key"), seconds_text(queue.get("longest_running")),
                seconds_text(queue.get("next_due")), queue.get("adds"), queue.get("retries"),
            )],
            title="Queue",
        )  # fmt: skip
    for key, value in status.items():
        if key == "queue" or not value:
            continue
        if isinstance(value, dict):
            page.table((key, ""), list(value.items()))
        elif isinstance(value, list):
            page.records(key, value)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {number}" for name, number in counts.items())
