"""The blocking leader elector: the work of a leader runs on a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self, TypedDict, Unpack

from kinform._checks import check_plain
from kinform.blocking._client import Client, inner_client
from kinform.blocking._facade import BlockingFacade, ForwardedAttribute, direct_method
from kinform.blocking._owner import Owner
from kinform.controllers import LeaderElector as AsyncElector
from kinform.controllers import Leadership, LeaderWork
from kinform.informers import Latch
from kinform.metrics import Metrics


class LeaderElectorOptions(TypedDict, total=False):
    """The options of ``kinform.controllers.LeaderElector``, documented there."""

    namespace: str | None
    identity: str | None
    lease_duration: float
    renew_deadline: float
    retry_period: float
    release: bool
    labels: Mapping[str, str] | None
    on_new_leader: Callable[[str], object] | None
    metrics: Metrics
    clock: Callable[[], float]


class LeaderElector(BlockingFacade):
    """Campaigns for a Lease, and runs work on a thread only while this process has it.

        def work(leadership):
            while not leadership.lost.wait(timeout=10):
                clean_up()

        blocking.LeaderElector(client, "web-controller").run(work)

    A thread cannot be cancelled: the work must watch ``leadership.lost`` and return soon after it
    is set. Everything else behaves as in ``kinform.controllers.LeaderElector``. The lease is
    renewed on the loop thread of the client, whatever the work does.

    ``with elector:`` campaigns in the background instead; ``elector.elected.wait()`` waits for the
    leadership, and ``elector.leadership`` is the current one.

    Args:
        client: The client of the cluster.
        name: The name of the Lease.
        options: The options of ``kinform.controllers.LeaderElector``.

    Raises:
        ConfigError: ``client`` is not a blocking client, or an option is invalid.
        InvalidNameError: A name is invalid.
    """

    _inner: AsyncElector

    def __init__(self, client: Client, name: str, **options: Unpack[LeaderElectorOptions]) -> None:
        inner = AsyncElector(inner_client(client, receiver="LeaderElector"), name, **options)
        owner = Owner(
            inner.close,
            name=f"the blocking election {inner.namespace}/{name} of {client.config.server}",
            instead="kinform.controllers.LeaderElector",
            loop=client._owner.loop,
            needs=client._owner,
        )
        super().__init__(inner, owner)

    name = ForwardedAttribute[str]()
    namespace = ForwardedAttribute[str]()
    identity = ForwardedAttribute[str]()
    leadership = ForwardedAttribute[Leadership | None]()
    is_leader = ForwardedAttribute[bool]()
    leader = ForwardedAttribute[str]()
    elected = ForwardedAttribute[Latch]()
    is_running = ForwardedAttribute[bool]()
    stopped = ForwardedAttribute[Latch]()

    status = direct_method(AsyncElector.status)
    problems = direct_method(AsyncElector.problems)
    stop = direct_method(AsyncElector.stop)

    def run(self, work: Callable[[Leadership], object], *, again: bool = True) -> None:
        """Campaign, and run the work on a new thread while this process is the leader.

        If the leadership is lost, the next campaign starts after the work has returned. If the work
        returns before, the lease is released and the call returns. ``stop()`` and Ctrl-C set
        ``leadership.lost``, wait for the work, and release the lease.

        Args:
            work: A plain function, called with the ``Leadership`` of each term.
            again: Whether to campaign again after the leadership is lost.

        Raises:
            AlreadyStartedError: It is running.
            LeadershipLostError: The leadership was lost, and ``again`` is false.
            ConfigError: ``work`` is not a plain function.
        """
        check_plain("work", work)
        try:
            self._owner.run(self._inner.run(_on_thread(work, self.name), again=again))
        except (KeyboardInterrupt, SystemExit):
            self._inner.stop()
            self._inner.stopped.wait()
            raise

    def start(self) -> None:
        """Campaign in the background, again after each loss. May be called after a stop.

        Raises:
            AlreadyStartedError: It is running.
        """
        self._owner.call(self._inner.start)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._owner.run_if_open(self._inner.__aexit__(kind, error, trace))

    def __repr__(self) -> str:
        return f"<blocking {repr(self._inner)[1:]}"


def _on_thread(work: Callable[[Leadership], object], name: str) -> LeaderWork:
    """Return async work that runs a function on a thread, and always waits for its end."""

    async def run(leadership: Leadership) -> None:
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        errors: list[BaseException] = []

        def call() -> None:
            try:
                work(leadership)
            except BaseException as error:  # raised on the thread that waits
                errors.append(error)
            finally:
                loop.call_soon_threadsafe(ended.set)

        threading.Thread(target=call, name=f"leader {name}", daemon=True).start()
        while not ended.is_set():
            try:
                await ended.wait()
            except asyncio.CancelledError:
                # The elector has set ``leadership.lost``, and renews the lease until the end.
                continue
        if errors:
            raise errors[0]

    return run
