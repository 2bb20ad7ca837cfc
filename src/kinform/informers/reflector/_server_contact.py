"""How one reflector takes part in the reachability that all informers of a client share."""

from __future__ import annotations

import asyncio

from kinform.client import Reachability


class ServerContact:
    """Opens connections at the shared rate, and shares what a response shows.

    Attributes:
        reachability: The shared state.
    """

    def __init__(self, reachability: Reachability) -> None:
        self.reachability = reachability
        self._was_woken = False

    async def admit(self) -> None:
        """Wait until the next connection may be opened."""
        await self.reachability.admit()

    def answered(self) -> None:
        """Report that the server responded, so other reflectors can stop waiting."""
        self._was_woken = False
        self.reachability.answered()

    async def wait(self, delay: float, *, until_reachable: bool = False) -> None:
        """Wait for ``delay`` seconds, or until another reflector reaches the server."""
        if until_reachable and not self._was_woken:
            self._was_woken = await self.reachability.wait(delay)
        else:
            # Also after a wake-up that did not help this reflector: one is enough.
            self._was_woken = False
            await asyncio.sleep(delay)
