"""Scripts with changes of the scope, played on an informer and the embedded server."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Self, TypedDict

import pytest

from kinform.client import Client
from kinform.errors import AlreadyStoppedError, ConfigError
from kinform.informers import Latch, ReflectorOptions, Selectors, SharedIndexInformer
from kinform.objects import Unstructured
from kinform.testing import ApiServer, faults
from tests.property.histories import Question
from tests.property.history_embedded import CONFIG_MAPS, NAMESPACES, EmbeddedWorld, Token
from tests.property.history_folds import Known, Manner
from tests.property.live_scope_model import Request, RequestedScope, ScopeFold, Selection, WriteLog
from tests.support.waiting import wait_until

_SLOW_EVENTS = faults.delay_events(0.002)


class SelectorOptions(TypedDict, total=False):
    """How a selection is passed to an informer."""

    labels: str
    fields: str
    any_of: list[Selectors]


class StoreSampler:
    """Reads the store on a thread of its own, and notes what must not be in it."""

    def __init__(self, informer: SharedIndexInformer[Unstructured], scope: RequestedScope) -> None:
        self._informer = informer
        self._scope = scope
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store sampler")
        self._was_synced = False
        self.broken_promises: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(0.001) and not self.broken_promises:
            self.sample()

    def sample(self) -> None:
        oldest = self._scope.oldest_valid()
        for obj in self._informer.store.list():
            namespace, app = obj.namespace, obj.labels.get("app", "")
            if not self._scope.admits_since(oldest[namespace], namespace, obj.name, app):
                requests = self._scope.describe(namespace)
                self.broken_promises.append(
                    f"the store has {obj.key} (app={app}) outside of the scopes {requests}, "
                    f"of which those from {oldest[namespace]} on were valid"
                )
        synced = bool(self._informer.has_synced)
        if self._was_synced and not synced:
            self.broken_promises.append("has_synced was set and is not set any more")
        self._was_synced = synced


class LiveScopeWorld(EmbeddedWorld):
    """An informer whose scope the script changes."""

    def __init__(
        self,
        api: ApiServer,
        client: Client,
        token: Token,
        initial: Mapping[str, Selection],
        *,
        options: ReflectorOptions,
    ) -> None:
        questions = [Question(name, each.app) for name, each in initial.items()]
        super().__init__(api, client, token, questions, options=options, transforms=False)
        self.scope = RequestedScope(dict(initial), NAMESPACES)
        self.writes = WriteLog()
        self.sampler = StoreSampler(self.informer, self.scope)
        self._forbidden: list[faults.Injection] = []

    # -- scope -------------------------------------------------------------------------------

    def add_namespace(self, namespace: str, selection: Selection) -> None:
        self._change(*self._addition(namespace, selection))

    def remove_namespace(self, namespace: str) -> None:
        self._change(*self._removal(namespace))

    def set_selectors(self, selection: Selection, namespace: str | None) -> None:
        self._change(*self._selection(selection, namespace))

    async def add_on_thread(self, namespace: str, selection: Selection) -> None:
        await asyncio.to_thread(self._change, *self._addition(namespace, selection))

    async def remove_on_thread(self, namespace: str) -> None:
        await asyncio.to_thread(self._change, *self._removal(namespace))

    async def select_on_thread(self, selection: Selection, namespace: str | None) -> None:
        await asyncio.to_thread(self._change, *self._selection(selection, namespace))

    async def toggle_all_at_once(self, selection: Selection) -> None:
        """Each namespace on its own thread: add it if it is not covered, else remove it."""
        await asyncio.gather(
            *(
                self.add_on_thread(name, selection)
                if self.scope[name] is None
                else self.remove_on_thread(name)
                for name in NAMESPACES
            )
        )

    async def select_slowly(
        self, selection: Selection, namespace: str, written: list[tuple[str, str | None]]
    ) -> None:
        """Change the selectors, and write while the pages or events of the new list arrive."""
        for verb, fault in (("list", faults.delay_answer(0.004)), ("watch", _SLOW_EVENTS)):
            self._api.faults.inject(
                fault, verb=verb, resource="configmaps", namespace=namespace, times=3
            )
        self.set_selectors(selection, namespace)
        for name, app in written:
            await asyncio.sleep(0.003)
            self.rush(namespace, name, [app])

    def _addition(
        self, namespace: str, selection: Selection
    ) -> tuple[Callable[[], Latch], dict[str, Selection | None] | None]:
        def call() -> Latch:
            return self.informer.add_namespace(namespace, **_options(selection))

        covered = self.scope[namespace]
        is_valid = covered is None or covered.selectors == selection.selectors
        return call, {namespace: selection} if is_valid else None

    def _removal(
        self, namespace: str
    ) -> tuple[Callable[[], Latch], dict[str, Selection | None] | None]:
        def call() -> Latch:
            return self.informer.remove_namespace(namespace)

        return call, None if self.scope[namespace] is None else {namespace: None}

    def _selection(
        self, selection: Selection, namespace: str | None
    ) -> tuple[Callable[[], Latch], dict[str, Selection | None] | None]:
        def call() -> Latch:
            return self.informer.set_selectors(**_options(selection), namespace=namespace)

        if namespace is not None and self.scope[namespace] is None:
            return call, None
        touched = self.scope.namespaces if namespace is None else [namespace]
        return call, dict.fromkeys(touched, selection)

    def _change(
        self, call: Callable[[], Latch], expected: Mapping[str, Selection | None] | None
    ) -> None:
        """Change the scope, or find that an invalid change is rejected and changes nothing."""
        if expected is None:
            before = self.informer.scope
            with pytest.raises(ConfigError):
                call()
            assert self.informer.scope == before
            return
        requests: list[Request] = [
            self.scope.request(name, selection) for name, selection in expected.items()
        ]
        latch = call()
        for request in requests:
            request.latch = latch
        covered = self.informer.scope.selectors
        for name, selection in expected.items():
            if selection is None:
                assert name not in covered
            else:
                assert set(covered[name]) == selection.selectors

    async def await_scope(self) -> None:
        """Wait for all changes, unless one cannot be complete now."""
        if not self._forbidden and self.informer.is_running:
            await wait_until(lambda: not self._pending(), timeout=20)

    # -- server ------------------------------------------------------------------------------

    def put(self, namespace: str, name: str, app: str) -> None:
        super().put(namespace, name, app)
        self.writes.put(f"{namespace}/{name}", app)

    def delete(self, namespace: str, name: str) -> None:
        super().delete(namespace, name)
        self.writes.delete(f"{namespace}/{name}")

    def forbid(self, namespace: str) -> None:
        self._forbidden += [
            self._api.faults.inject(
                faults.forbidden(),
                verb=verb,
                resource="configmaps",
                namespace=namespace,
                times=None,
            )
            for verb in ("list", "watch")
        ]

    def allow_all(self) -> None:
        while self._forbidden:
            self._forbidden.pop().remove()

    # -- checks ------------------------------------------------------------------------------

    def _new_fold(self, kind: str, manner: Manner) -> ScopeFold:
        self._joined += 1
        return ScopeFold(f"{kind} {self._joined}", replace(manner, pace=manner.pace * self.haste))

    async def catch_up(self) -> None:
        self.allow_all()
        await super().catch_up()

    def truth(self) -> tuple[dict[str, Known], set[str]]:
        found: dict[str, Known] = {}
        for obj in self._api.list(CONFIG_MAPS):
            metadata = obj["metadata"]
            app = metadata["labels"]["app"]
            if self.scope.covers(metadata["namespace"], metadata["name"], app):
                known = Known(metadata["uid"], int(metadata["resourceVersion"]), app)
                found[f"{metadata['namespace']}/{metadata['name']}"] = known
        return found, set()

    def difference(self) -> str:
        if pending := self._pending():
            return f"changes of the scope are pending: {pending}"
        if sorted(self.informer.namespaces) != self.scope.namespaces:
            return f"it covers {self.informer.namespaces}, requested was {self.scope.namespaces}"
        return super().difference() or self._surplus_watches()

    def _pending(self) -> list[Latch]:
        return [latch for latch in self.scope.latches if not latch and not _was_given_up(latch)]

    def _surplus_watches(self) -> str:
        """Every selector has at most one watch; one that broke may be about to come back."""
        watches = self._api.requests.watches(CONFIG_MAPS)
        opened = Counter(str(each.namespace) for each in watches if each.is_open)
        wanted = {name: len(_selectors(self.scope[name])) for name in opened}
        if any(count > wanted[name] for name, count in opened.items()):
            return f"watches are open in {opened}, wanted are {wanted}"
        return ""

    def check_promises(self) -> None:
        assert not self.sampler.broken_promises, self.sampler.broken_promises
        super().check_promises()
        for listener in (*self.listeners, *self.gone):
            fold = listener.fold
            assert isinstance(fold, ScopeFold)
            unjustified = fold.unjustified(self.scope, self.writes)
            assert not unjustified, "\n".join([*unjustified, *map(str, fold.heard)])


def _selectors(selection: Selection | None) -> set[Selectors]:
    return set() if selection is None else selection.selectors


def _options(selection: Selection) -> SelectorOptions:
    one, *more = selection.selectors
    if more:
        return {"any_of": [one, *more]}
    return {"labels": one.labels, "fields": one.fields}


def _was_given_up(latch: Latch) -> bool:
    """Whether waiting raises; on a thread, because the loop must not block."""
    outcome: list[bool] = []

    def wait() -> None:
        with suppress(AlreadyStoppedError):
            latch.wait(0)
            return
        outcome.append(True)

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
    return bool(outcome)
