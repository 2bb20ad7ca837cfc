"""Injects faults into matching requests: how many, from which on and until when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from kinform._checks import expect
from kinform.client import ResourceLike
from kinform.errors import ConfigError
from kinform.testing.faults._fault import Fault, Hooks
from kinform.testing.interception import (
    Call,
    CallFilter,
    FrameFilter,
    ListResponse,
    Sink,
    WatchFrame,
)
from kinform.testing.resources import ResourceRegistry


class Injection:
    """An injected fault. It ends with its ``with`` block, or with ``remove``."""

    def __init__(
        self, fault: Fault, calls: CallFilter, *, times: int | None, after: int, faults: Faults
    ) -> None:
        self.fault = fault
        self.hits = 0
        """The number of requests it affected."""
        self._calls = calls
        self._times = times
        self._to_skip = after
        self._faults = faults

    @property
    def active(self) -> bool:
        """Whether it would still affect a matching request."""
        return self._faults.has(self) and (self._times is None or self.hits < self._times)

    def remove(self) -> None:
        """Affect no more requests; those already affected stay so. Idempotent."""
        self._faults.remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<Injection {self.fault.name}, hits={self.hits}, active={self.active}>"

    def matches(self, call: Call) -> bool:
        """Whether the fault applies to this request. Also counts the requests to skip."""
        fault = self.fault
        if not self.active or (fault.verbs and call.verb not in fault.verbs):
            return False
        if not self._calls.matches(call) or not fault.applies_to(call):
            return False
        if self._to_skip:
            self._to_skip -= 1
            return False
        return True

    def hit(self, call: Call) -> Hooks:
        hooks = self.fault.hooks(call, self.hits)
        self.hits += 1
        return hooks


class FaultInterception:
    """One request and the faults that affect it. The first injected is closest to the server."""

    def __init__(self, call: Call, faults: Sequence[str], hooks: Sequence[Hooks]) -> None:
        self.faults = tuple(faults)
        self._hooks = hooks
        for hook in hooks:
            if hook.call is not None:
                call = hook.call(call)
        self.call = call

    def sink(self, sink: Sink) -> Sink:
        # Wrapped in reverse, so that the last injected is closest to the network.
        for hook in reversed(self._hooks):
            if hook.sink is not None:
                sink = hook.sink(sink)
        return sink

    async def before(self, sink: Sink) -> bool:
        for hook in self._hooks:
            if hook.before is not None and await hook.before(self.call, sink):
                return True
        return False

    def authenticated(self, user: str) -> None:
        """Do nothing: faults do not depend on the user."""

    def frames(self) -> FrameFilter | None:
        filters = [hook.frames for hook in self._hooks if hook.frames is not None]
        if not filters:
            return None

        def through_all(frame: WatchFrame) -> list[WatchFrame]:
            frames = [frame]
            for frame_filter in filters:
                frames = [out for frame in frames for out in frame_filter(frame)]
            return frames

        return through_all

    def listing(self, response: ListResponse) -> ListResponse:
        for hook in self._hooks:
            if hook.listing is not None:
                response = hook.listing(response)
        return response

    def end(self) -> None:
        """Do nothing: there are no resources to release."""


class Faults:
    """The injected faults of a server, as in ``ApiServer.faults``."""

    def __init__(self, registry: ResourceRegistry) -> None:
        self._registry = registry
        self._injections: list[Injection] = []

    def inject(
        self,
        fault: Fault,
        *,
        verb: str | None = None,
        resource: ResourceLike | None = None,
        namespace: str | None = None,
        name: str | None = None,
        path: str | None = None,
        times: int | None = 1,
        after: int = 0,
        when: Callable[[Call], bool] | None = None,
    ) -> Injection:
        """Inject ``fault`` into the next requests that match all criteria.

        Args:
            fault: A fault from ``kinform.testing.faults``.
            verb: ``watch``, ``list``, …; ``None`` for all verbs that the fault supports.
            resource: ``pods``, ``deployments.apps``, or a resource as for a client:
                ``apps/v1/deployments``, a GVR or a model class.
            namespace: The namespace in the path; an empty string means "across all namespaces".
            name: The object's name in the path.
            path: The whole path; ``*`` matches anything.
            times: The number of requests to affect; ``None`` for all until it is removed.
            after: The number of matching requests to skip first.
            when: A predicate on the call, evaluated after all other criteria.

        Raises:
            ConfigError: The criteria cannot match any request, or ``fault`` is not a fault.
            NoMatchError: The resource is not served; the message suggests others.
        """
        expect(
            fault,
            Fault,
            receiver="faults.inject",
            expected="a fault of kinform.testing.faults",
            hint="call the function that returns it: inject(faults.expired(), ...)",
        )
        if times is not None and times < 1:
            raise ConfigError(f"times={times} affects no request; pass at least 1, or None")
        if after < 0:
            raise ConfigError(f"after={after} is negative; pass the number of requests to skip")
        calls = CallFilter.of(verb, resource, namespace, name, path, when)
        if calls.resource is not None:
            self._registry.check_served(calls.resource)
        if verb is not None and fault.verbs and verb not in fault.verbs:
            raise ConfigError(
                f"the fault {fault.name!r} only supports {' and '.join(sorted(fault.verbs))}"
            )
        injection = Injection(fault, calls, times=times, after=after, faults=self)
        self._injections.append(injection)
        return injection

    def clear(self) -> None:
        """Remove all faults."""
        self._injections.clear()

    def has(self, injection: Injection) -> bool:
        return injection in self._injections

    def remove(self, injection: Injection) -> None:
        if injection in self._injections:
            self._injections.remove(injection)

    @property
    def active(self) -> tuple[Injection, ...]:
        """The injections that can still affect requests."""
        return tuple(injection for injection in self._injections if injection.active)

    def begin(self, call: Call) -> FaultInterception:
        """Intercept a request with all matching faults, but only the first that responds."""
        if not self._injections:
            return FaultInterception(call, (), ())
        names: list[str] = []
        hooks: list[Hooks] = []
        answered = False
        for injection in self.active:
            if (answered and injection.fault.answers) or not injection.matches(call):
                continue
            hooks.append(injection.hit(call))
            names.append(injection.fault.name)
            answered = answered or injection.fault.answers
        return FaultInterception(call, names, hooks)
