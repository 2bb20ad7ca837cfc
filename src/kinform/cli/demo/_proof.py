"""Checks at the end of the demo that the informers lost nothing."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from kinform.api import GVR
from kinform.cli.demo._follower import Follower
from kinform.cli.demo._ledger import Account, Ledger, key_of
from kinform.cli.demo._troubles import Troubles
from kinform.testing import ApiServer

_PATIENCE = 15.0
_POLL = 0.05
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of the check; ``holds`` if nothing was lost.

    Attributes:
        account: The changes on the server, compared with the events of the handlers.
        objects: The number of objects on the server.
        differences: The objects that are not the same in a store and on the server.
        resumed: The number of watches that continued where they were broken.
        relisted: The number of times that a resource was listed again.
    """

    account: Account
    objects: int
    differences: tuple[str, ...]
    resumed: int
    relisted: int

    @property
    def holds(self) -> bool:
        return not (self.account.missing or self.account.unexpected or self.differences)

    def __str__(self) -> str:
        account = self.account
        lines = [
            f"{account.written} changes on the server",
            f"{account.received} received, {account.replaced} replaced by a later one before a "
            f"new list, {len(account.missing)} lost, {len(account.unexpected)} repeated",
            f"{self.resumed} watches resumed, {self.relisted} resources listed again",
            f"{self.objects} objects in 3 stores, equal to the server: "
            f"{'no' if self.differences else 'yes'}",
        ]
        details = [
            *(f"lost: {each}" for each in account.missing),
            *(f"repeated: {each}" for each in account.unexpected),
            *(f"different: {each}" for each in self.differences),
        ]
        lines += details[:_SHOWN]
        if len(details) > _SHOWN:
            lines.append(f"and {len(details) - _SHOWN} more")
        return "\n".join(f"  {line}" for line in lines)


async def prove(
    api: ApiServer, follower: Follower, ledger: Ledger, troubles: Troubles, *, since: int
) -> Proof:
    """Give the informers time to catch up with a server that does not change any more."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        differences = [
            f"{gvr.resource} {key}"
            for gvr in follower.informers
            for key in _differences(api, follower, gvr)
        ]
        proof = Proof(
            ledger.account(since=since),
            objects=sum(len(api.list(gvr)) for gvr in follower.informers),
            differences=tuple(differences),
            resumed=troubles.resumed,
            relisted=troubles.relisted,
        )
        if proof.holds or time.monotonic() > deadline:
            return proof
        await asyncio.sleep(_POLL)


def _differences(api: ApiServer, follower: Follower, gvr: GVR) -> list[str]:
    """Return the keys of the objects that differ between the server and the store."""
    stored = {obj.key: obj.to_dict() for obj in follower.informers[gvr].indexer.list()}
    served = {key_of(manifest): manifest for manifest in api.list(gvr)}
    keys = stored.keys() | served.keys()
    return sorted(key for key in keys if stored.get(key) != served.get(key))
