"""Records each request in the request log, and passes it on to the faults."""

from __future__ import annotations

import time
from collections.abc import Mapping

from kinform.testing.faults import FaultInterception, Faults
from kinform.testing.interception import Call, FrameFilter, ListResponse, Sink, SinkWrapper
from kinform.testing.recording._request_log import ReceivedRequest, RequestLog

# An allowlist, so that credentials are never kept.
_HEADERS_KEPT = frozenset(
    {
        "accept",
        "accept-encoding",
        "content-length",
        "content-type",
        "if-none-match",
        "impersonate-user",
        "user-agent",
    }
)


class RequestRecorder:
    """Passes all requests of a server on to the faults, and records them in the log."""

    def __init__(self, log: RequestLog, faults: Faults) -> None:
        self._log = log
        self._faults = faults

    def begin(self, call: Call) -> RecordedInterception:
        headers = {name.lower(): value for name, value in call.headers.items()}
        kept = {name: headers[name] for name in sorted(_HEADERS_KEPT & headers.keys())}
        asked = Call(
            method=call.method,
            path=call.path,
            query=dict(call.query),
            headers=kept,
            verb=call.verb,
            gvr=call.gvr,
            namespace=call.namespace,
            name=call.name,
            subresource=call.subresource,
        )
        interception = self._faults.begin(call)
        request = ReceivedRequest(asked, time.time(), faults=interception.faults)
        self._log.add(request)
        return RecordedInterception(request, interception, self._log)


class RecordedInterception:
    """One request, recorded while it is handled."""

    def __init__(
        self, request: ReceivedRequest, interception: FaultInterception, log: RequestLog
    ) -> None:
        self.call = interception.call
        self._request = request
        self._interception = interception
        self._log = log
        self._began = time.monotonic()

    def sink(self, sink: Sink) -> Sink:
        # Closest to the network, to count the bytes that are actually sent.
        return self._interception.sink(_CountingSink(sink, self._request, self._log))

    async def before(self, sink: Sink) -> bool:
        return await self._interception.before(sink)

    def authenticated(self, user: str) -> None:
        self._request.user = user

    def frames(self) -> FrameFilter | None:
        return self._interception.frames()

    def listing(self, response: ListResponse) -> ListResponse:
        return self._interception.listing(response)

    def end(self) -> None:
        self._request.duration = time.monotonic() - self._began
        self._log.changed(self._request)


class _CountingSink(SinkWrapper):
    def __init__(self, sink: Sink, request: ReceivedRequest, log: RequestLog) -> None:
        super().__init__(sink)
        self._request = request
        self._log = log

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        self._request.status = status
        self._log.changed(self._request)
        await super().start(status, headers)

    async def write(self, data: bytes) -> None:
        await super().write(data)
        self._request.bytes_sent += len(data)
