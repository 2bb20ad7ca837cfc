"""SIGTERM and SIGINT: the first one stops gracefully, the second one ends the process."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from kinform.errors import StateError

logger = logging.getLogger("kinform.manager")

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stop_on_signals(stop: Callable[[], object], *, receiver: str) -> Iterator[None]:
    """Call ``stop`` at the first SIGTERM or SIGINT; the second one ends the process at once.

    The exit code is then 128 plus the number of the signal, as shells report it. The previous
    handlers are restored afterwards.

    Args:
        stop: Thread-safe; called in the main thread, between any two instructions of it.
        receiver: The function that was called, for the message.

    Raises:
        StateError: This is not the main thread, the only one that can handle signals.
    """
    if threading.current_thread() is not threading.main_thread():
        raise StateError(
            f"{receiver} must be called in the main thread, because only it can handle signals; "
            "call run() here, and stop() from the main thread"
        )
    received: list[int] = []

    # Not loop.add_signal_handler: a blocked loop would never call it, and the second signal is
    # for such programs.
    def handle(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        if len(received) > 1:
            # os.write, because the signal may have interrupted a buffered write.
            os.write(2, b"second signal: exiting without cleanup\n")
            os._exit(128 + number)
        stop()

    previous = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            # None: installed by code that is not Python, and cannot be restored.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if received:
            logger.info("stopped by %s", signal.Signals(received[0]).name)
