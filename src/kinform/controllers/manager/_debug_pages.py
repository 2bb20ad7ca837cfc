"""The content of the debug pages: informers and controllers, as JSON and as HTML."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from kinform.controllers.manager._clusters import ClusterSet
from kinform.controllers.manager._engine import Engine
from kinform.controllers.manager._html import Page, bytes_text, seconds_text
from kinform.controllers.manager._http_server import DebugPage
from kinform.controllers.manager._protocols import ManagedController
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
            data=lambda: controllers_data(engine, status()),
            html=controllers_html,
            part=lambda name: _component_data(controllers_data(engine, status()), name),
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
        data["controller"] = None if controller is None else _controller_data(controller)
        components.append(data)
    return {**to_data(manager), "components": components}


def _component_data(data: Any, name: str) -> Any:
    """Return the data of the page of one component; ``None`` if there is no such component."""
    chosen = [each for each in data["components"] if each["name"] == name]
    return {**data, "components": chosen} if chosen else None


def _controller_data(controller: ManagedController) -> Any:
    try:
        status = controller.status()
    except Exception as error:  # a custom controller
        return {"error": describe(error)}
    data = to_data(status)
    queue = getattr(status, "queue", None)
    for name in ("oldest_key", "longest_running_key"):
        # Keys as logs show them: ``namespace/name`` for a request, whatever its structure.
        key = getattr(queue, name, None)
        if key is not None:
            data["queue"][name] = str(key)
    return data


def to_data(value: Any) -> Any:
    """Return a status as JSON types. What JSON does not have becomes text."""
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
                (
                    kind,
                    name,
                    handler["depth"],
                    seconds_text(handler["age"] if handler["depth"] else None),
                    handler["processed"],
                    handler["failed"],
                    handler["last_error"] or "",
                )
                for kind, each in rows.items()
                for name, handler in each["handlers"].items()
            ],
            title="Handlers",
        )
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
    leader = f" ({data['leader']} is)" if data["leader"] and not data["is_leader"] else ""
    role = "this is the leader" if data["is_leader"] else "this is not the leader"
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
    controllers = {
        each["name"]: each["controller"]
        for each in data["components"]
        if isinstance(each["controller"], dict)
    }
    _queues_html(page, controllers)
    _reconciles_html(page, controllers)
    page.table(
        ("controller", "source", "synced", "required", "failures", "problem"),
        [
            (name, each["name"], each["has_synced"], each["is_required"], each["failures"],
             each["problem"])
            for name, status in controllers.items()
            for each in status.get("sources", ())
        ],
        title="Sources",
    )  # fmt: skip
    for name, status in controllers.items():
        if "queue" not in status:  # of another class
            page.table((name, ""), list(status.items()))
    return page.render()


def _queues_html(page: Page, controllers: Mapping[str, Any]) -> None:
    queues = {name: each["queue"] for name, each in controllers.items() if each.get("queue")}
    page.table(
        ("controller", "ready", "delayed", "next due", "in work", "oldest key", "waits",
         "longest running key", "runs", "adds", "retries"),
        [
            (
                name,
                each["ready"],
                each["delayed"],
                seconds_text(each["next_due"]),
                each["processing"],
                each["oldest_key"],
                seconds_text(each["oldest_age"]),
                each["longest_running_key"],
                seconds_text(each["longest_running"]),
                each["adds"],
                each["retries"],
            )
            for name, each in queues.items()
        ],
        title="Queues",
    )  # fmt: skip


def _reconciles_html(page: Page, controllers: Mapping[str, Any]) -> None:
    known = {name: each for name, each in controllers.items() if "outcomes" in each}
    outcomes = list(dict.fromkeys(key for each in known.values() for key in each["outcomes"]))
    page.table(
        ("controller", "state", "workers", *outcomes, "timeouts"),
        [
            (
                name,
                each["state"],
                each["workers"],
                *(each["outcomes"].get(outcome, 0) for outcome in outcomes),
                each["timeouts"],
            )
            for name, each in known.items()
        ],
        title="Reconciles",
    )
    page.table(
        ("controller", "key", "for"),
        [
            (name, key, seconds_text(seconds))
            for name, each in known.items()
            for key, seconds in each["active"].items()
        ],
        title="Running now",
    )
    now = time.time()
    page.table(
        ("controller", "key", "attempt", "when", "error", "is tried again"),
        [
            (
                name,
                failure["key"],
                failure["attempt"],
                seconds_text(max(0.0, now - failure["at"]), " ago"),
                failure["error"],
                not failure["is_terminal"],
            )
            for name, each in known.items()
            for failure in each["failures"]
        ],
        title="Last failures",
    )


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {number}" for name, number in counts.items())
