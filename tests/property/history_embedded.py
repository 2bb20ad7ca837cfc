"""The same plays on the embedded API server: real HTTP, and faults on the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from kinform.api import GVR
from kinform.client import Client
from kinform.errors import NotFoundError
from kinform.informers import ListWatch, ReflectorOptions
from kinform.testing import ApiServer, faults
from kinform.testing.interception import Call
from kinform.transport import Anonymous
from tests.property.histories import Question
from tests.property.history_folds import Known
from tests.property.history_runs import World
from tests.support.waiting import wait_until

CONFIG_MAPS = GVR("", "v1", "configmaps")
NAMESPACES = ("n1", "n2", "n3")

# Without those that take real seconds: Retry-After, and streams that fall silent.
EMBEDDED_TROUBLES: Mapping[str, Mapping[str, Callable[[], faults.Fault]]] = {
    "list": {
        "401": faults.unauthorized,
        "403": faults.forbidden,
        "404": faults.not_found,
        "410": faults.expired,
        "410 page": faults.expired_page,
        "429": lambda: faults.status(429, "TooManyRequests"),
        "502": faults.bad_gateway,
        "500": faults.empty_answer,
        "503": lambda: faults.status(503, "ServiceUnavailable"),
        "dropped": faults.drop_connection,
        "reset": faults.reset_connection,
        "cut": lambda: faults.cut_after(150),
        "truncated": lambda: faults.truncate(150),
        "no list": faults.malformed_list,
        "empty page": faults.empty_page,
        "late": lambda: faults.delay_answer(0.03),
    },
    "watch": {
        "401": faults.unauthorized,
        "403": faults.forbidden,
        "404": faults.not_found,
        "405": faults.method_not_allowed,
        "410": faults.expired,
        "410 event": faults.expired_event,
        "410 event later": lambda: faults.expired_event(after=2),
        "422": faults.initial_events_unsupported,
        "429": lambda: faults.status(429, "TooManyRequests"),
        "500 event": faults.internal_error_event,
        "500 event later": lambda: faults.internal_error_event(after=2),
        "storage read error": faults.storage_read_error_event,
        "error without kind": faults.error_event_without_kind,
        "closed at once": faults.close_silently,
        "closed": lambda: faults.close_silently(after=2),
        "dropped": faults.drop_connection,
        "reset": faults.reset_connection,
        "cut": lambda: faults.cut_after_events(2),
        "cut inside": lambda: faults.cut_inside_event(after=1),
        "ended inside": lambda: faults.end_inside_event(after=1),
        "replayed": faults.replay_on_resume,
        "garbage": lambda: faults.garbage_line(after=1),
        "malformed": lambda: faults.malformed_event(after=1),
        "changes before the end": faults.changes_before_end_bookmark,
        "byte by byte": lambda: faults.rechunk(1),
        "gzip": faults.gzip_members,
        "late": lambda: faults.delay_events(0.005),
    },
}


class Token(Anonymous):
    """What to show; a refused one is exchanged for what is good by then."""

    def __init__(self) -> None:
        self.number = 1
        self._shown = 1

    @property
    def newest(self) -> str:
        return f"token-{self.number}"

    async def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer token-{self._shown}"}

    async def refresh(self) -> bool:
        before, self._shown = self._shown, self.number
        return before != self._shown


class EmbeddedWorld(World):
    """On real sockets, in real time: handlers are a hundred times as fast."""

    haste = 0.01

    def __init__(
        self,
        api: ApiServer,
        client: Client,
        token: Token,
        questions: Sequence[Question],
        *,
        options: ReflectorOptions,
        transforms: bool,
    ) -> None:
        sources = [
            ListWatch.for_resource(
                client,
                CONFIG_MAPS,
                namespace=question.namespace,
                labels={"app": question.app} if question.app else "app",
            )
            for question in questions
        ]
        super().__init__(sources, questions, options=options, transforms=transforms)
        self._api = api
        self._token = token

    # -- steps -------------------------------------------------------------------------------

    def put(self, namespace: str, name: str, app: str) -> None:
        metadata: dict[str, Any] = {"namespace": namespace, "name": name, "labels": {"app": app}}
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        data = {"at": self._api.resource_version}
        if self._has(namespace, name):
            patch = {"metadata": {"labels": {"app": app}}, "data": data}
            self._api.patch(CONFIG_MAPS, name, patch, namespace)
        else:
            self._api.create({**obj, "data": data})

    def delete(self, namespace: str, name: str) -> None:
        if self._has(namespace, name):
            self._api.delete(CONFIG_MAPS, name, namespace)

    def compact(self) -> None:
        self._api.compact()

    def trouble_next(self, verb: str, trouble: str, times: int) -> None:
        fault = EMBEDDED_TROUBLES[verb][trouble]()
        if trouble == "replayed":
            applies = fault.applies_to
            fault = replace(fault, applies_to=lambda call: applies(call) and self._is_seen(call))
        self._api.faults.inject(fault, verb=verb, resource="configmaps", times=times)

    def _is_seen(self, call: Call) -> bool:
        """Whether a replay gives itself away: something in it is as old as what was asked for.

        If all that was known is gone or newer, nobody can tell a replay from news.
        """
        asked = int(call.query["resourceVersion"])
        selector = call.query.get("labelSelector", "")
        there = self._api.list(CONFIG_MAPS, call.namespace, labels=selector)
        return any(int(obj["metadata"]["resourceVersion"]) <= asked for obj in there)

    async def restart_server(self) -> None:
        """Every connection ends, and for a moment there is nobody to connect to."""
        await self._api.stop()
        await asyncio.sleep(0.01)
        await self._api.start()

    def rotate_token(self) -> None:
        self._token.number += 1
        self._api.replace_tokens({self._token.newest: "somebody"})

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    # -- the truth ---------------------------------------------------------------------------

    def truth(self) -> tuple[dict[str, Known], set[str]]:
        found: dict[str, Known] = {}
        for obj in self._api.list(CONFIG_MAPS):
            metadata = obj["metadata"]
            app = (metadata.get("labels") or {}).get("app")
            asked = (
                each.namespace in (None, metadata["namespace"]) and each.app in (None, app)
                for each in self.questions
            )
            if app is not None and any(asked):
                known = Known(metadata["uid"], int(metadata["resourceVersion"]), app)
                found[f"{metadata['namespace']}/{metadata['name']}"] = known
        return found, set()

    async def settle(self) -> str:
        """Some seconds are an age here."""
        with suppress(TimeoutError):
            await wait_until(lambda: not self._still_different(), timeout=20)
        return self._still_different()

    def _still_different(self) -> str:
        """The loop runs between two calls: without it, a restarted informer starts no thread."""
        if not self.informer.has_synced:
            return "it has not synced"
        return self.difference() or self.difference_of_threads()

    def _has(self, namespace: str, name: str) -> bool:
        try:
            self._api.get(CONFIG_MAPS, name, namespace)
        except NotFoundError:
            return False
        return True
